// Sets up the fleet's controller.

import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../../kernel/fail.ts'
import { readEnvFile } from '../host/envfile.ts'
import { PLACES, UNITS, USERS } from '../host/places.ts'
import { groundSteps } from './agent.ts'
import { credentialFile, credentialStep, madeSecret } from './credentials.ts'
import { runSteps } from './engine.ts'
import type { Step } from './journal.ts'
import { stands } from './journal.ts'
import { controllerFault, openFault, runnerFault } from './options.rules.ts'
import type { ControllerSetup, SetupDone, SetupParts } from './options.ts'
import { packagesStep } from './packages.ts'
import { mainPid, serviceStep } from './service.ts'
import { type Settings, settingsStep } from './settings.ts'
import { unitState } from './system.ts'

const PASSWORD = 'SVC_LOCAL_ADMIN_PASSWORD'
export const FIRST_PASSWORD = credentialFile(PASSWORD)
const PASSWORD_BYTES = 15
const STEADY_MS = 2000

/** Created once, for the first admin, who may change it at any time. */
const passwordStep = (): Step =>
  credentialStep({
    done: () => stands(FIRST_PASSWORD) || stands(path.join(PLACES.controllerHome, 'roomtone.db')),
    name: "the first admin's password",
    setting: PASSWORD,
    value: () => madeSecret(PASSWORD_BYTES),
  })

/** Options that are not given leave the setting as it is. */
const given = (settings: Settings): Settings =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

const controllerSettings = (options: ControllerSetup): Settings =>
  given({
    SVC_API_TLS_CERT_PATH: options.tlsCert && path.resolve(options.tlsCert),
    SVC_API_TLS_KEY_PATH: options.tlsKey && path.resolve(options.tlsKey),
    SVC_HOST: options.host,
    SVC_LIFECYCLE_EMBEDDED: options.lifecycle ? 'true' : undefined,
    SVC_PORT: options.port?.toString(),
    SVC_PUBLIC_URL: options.publicUrl,
  })

/** Whether the same process still runs a moment later: after a crash at the start it would be another one. */
const steady = (unit: string) => async (signal: AbortSignal) => {
  const pid = await mainPid(unit)
  await sleep(STEADY_MS, undefined, { signal })
  if (pid === 0 || pid !== (await mainPid(unit)) || !(await unitState(unit)).active)
    throw new UserError(`${unit} stopped right after its start: see journalctl -u ${unit}`)
}

/** A service that may be restarted at any time. `reads`: files it reads at its start. */
export const service = (unit: string, reads: readonly string[], parts: SetupParts): Step =>
  serviceStep({
    busy: () => false,
    later: async () => {},
    parts,
    reads,
    unit,
    working: steady(unit),
  })

/**
 * Makes this box the fleet's controller. A second run changes nothing.
 * @throws UserError on failure; the box is then as it was before
 */
export async function setupController(options: ControllerSetup, parts: SetupParts): Promise<SetupDone> {
  const wanted = controllerSettings(options)
  const settings = { ...readEnvFile(PLACES.controllerSettings), ...wanted }
  const fault = controllerFault(options) ?? openFault(settings) ?? runnerFault(settings)
  if (fault) throw new UserError(fault)
  const reads = [PLACES.controllerSettings, path.join(PLACES.units, UNITS.controller)]
  return await runSteps(
    [
      packagesStep(options.lifecycle ? ['controller', 'lifecycle'] : ['controller'], options.packages, parts),
      ...groundSteps([UNITS.controller, UNITS.tlsRenew, UNITS.tlsRenewTimer], parts),
      passwordStep(),
      settingsStep(PLACES.controllerSettings, USERS.controller, () => wanted),
      ...(options.start ? [service(UNITS.controller, reads, parts)] : []),
    ],
    parts,
  )
}
