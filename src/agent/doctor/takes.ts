// What waits on a recorder for its controller, and who may maintain it.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { systemClock } from '../../kernel/clock.ts'
import { hasCode } from '../../kernel/durable.ts'
import { counted } from '../../kernel/words.ts'
import { fail, ok, skipped, warn } from '../../system/checks/examine.ts'
import { managedKeys } from '../../system/host/authorizedkeys.ts'
import { PLACES } from '../../system/host/places.ts'
import { heldTakes } from '../../system/host/takes.ts'
import { advice, command, type Finding } from '../../wire/doctor.ts'
import { shellWord } from '../../wire/install.ts'

/** A take that ended just now is on its way. */
const WAITS_MS = 15 * 60_000

/** When the longest waiting take was last worked on, Unix ms; undefined without one. */
async function oldest(agentDir: string): Promise<number | undefined> {
  const dir = path.join(agentDir, 'takes')
  const names = await fs.readdir(dir).catch((e) => {
    if (hasCode(e, 'ENOENT')) return []
    throw e
  })
  const times = names.map(async (name) => {
    const { mtimeMs } = await fs.stat(path.join(dir, name, 'state.json')).catch(() => fs.stat(path.join(dir, name)))
    return mtimeMs
  })
  const known = (await Promise.allSettled(times)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  return known.length > 0 ? Math.min(...known) : undefined
}

const takes = (n: number): string => counted(n, 'take')

export async function takesWaiting(agentDir: string): Promise<Finding> {
  // First: who may not read the directory would find nothing in it.
  const since = (await oldest(agentDir)) ?? systemClock.now()
  const { running, undelivered } = heldTakes(agentDir)
  const waiting = undelivered - running
  const beside = running > 0 ? `; ${takes(running)} being captured` : ''
  if (waiting <= 0) return ok(`No take is waiting to be sent to the controller${beside}`)
  const minutes = Math.floor((systemClock.now() - since) / 60_000)
  if (minutes * 60_000 < WAITS_MS) return ok(`${takes(waiting)} on the way to the controller${beside}`)
  return warn(
    `${takes(waiting)} not with the controller yet, the oldest untouched for ${minutes} min${beside}`,
    advice(
      `They go by themselves once controller.resolve, controller.tls and controller.token are well. Delete nothing in ${agentDir}. What was refused:`,
      'sudo journalctl -u roomtone-agent --no-pager | grep -i upload | tail',
    ),
  )
}

/** Whether the key of the controller at `url` may come in over SSH for maintenance. */
export async function sshKey(url: string, file: string = PLACES.agentKeys): Promise<Finding> {
  const rejoin = advice(
    "It asks for a pairing code, which the recorder's page in the console gives:",
    `sudo roomtone setup agent --controller-url ${shellWord(url)} --pairing-code --replace`,
  )
  const stat = await fs.stat(file).catch((e) => {
    if (hasCode(e, 'ENOENT')) return undefined
    throw e
  })
  const keys = stat ? managedKeys(file).length : 0
  if (!stat || keys === 0)
    return warn('The controller has no key to this box: updates and maintenance from the console do not work', rejoin)
  if ((stat.mode & 0o022) !== 0)
    return fail(
      `sshd ignores ${file}: others may write to it`,
      command(`sudo chmod 600 ${shellWord(file)} && sudo chmod 700 ${shellWord(path.dirname(file))}`),
    )
  return ok(`${keys === 1 ? 'The key' : `${keys} keys`} of the controller in ${file}`)
}

/** The service itself is kept away from the keys (ADR-0029). */
export const keyUnseen = (): Finding =>
  skipped('The service may not see its keys: sudo roomtone doctor on the recorder does')
