// The box that acts on recorders over SSH. Two secrets tie it to its controller; both sides keep them in files of one name.

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

/** What a controller shows the runner, and what the runner shows the controller: the same names on both boxes. */
export const RUNNER_SECRETS = ['SVC_ANSIBLE_RUNNER_TOKEN', 'SVC_RUNNER_TOKEN'] as const
type RunnerSecret = (typeof RUNNER_SECRETS)[number]

const MEANING: Record<RunnerSecret, string> = {
  SVC_ANSIBLE_RUNNER_TOKEN: 'the token that the runner asks its controller for',
  SVC_RUNNER_TOKEN: 'the token that the controller asks its runner for',
}

/** In the settings, by itself or as the name of a file: that is the operator's own way. */
const isSet = (setting: RunnerSecret): boolean => {
  const settings = readEnvFile(PLACES.lifecycleSettings)
  return (settings[setting] ?? settings[`${setting}_FILE`]) !== undefined
}

/** What is given counts; otherwise what is there; otherwise one is made. */
const secretStep = (setting: RunnerSecret, given: string | undefined): Step =>
  credentialStep({
    done: () => (given === undefined ? isSet(setting) || !!credentialIn(setting) : credentialIn(setting) === given),
    name: MEANING[setting],
    setting,
    value: () => given ?? madeSecret(TOKEN_BYTES),
  })

/** A secret of the settings would count for more than the one that was given. */
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
 * Makes this box the one that acts on recorders over SSH. Without its secrets it makes them; the controller needs the same.
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
