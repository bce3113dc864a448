// Settings of the services: edited in place, so that what an operator wrote stays.
import * as fs from 'node:fs'
import { readEnvFile, writeEnvFile } from '../host/envfile.ts'
import { replaceFile } from '../host/files.ts'
import { PLACES, USERS } from '../host/places.ts'
import { idsOf } from './accounts.ts'
import type { Step } from './journal.ts'
import { stands } from './journal.ts'
import { normalUrl } from './options.rules.ts'
import type { AgentSetup } from './options.ts'

export type Settings = Record<string, string | undefined>

const ROOT = 0
const SETTINGS_MODE = 0o640

/** `wanted` is asked when it is needed; `undefined` as a value: the setting goes. The file is root's, and `group` may read it: it may hold a token. */
export function settingsStep(file: string, user: string, wanted: () => Settings): Step {
  const now = () => readEnvFile(file)
  return {
    name: `settings in ${file}`,
    done: () => stands(file) && Object.entries(wanted()).every(([key, value]) => now()[key] === value),
    async apply(journal) {
      const { gid } = await idsOf(user)
      journal.keep(file)
      writeEnvFile(file, wanted())
      fs.chownSync(file, ROOT, gid)
      fs.chmodSync(file, SETTINGS_MODE)
    },
  }
}

/** The certificate authority of the controller, readable by everybody as every certificate is. */
export function authorityStep(pem: string, file: string = PLACES.controllerCa): Step {
  return {
    name: `the certificate authority in ${file}`,
    done: () => stands(file) && fs.readFileSync(file, 'utf8') === pem,
    apply(journal) {
      journal.keep(file)
      replaceFile(file, pem, 0o644)
    },
  }
}

/**
 * What the agent has to know to reach its controller. A token of another node or controller is worth nothing here, and is
 * taken out; `before`: the settings as they are.
 */
export function agentSettings(options: AgentSetup, before: Settings): Settings {
  const url = before.SVC_CONTROLLER_URL && normalUrl(before.SVC_CONTROLLER_URL)
  const moved = url !== undefined && url !== options.controllerUrl
  const elsewhere = before.SVC_NODE_ID !== options.nodeId || url !== options.controllerUrl
  const given = Object.entries({
    SVC_NODE_ALIAS: options.alias,
    SVC_NODE_ROOM: options.room,
    SVC_NODE_SITE: options.site,
  })
  return {
    SVC_CONTROLLER_URL: options.controllerUrl,
    SVC_NODE_ID: options.nodeId,
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    // The authority of another controller vouches for nobody here, and shuts out those who would.
    ...(options.controllerCa || moved
      ? { SVC_CONTROLLER_CA_CERT_PATH: options.controllerCa ? PLACES.controllerCa : undefined }
      : {}),
    SVC_ALLOW_INSECURE_CONTROLLER: options.allowInsecure ? 'true' : undefined,
    ...(elsewhere ? { SVC_CONTROLLER_TOKEN: undefined } : {}),
  }
}

/** Looks at the settings when its turn comes: what an earlier run left half undone is taken back before. */
export const agentSettingsStep = (options: AgentSetup): Step => {
  const file = PLACES.agentSettings
  return settingsStep(file, USERS.agent, () => agentSettings(options, readEnvFile(file)))
}
