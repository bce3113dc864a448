// Sets up the runner that acts on recorders over SSH. It shares two secrets with its controller, in files of the same name.

import * as path from 'node:path'
import { UserError } from '../../kernel/fail.ts'
import { readEnvFile } from '../host/envfile.ts'
import { PLACES, UNITS, USERS } from '../host/places.ts'
import { groundSteps } from './agent.ts'
import { service } from './controller.ts'
import { credentialFile, credentialIn, credentialStep, madeSecret } from './credentials.ts'
import { runSteps } from './engine.ts'
import type { Step } from './journal.ts'
import { lifecycleFault, normalUrl } from './options.rules.ts'
import type { LifecycleSetup, SetupDone, SetupParts } from './options.ts'
import { packagesStep } from './packages.ts'
import { authorityStep, type Settings, settingsStep } from './settings.ts'

const TOKEN_BYTES = 32

/** The controller's token for the runner, and the runner's for the controller. */
export const RUNNER_SECRETS = ['SVC_ANSIBLE_RUNNER_TOKEN', 'SVC_RUNNER_TOKEN'] as const
type RunnerSecret = (typeof RUNNER_SECRETS)[number]

const MEANING: Record<RunnerSecret, string> = {
  SVC_ANSIBLE_RUNNER_TOKEN: 'the token the controller sends to its runner',
  SVC_RUNNER_TOKEN: 'the token the runner sends to its controller',
}

/** Set by the operator, as a value or as the name of a file. */
const isSet = (setting: RunnerSecret): boolean => {
  const settings = readEnvFile(PLACES.lifecycleSettings)
  return (settings[setting] ?? settings[`${setting}_FILE`]) !== undefined
}

/** The given secret, else the existing one, else a new one. */
const secretStep = (setting: RunnerSecret, given: string | undefined): Step =>
  credentialStep({
    done: () => (given === undefined ? isSet(setting) || !!credentialIn(setting) : credentialIn(setting) === given),
    name: MEANING[setting],
    setting,
    value: () => given ?? madeSecret(TOKEN_BYTES),
  })

/** Removes secrets from the settings that would override the given ones. */
function wantedSettings(options: LifecycleSetup): Settings {
  const own = RUNNER_SECRETS.filter((setting) => givenSecret(options, setting) !== undefined)
  return {
    ...(options.controllerUrl === undefined ? {} : { SVC_RUNNER_CONTROLLER_URL: normalUrl(options.controllerUrl) }),
    ...(options.controllerCa === undefined ? {} : { SVC_RUNNER_CONTROLLER_CA: PLACES.lifecycleCa }),
    ...(options.allowInsecure ? { SVC_RUNNER_ALLOW_INSECURE: 'true' } : {}),
    ...Object.fromEntries(own.flatMap((setting) => [setting, `${setting}_FILE`]).map((name) => [name, undefined])),
  }
}

const givenSecret = (options: LifecycleSetup, setting: RunnerSecret): string | undefined =>
  setting === 'SVC_RUNNER_TOKEN' ? options.controllerToken : options.runnerToken

/**
 * Makes this box a lifecycle runner. Secrets that are not given are generated; the controller needs the same ones.
 * @throws UserError; the box is then as it was before
 */
export async function setupLifecycle(options: LifecycleSetup, parts: SetupParts): Promise<SetupDone> {
  const fault = lifecycleFault(options, readEnvFile(PLACES.lifecycleSettings))
  if (fault) throw new UserError(fault)
  const reads = [PLACES.lifecycleSettings, PLACES.lifecycleCa, path.join(PLACES.units, UNITS.lifecycle)]
  return await runSteps(
    [
      packagesStep(['lifecycle'], options.packages, parts),
      ...groundSteps([UNITS.lifecycle], parts),
      ...RUNNER_SECRETS.map((setting) => secretStep(setting, givenSecret(options, setting))),
      ...(options.controllerCa === undefined ? [] : [authorityStep(options.controllerCa, PLACES.lifecycleCa)]),
      settingsStep(PLACES.lifecycleSettings, USERS.lifecycle, () => wantedSettings(options)),
      ...(options.start ? [service(UNITS.lifecycle, [...reads, ...RUNNER_SECRETS.map(credentialFile)], parts)] : []),
    ],
    parts,
  )
}
