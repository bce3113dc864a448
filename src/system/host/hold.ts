// Maintenance asks the agent of this machine to begin nothing new: a file in the agent's directory, and its answer beside it.
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { randomIds } from '../../kernel/ids.ts'
import { readSmall, replaceFile } from './files.ts'

interface Hold {
  /** Seconds since the boot, a clock that nobody sets: a hold of before the boot is none. */
  at: number
  id: string
  /** Who asked: a hold ends with its process. */
  pid: number
  /** By the same clock: the end of a hold whose process has left its number to another. */
  until: number
}

const OWN = 0o600

/** Both below the agent's directory (`SVC_AGENT_DIR`). */
export const holdFile = (agentDir: string): string => path.join(agentDir, 'hold.json')
export const heldFile = (agentDir: string): string => path.join(agentDir, 'held.json')

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (e) {
    // Another user's process, root's for one.
    return (e as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function parsed<T>(text: string | undefined): Partial<T> {
  try {
    return Object(JSON.parse(text ?? ''))
  } catch {
    return {} // the same as none
  }
}

/** From now on, at most `seconds`, and not longer than this process lives. Returns what the agent answers with. */
export function askHold(agentDir: string, seconds: number): string {
  const at = os.uptime()
  const hold: Hold = { at, id: randomIds.uuid(), pid: process.pid, until: at + seconds }
  replaceFile(holdFile(agentDir), `${JSON.stringify(hold)}\n`, OWN)
  return hold.id
}

export const endHold = (agentDir: string): void => fs.rmSync(holdFile(agentDir), { force: true })

/** The hold in force; one whose process is gone, or whose time is over, is none. */
export function readHold(agentDir: string): string | undefined {
  const file = holdFile(agentDir)
  // Looked at several times a second, and hardly ever there.
  if (!fs.existsSync(file)) return undefined
  const { at, id, pid, until } = parsed<Hold>(readSmall(file))
  if (![at, pid, until].every((one) => typeof one === 'number')) return undefined
  const now = os.uptime()
  const inTime = (at as number) <= now && now < (until as number)
  return inTime && lives(pid as number) ? id : undefined
}

interface Held {
  id: string
  pid: number
}

/** The agent's answer: it asks for no take, and all it was given are on the disk. */
export const heldText = (id: string): string => `${JSON.stringify({ id, pid: process.pid } satisfies Held)}\n`

/** Whether the agent that runs as `pid` has answered this hold. */
export function isHeld(agentDir: string, id: string, pid: number): boolean {
  const held = parsed<Held>(readSmall(heldFile(agentDir)))
  return held.id === id && held.pid === pid
}
