// What the recorder of this box holds, told by its directory: asked before anything is done that would cost a take.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { readEnvFile } from './envfile.ts'
import { readSmall } from './files.ts'
import { PLACES } from './places.ts'

export interface HeldTakes {
  /** Are being captured, or about to be. */
  running: number
  /** Exist here only: the controller does not have them whole. Those that run are among them. */
  undelivered: number
}

const NOTHING: HeldTakes = { running: 0, undelivered: 0 }
const RUNNING = ['claimed', 'capturing']
const DELIVERED = ['uploaded', 'completed']

/** Where the agent of this box keeps its takes: below its home, unless the settings name another place. */
export function agentDir(settingsFile: string = PLACES.agentSettings): string {
  return path.resolve(PLACES.agentHome, readEnvFile(settingsFile).SVC_AGENT_DIR ?? 'data/agent')
}

const namesIn = (dir: string): string[] => (fs.existsSync(dir) ? fs.readdirSync(dir) : [])

/** A state that cannot be read counts as audio nobody else has. */
function statusOf(dir: string): string {
  try {
    return String(JSON.parse(readSmall(path.join(dir, 'state.json')) ?? '').status)
  } catch {
    // Whatever is wrong with it: the agent keeps such a directory, so nobody may throw it away.
    return 'unreadable'
  }
}

/** Counts the takes below the agent's directory, `kept` ones included; copies the controller has are none. */
export function heldTakes(dir: string = agentDir()): HeldTakes {
  const takes = path.join(dir, 'takes')
  const count = { ...NOTHING }
  for (const name of namesIn(takes)) {
    const status = statusOf(path.join(takes, name))
    if (RUNNING.includes(status)) count.running++
    if (!DELIVERED.includes(status)) count.undelivered++
  }
  return { ...count, undelivered: count.undelivered + namesIn(path.join(dir, 'kept')).length }
}
