// The settings of the installed controller, for commands that are run next to its service.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { readEnvFile } from '../system/host/envfile.ts'
import { PLACES } from '../system/host/places.ts'

type Env = Record<string, string | undefined>

/**
 * The caller's environment, completed by the installed controller's settings and secrets as its unit has them, unless the
 * caller names another data directory. The caller's own values win.
 * @throws the file system's error for settings that the caller may not read
 */
export function installedEnv(env: Env, places: Pick<typeof PLACES, Used> = PLACES): Env {
  if (!fs.existsSync(places.controllerHome)) return env
  const installed = absolute({ SVC_DATA_DIR: '.', ...readEnvFile(places.controllerSettings) }, places.controllerHome)
  const named = env.SVC_DATA_DIR || undefined
  if (env.SVC_DATA_DIR_FILE || (named && path.resolve(named) !== installed.SVC_DATA_DIR)) return env
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '')
  return { CREDENTIALS_DIRECTORY: places.credentials, ...withoutGiven(installed, env), ...Object.fromEntries(given) }
}

/** Relative paths start at `home`: there the unit starts the service. */
const absolute = (settings: Env, home: string): Env =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      name,
      DIRS.includes(name) && value ? path.resolve(home, value) : value,
    ]),
  )

const DIRS = ['SVC_DATA_DIR', 'SVC_RECORDING_CACHE_DIR']

type Used = 'controllerHome' | 'controllerSettings' | 'credentials'

/** A setting and its `_FILE` are one: the caller's value, in either form, replaces both. */
const withoutGiven = (installed: Env, env: Env): Env =>
  Object.fromEntries(
    Object.entries(installed).filter(([name]) => {
      const bare = name.replace(/_FILE$/, '')
      return !env[bare] && !env[`${bare}_FILE`]
    }),
  )
