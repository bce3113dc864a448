// Completes or removes the installation, with the installer's code.

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

/** Never aborted: the setup undoes its changes by itself when it fails. */
const partsOf = ({ say }: Box): SetupParts => ({ say, signal: new AbortController().signal })

/**
 * Does not wait until the node is online: its token may be the problem. `activate_token`, which follows, does.
 */
export async function installDependencies(box: Box, request: Of<'install_dependencies'>): Promise<void> {
  await refuseWhileRecording(request.force)
  if (request.controllerCa) await mayTrust(request.controllerCa)
  const { changed } = await prepareAgent(true, partsOf(box))
  box.say(changed.length > 0 ? `Completed: ${changed.join(', ')}.` : 'Everything the agent needs is installed.')
  if (request.publicKey) installKey(request.publicKey)
  if (request.controllerCa) trustCa(request.controllerCa)
  fillIn({ SVC_CONTROLLER_URL: request.controllerUrl, SVC_NODE_ID: request.nodeId })
  // A take may have started while packages were installed.
  await withAgentHeld(box, request.force, async () => {
    await systemctl('daemon-reload')
    await systemctl('enable', '--quiet', UNITS.agent)
    const fault = await restart()
    if (fault) throw maintenanceError('failed', `The agent was restarted, but ${fault.words}.`)
  })
  box.say('The agent was restarted.')
}

/** Sets only what is missing: the runner's key must not suffice to move a node to another controller. */
function fillIn(wanted: Record<string, string | undefined>): void {
  const before = settingsOf()
  const missing = Object.entries(wanted).filter(([name, value]) => value !== undefined && before[name] === undefined)
  if (missing.length > 0) writeEnvFile(PLACES.agentSettings, Object.fromEntries(missing))
}

/** Removes everything but system packages. @throws UserError while the box holds takes the controller does not have */
export async function uninstall(box: Box): Promise<void> {
  await withAgentHeld(box, false, async () => {
    const { undelivered } = heldTakes()
    if (undelivered > 0)
      throw maintenanceError(
        'recording',
        `This box holds takes (${undelivered}) that the controller does not have. Nothing was changed: let the agent ` +
          'upload them, or discard them on the box itself with "roomtone setup remove agent --purge".',
      )
    const { changed } = await removeAll({ purge: true, roles: ['agent'] }, partsOf(box))
    box.say(`Removed: ${changed.join(', ')}.`)
  })
}
