// The box of the fleet's controller, and of its lifecycle runner.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { replaceFile } from '../host/files.ts'
import { PLACES, UNITS, USERS } from '../host/places.ts'
import { groundSteps } from './agent.ts'
import { runSteps, type Step } from './engine.ts'
import { stands } from './journal.ts'
import { packagesStep } from './packages.ts'
import { mainPid, serviceStep } from './service.ts'
import { type Settings, settingsIn, settingsStep } from './settings.ts'
import { unitState } from './system.ts'
import { controllerFault, openFault } from './wish.rules.ts'
import { type ControllerWish, type LifecycleWish, type SetupDone, SetupFailed, type SetupParts } from './wish.ts'

/** Where systemd looks for credentials of services; only root reads it. */
export const FIRST_PASSWORD = '/etc/credstore/roomtone.local-admin-password'
const PASSWORD_BYTES = 15
const STEADY_MS = 2000

/** Made once: it is the first admin's, who may change it at any time. */
function passwordStep(): Step {
  return {
    name: `the first admin's password in ${FIRST_PASSWORD}`,
    done: () => stands(FIRST_PASSWORD) || fs.existsSync(path.join(PLACES.controllerHome, 'roomtone.db')),
    apply(journal) {
      const dir = path.dirname(FIRST_PASSWORD)
      journal.keepDirectory(dir)
      journal.keep(FIRST_PASSWORD)
      fs.mkdirSync(dir, { mode: 0o700, recursive: true })
      replaceFile(FIRST_PASSWORD, `${randomBytes(PASSWORD_BYTES).toString('base64url')}\n`, 0o600)
    },
  }
}

/** What is given replaces what was there; what is not given stays. */
const given = (settings: Settings): Settings =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

const controllerSettings = (wish: ControllerWish): Settings =>
  given({
    SVC_API_TLS_CERT_PATH: wish.tlsCert && path.resolve(wish.tlsCert),
    SVC_API_TLS_KEY_PATH: wish.tlsKey && path.resolve(wish.tlsKey),
    SVC_HOST: wish.host,
    SVC_PORT: wish.port?.toString(),
    SVC_PUBLIC_URL: wish.publicUrl,
  })

/** Ready when systemd says so, and still the same process a moment later: a crash at the start would be another one. */
const steady = (unit: string) => async (signal: AbortSignal) => {
  const pid = await mainPid(unit)
  await sleep(STEADY_MS, undefined, { signal })
  if (pid === 0 || pid !== (await mainPid(unit)) || !(await unitState(unit)).active)
    throw new SetupFailed(`${unit} ends right after its start: see journalctl -u ${unit}`)
}

const service = (unit: string, settings: string, parts: SetupParts): Step =>
  serviceStep({
    busy: () => false,
    later: async () => {},
    parts,
    reads: [settings, path.join(PLACES.units, unit)],
    unit,
    working: steady(unit),
  })

/**
 * Makes this box the fleet's controller. A second run changes nothing.
 * @throws SetupFailed when it cannot be; the box is then as it was before
 */
export async function setupController(wish: ControllerWish, parts: SetupParts): Promise<SetupDone> {
  const wanted = controllerSettings(wish)
  const fault = controllerFault(wish) ?? openFault({ ...settingsIn(PLACES.controllerSettings), ...wanted })
  if (fault) throw new SetupFailed(fault)
  return await runSteps(
    [
      packagesStep('controller', wish.packages, parts),
      ...groundSteps([UNITS.controller, UNITS.tlsRenew, UNITS.tlsRenewTimer], parts),
      passwordStep(),
      settingsStep(PLACES.controllerSettings, USERS.controller, () => wanted),
      ...(wish.start ? [service(UNITS.controller, PLACES.controllerSettings, parts)] : []),
    ],
    parts,
  )
}

/** Makes this box the one that acts on recorders over SSH. @throws SetupFailed; the box is then as it was before */
export async function setupLifecycle(wish: LifecycleWish, parts: SetupParts): Promise<SetupDone> {
  const wanted = given({ SVC_RUNNER_CONTROLLER_URL: wish.controllerUrl })
  return await runSteps(
    [
      packagesStep('lifecycle', wish.packages, parts),
      ...groundSteps([UNITS.lifecycle], parts),
      settingsStep(PLACES.lifecycleSettings, USERS.lifecycle, () => wanted),
      ...(wish.start ? [service(UNITS.lifecycle, PLACES.lifecycleSettings, parts)] : []),
    ],
    parts,
  )
}
