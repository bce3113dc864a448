// The parts of an installation: looked at and completed, or taken away, by the same code as the installer's.

import type { MaintainRequest } from '../../wire/maintain.ts'
import { writeEnvFile } from '../host/envfile.ts'
import { PLACES, UNITS } from '../host/places.ts'
import { heldTakes } from '../host/takes.ts'
import { prepareAgent } from '../setup/agent.ts'
import type { SetupParts } from '../setup/options.ts'
import { removeAll } from '../setup/remove.ts'
import { systemctl } from '../setup/system.ts'
import { type Box, refuseWhileRecording, settingsOf } from './box.ts'
import { maintenanceError } from './error.ts'
import { restart, withAgentHeld } from './service.ts'
import { installKey, mayTrust, trustCa } from './trust.ts'

type Of<A extends MaintainRequest['action']> = Extract<MaintainRequest, { action: A }>

/** Nothing ends it half way: the setup takes its changes back by itself when it fails. */
const partsOf = ({ say }: Box): SetupParts => ({ say, signal: new AbortController().signal })

/**
 * Whether the controller hears the node is not waited for: it may be here because its token is worth nothing any more. The
 * token that follows (`activate_token`) is.
 */
export async function installDependencies(box: Box, request: Of<'install_dependencies'>): Promise<void> {
  await refuseWhileRecording(request.force)
  if (request.controllerCa) await mayTrust(request.controllerCa)
  const { changed } = await prepareAgent(true, partsOf(box))
  box.say(changed.length > 0 ? `Completed: ${changed.join(', ')}.` : 'Everything the agent needs is there.')
  if (request.publicKey) installKey(request.publicKey)
  if (request.controllerCa) trustCa(request.controllerCa)
  fillIn({ SVC_CONTROLLER_URL: request.controllerUrl, SVC_NODE_ID: request.nodeId })
  // Packages take their time, and a take may have begun meanwhile.
  await withAgentHeld(box, request.force, async () => {
    await systemctl('daemon-reload')
    await systemctl('enable', '--quiet', UNITS.agent)
    const fault = await restart()
    if (fault) throw maintenanceError('failed', `The agent was started anew, but ${fault.words}.`)
  })
  box.say('The agent was started anew.')
}

/** Only what is not there: whoever holds the runner's key must not be able to lead a node to another controller. */
function fillIn(wanted: Record<string, string | undefined>): void {
  const before = settingsOf()
  const missing = Object.entries(wanted).filter(([name, value]) => value !== undefined && before[name] === undefined)
  if (missing.length > 0) writeEnvFile(PLACES.agentSettings, Object.fromEntries(missing))
}

/** Nothing of it stays, the packages of the system excepted. @throws UserError while takes are here that nobody else has */
export async function uninstall(box: Box): Promise<void> {
  await withAgentHeld(box, false, async () => {
    const { undelivered } = heldTakes()
    if (undelivered > 0)
      throw maintenanceError(
        'recording',
        `This box holds takes (${undelivered}) that the controller does not have. Nothing was touched: let the agent ` +
          'deliver them, or lose them on the box itself with "roomtone setup remove agent --purge".',
      )
    const { changed } = await removeAll({ purge: true, roles: ['agent'] }, partsOf(box))
    box.say(`Removed: ${changed.join(', ')}.`)
  })
}
