// Sets up a recorder: what it needs, in order.

import * as path from 'node:path'
import { UserError } from '../../kernel/fail.ts'
import { readEnvFile } from '../host/envfile.ts'
import { readOnlineSign } from '../host/onlinesign.ts'
import { PLACES, UNITS } from '../host/places.ts'
import { agentDir, heldTakes } from '../host/takes.ts'
import { accountsStep, shipped } from './accounts.ts'
import { exclusively, finishUndo, runSteps, takeBackUnfinished } from './engine.ts'
import { commandStep, programStep, sudoersStep, unitsStep } from './files.ts'
import { holdAgent } from './hold.ts'
import { checkJoining, joinStep } from './join.ts'
import type { Step } from './journal.ts'
import { agentFault, normalUrl } from './options.rules.ts'
import type { AgentSetup, SetupDone, SetupParts } from './options.ts'
import { packagesStep } from './packages.ts'
import { agentBusy, enabledStep, refreshLater, serviceStep, untilOnline } from './service.ts'
import { agentSettingsStep, authorityStep } from './settings.ts'

/** What every box needs, whatever its role. */
export const groundSteps = (units: readonly string[], parts: SetupParts): Step[] => [
  accountsStep(),
  programStep(parts.executable ?? process.execPath),
  commandStep(),
  unitsStep(units),
]

const isOther = (options: AgentSetup): boolean => {
  const { SVC_CONTROLLER_TOKEN: token, SVC_NODE_ID: id } = readEnvFile(PLACES.agentSettings)
  return token !== undefined && id !== options.nodeId
}

/** A mistyped ID must not turn another node's recorder into this one. @throws UserError */
async function refuseOther(options: AgentSetup, parts: SetupParts): Promise<void> {
  // An interrupted setup may have written the other ID: undo it first.
  if (isOther(options)) await exclusively(() => takeBackUnfinished(parts))
  if (!isOther(options)) return
  const id = readEnvFile(PLACES.agentSettings).SVC_NODE_ID
  if (!options.replace)
    throw new UserError(`this box is already node ${id}: add --replace to make it ${options.nodeId}`)
  const { running, undelivered } = heldTakes()
  if (running > 0) throw new UserError(`this box is node ${id} and is recording: wait until the recording has ended`)
  if (undelivered > 0)
    throw new UserError(
      `this box holds ${undelivered} take(s) of the node ${id} that its controller does not have: as another node it could never upload them`,
    )
}

/**
 * Makes this box the recorder that `options` describes, and waits until it is online. A second run changes nothing.
 * @throws UserError on failure; the box is then as it was before
 */
export async function setupAgent(given: AgentSetup, parts: SetupParts): Promise<SetupDone> {
  const options = { ...given, controllerUrl: normalUrl(given.controllerUrl) }
  const fault = agentFault(options)
  if (fault) throw new UserError(fault)
  await finishUndo(parts)
  await refuseOther(options, parts)
  await checkJoining(options, parts.signal)
  const steps = [
    ...preparing(options.packages, parts),
    ...(options.controllerCa === undefined ? [] : [authorityStep(options.controllerCa)]),
    agentSettingsStep(options),
    joinStep(options),
  ]
  const done = await runSteps(options.start ? [...steps, running(parts)] : steps, parts)
  return options.start && readOnlineSign(agentDir())?.captureDevice === false
    ? { ...done, warnings: [NO_DEVICE] }
    : done
}

const NO_DEVICE =
  'It has no capture device, so it cannot record yet: connect a sound card (arecord -l lists those the system sees).'

const STICK = [UNITS.setup, UNITS.setupBoot]

const preparing = (packages: boolean, parts: SetupParts): Step[] => [
  packagesStep(['agent'], packages, parts),
  ...groundSteps([UNITS.agent, UNITS.agentRefresh, ...STICK], parts),
  sudoersStep(shipped('sudoers')),
  enabledStep('the units for setup sticks', STICK),
]

const running = (parts: SetupParts): Step =>
  serviceStep({
    busy: agentBusy,
    hold: () => holdAgent(parts.say),
    later: () => refreshLater(parts),
    parts,
    reads: [PLACES.agentSettings, PLACES.controllerCa, path.join(PLACES.units, UNITS.agent)],
    unit: UNITS.agent,
    working: untilOnline,
  })

/**
 * What a box needs besides its settings: packages, users, directories, program, units and the sudo rule; from then on it
 * accepts a setup stick. Starts and stops nothing. @throws UserError on failure; the box is then as it was before
 */
export const prepareAgent = (packages: boolean, parts: SetupParts): Promise<SetupDone> =>
  runSteps(preparing(packages, parts), parts)
