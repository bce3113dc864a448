import type { Outlets } from '../../kernel/logsink.ts'
import { MAINTAIN_EXIT, type MaintainRequest } from '../../wire/maintain.ts'
import * as host from '../host/lock.ts'
import { activateToken, restartService, rotateTrust, smokeCheck, updateBinary } from './actions.ts'
import { type Box, programInUse, settingsOf } from './box.ts'
import { maintenanceError } from './error.ts'
import { installDependencies, uninstall } from './install.ts'
import { parseRequest, readLine } from './request.ts'
import { endTrial } from './trial.ts'

const LOCK = '/run/roomtone-maintain.lock'
const WORD_EVERY_MS = 30_000

const HELP = `Usage: roomtone maintain < request

Performs a lifecycle action on this node, as root. Standard input is one line of JSON, for example
{"action":"smoke_check"} or {"action":"update_binary","agentVersion":"latest"}. Actions: install_dependencies,
update_binary, activate_token, restart_service, rotate_trust, smoke_check, uninstall.

Exit codes: 0 done; 1 failed, and in service as before; 2 request not understood; 3 a take is running (try again later, or
with "force": true); 4 another maintenance run is in progress; 5 not root, or nothing is installed; 6 failed, and the box
needs attention.
`

function perform(box: Box, request: MaintainRequest): Promise<void> {
  switch (request.action) {
    case 'install_dependencies':
      return installDependencies(box, request)
    case 'update_binary':
      return updateBinary(box, request)
    case 'activate_token':
      return activateToken(box, request)
    case 'restart_service':
      return restartService(box, request)
    case 'rotate_trust':
      return rotateTrust(box, request)
    case 'smoke_check':
      return smokeCheck(box)
    case 'uninstall':
      return uninstall(box)
  }
}

/** An address may have moved to another box, and a key may fit two: refuse what is meant for another node. */
function checkNode({ nodeId }: MaintainRequest): void {
  const own = settingsOf().SVC_NODE_ID
  if (nodeId !== undefined && own !== undefined && nodeId !== own)
    throw maintenanceError('misused', `This box is the node ${own}, not ${nodeId}. Nothing was changed.`)
}

/** The SSH connection may drop at any moment: finish what was started all the same. */
function outliveTheSession(): void {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
}

async function maintain(box: Box): Promise<void> {
  if (process.getuid?.() !== 0) throw maintenanceError('refused', 'Maintenance needs root: sudo roomtone maintain.')
  const request = parseRequest(await readLine(process.stdin))
  outliveTheSession()
  programInUse()
  checkNode(request)
  const held = await lock(LOCK)
  // Packages and downloads are silent for long, and a runner gives up on a silent node.
  const alive = setInterval(() => box.say('...'), WORD_EVERY_MS)
  try {
    await endTrial()
    await perform(box, request)
  } finally {
    clearInterval(alive)
    held.release()
  }
}

/** The program `roomtone maintain`. Resolves with one of MAINTAIN_EXIT; anything unexpected is thrown. */
export async function main(args: string[], { stderr, stdout }: Outlets): Promise<number> {
  if (args.length > 0) {
    const asked = args[0] === '--help' || args[0] === '-h'
    ;(asked ? stdout : stderr).write(HELP)
    return asked ? MAINTAIN_EXIT.done : MAINTAIN_EXIT.misused
  }
  await maintain({ say: (line) => stdout.write(`${line}\n`) })
  return MAINTAIN_EXIT.done
}

// One maintenance at a time.

/** Holds `file` until `release` is called or this process is gone. @throws UserError when another has it, or it cannot be had */
export async function lock(file: string): Promise<{ release: () => void }> {
  const held = await host.lock(file).catch((e: Error) => {
    throw maintenanceError('refused', e.message)
  })
  if (!held) throw maintenanceError('locked', 'Another maintenance run is in progress on this box.')
  return held
}
