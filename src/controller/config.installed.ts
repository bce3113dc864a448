// The settings of the installed controller, for verbs that somebody calls beside its service.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { readEnvFile } from '../system/host/envfile.ts'
import { PLACES } from '../system/host/places.ts'

type Env = Record<string, string | undefined>

/**
 * The caller's environment; where it names no other data directory than the installed controller's, also that one's settings
 * and secrets as its unit gives them to it. What the caller says counts for more.
 * @throws what the disk throws for settings that the caller may not read
 */
export function installedEnv(env: Env, places: Pick<typeof PLACES, Used> = PLACES): Env {
  if (!fs.existsSync(places.controllerHome)) return env
  const installed = absolute({ SVC_DATA_DIR: '.', ...readEnvFile(places.controllerSettings) }, places.controllerHome)
  const named = env.SVC_DATA_DIR || undefined
  if (env.SVC_DATA_DIR_FILE || (named && path.resolve(named) !== installed.SVC_DATA_DIR)) return env
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '')
  return { CREDENTIALS_DIRECTORY: places.credentials, ...withoutGiven(installed, env), ...Object.fromEntries(given) }
}

/** Its unit starts the service in its home. */
const absolute = (settings: Env, home: string): Env =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      name,
      DIRS.includes(name) && value ? path.resolve(home, value) : value,
    ]),
  )

const DIRS = ['SVC_DATA_DIR', 'SVC_RECORDING_CACHE_DIR']

type Used = 'controllerHome' | 'controllerSettings' | 'credentials'

/** A setting and its `_FILE` are one: what the caller gives in either way replaces both. */
const withoutGiven = (installed: Env, env: Env): Env =>
  Object.fromEntries(
    Object.entries(installed).filter(([name]) => {
      const bare = name.replace(/_FILE$/, '')
      return !env[bare] && !env[`${bare}_FILE`]
    }),
  )
