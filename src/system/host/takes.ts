// Takes held by this box's recorder, from its directory. Checked before anything that could lose one.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { readEnvFile } from './envfile.ts'
import { readSmall } from './files.ts'
import { PLACES } from './places.ts'

export interface HeldTakes {
  /** Being captured, or about to be. */
  running: number
  /** Not fully on the controller, running ones included. */
  undelivered: number
}

const NOTHING: HeldTakes = { running: 0, undelivered: 0 }
const RUNNING = ['claimed', 'capturing']

/** The agent's directory: in its home, unless the settings name another place. */
export function agentDir(settingsFile: string = PLACES.agentSettings): string {
  return path.resolve(PLACES.agentHome, readEnvFile(settingsFile).SVC_AGENT_DIR ?? 'data/agent')
}

const namesIn = (dir: string): string[] => (fs.existsSync(dir) ? fs.readdirSync(dir) : [])

/** An unreadable state counts as undelivered. */
function statusOf(dir: string): string {
  try {
    return String(JSON.parse(readSmall(path.join(dir, 'state.json')) ?? '').status)
  } catch {
    // The agent keeps such a directory, so it must not be deleted.
    return 'unreadable'
  }
}

/** Counts the takes in the agent's directory, `kept` ones included, without copies of delivered ones. */
export function heldTakes(dir: string = agentDir()): HeldTakes {
  const takes = path.join(dir, 'takes')
  const count = { ...NOTHING }
  for (const name of namesIn(takes)) {
    const status = statusOf(path.join(takes, name))
    if (RUNNING.includes(status)) count.running++
    if (status !== 'uploaded') count.undelivered++
  }
  return { ...count, undelivered: count.undelivered + namesIn(path.join(dir, 'kept')).length }
}
