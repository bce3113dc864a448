// Maintenance asks the agent of this machine to start nothing new, through a file in the agent's directory; the agent
// answers with another one.
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { randomIds } from '../../kernel/ids.ts'
import { readSmall, replaceFile } from './files.ts'

interface Hold {
  /** Uptime, seconds, which nobody can set; invalidates a hold from before the boot. */
  at: number
  id: string
  /** The process that asked: the hold ends with it. */
  pid: number
  /** Uptime, seconds; ends a hold whose process ID was reused. */
  until: number
}

const OWN = 0o600

/** Both in the agent's directory (`SVC_AGENT_DIR`). */
export const holdFile = (agentDir: string): string => path.join(agentDir, 'hold.json')
export const heldFile = (agentDir: string): string => path.join(agentDir, 'held.json')

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (e) {
    // It exists, but belongs to another user, such as root.
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

/** Starts a hold of at most `seconds` that ends with this process. Returns the ID the agent answers with. */
export function askHold(agentDir: string, seconds: number): string {
  const at = os.uptime()
  const hold: Hold = { at, id: randomIds.uuid(), pid: process.pid, until: at + seconds }
  replaceFile(holdFile(agentDir), `${JSON.stringify(hold)}\n`, OWN)
  return hold.id
}

export const endHold = (agentDir: string): void => fs.rmSync(holdFile(agentDir), { force: true })

/** The ID of the current hold; undefined once its process is gone or its time is over. */
export function readHold(agentDir: string): string | undefined {
  const file = holdFile(agentDir)
  // Called several times a second, and rarely there.
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

/** The agent's answer: it claims no takes, and those it has are recorded on disk. */
export const heldText = (id: string): string => `${JSON.stringify({ id, pid: process.pid } satisfies Held)}\n`

/** Whether the agent with this process ID has answered this hold. */
export function isHeld(agentDir: string, id: string, pid: number): boolean {
  const held = parsed<Held>(readSmall(heldFile(agentDir)))
  return held.id === id && held.pid === pid
}
