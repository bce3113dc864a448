// The doctor of a recorder from the command line: beside the running agent, or in place of one.
import { PLACES } from '../../system/host/places.ts'
import type { DoctorReport } from '../../wire/doctor.ts'
import { readConfig } from '../config.ts'
import { inventoryOptions } from '../parts.ts'
import { createToken } from '../token.ts'
import { hearAlone } from './devices.ts'
import { examineAgent } from './doctor.ts'
import { sshKey } from './takes.ts'

type Env = Record<string, string | undefined>

/** `settingsFile`: of the installed agent; undefined for one that the environment alone describes. @throws UserError */
export async function examineBeside(env: Env, settingsFile: string | undefined): Promise<DoctorReport> {
  const config = readConfig(settingsFile === undefined ? [] : ['--env-file', settingsFile], env)
  const { bootstrapAuthorizedKeys, controllerUrl } = config.settings
  const inventory = inventoryOptions(config)
  const token = createToken(config.controllerToken, () => {})
  return await examineAgent({
    config,
    hear: (signal) => hearAlone(config, inventory, signal),
    inventory,
    sshKey: () => sshKey(controllerUrl, settingsFile === undefined ? bootstrapAuthorizedKeys : PLACES.agentKeys),
    token: token.current,
  })
}
