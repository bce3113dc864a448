// Settings files of the services, edited in place to keep what an operator wrote.
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

/**
 * `wanted` is called when the step runs; a value of `undefined` removes the setting. The file belongs to root and is
 * readable by the group of `user`: it may hold a token.
 */
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

/** The controller's certificate authority, readable by everybody. */
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
 * What the agent needs to reach its controller. The token of another node or controller is removed. `before`: the current
 * settings.
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
    // The authority of another controller would make the agent refuse this one.
    ...(options.controllerCa || moved
      ? { SVC_CONTROLLER_CA_CERT_PATH: options.controllerCa ? PLACES.controllerCa : undefined }
      : {}),
    SVC_ALLOW_INSECURE_CONTROLLER: options.allowInsecure ? 'true' : undefined,
    ...(elsewhere ? { SVC_CONTROLLER_TOKEN: undefined } : {}),
  }
}

/** Reads the settings only when it runs: an interrupted run is undone before. */
export const agentSettingsStep = (options: AgentSetup): Step => {
  const file = PLACES.agentSettings
  return settingsStep(file, USERS.agent, () => agentSettings(options, readEnvFile(file)))
}
