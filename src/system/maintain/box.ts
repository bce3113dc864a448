// The installed agent of this box, as maintenance sees it.
import * as fs from 'node:fs'
import { faultWords } from '../../kernel/words.ts'
import { readEnvFile } from '../host/envfile.ts'
import { PLACES, UNITS } from '../host/places.ts'
import { run } from '../host/run.ts'
import { agentDir, heldTakes } from '../host/takes.ts'
import { maintenanceError } from './error.ts'

export interface Box {
  /** One line for the person who asked; no secrets. */
  say: (line: string) => void
}

/** The SVC_ settings of the agent. */
export const settingsOf = (): Record<string, string | undefined> => readEnvFile(PLACES.agentSettings)

/** The program in use: the target of the link that the units start. @throws UserError when there is none */
export function programInUse(): string {
  try {
    return fs.realpathSync(PLACES.executable)
  } catch (e) {
    throw maintenanceError('refused', `No agent is installed on this box: ${faultWords(e, PLACES.executable)}.`)
  }
}

interface UnitState {
  active: boolean
  /** New with every start. */
  invocation: string
  /** 0 while it does not run. */
  pid: number
}

/** State of the agent's service. */
export async function agentState(): Promise<UnitState> {
  const properties = ['ActiveState', 'InvocationID', 'MainPID'].flatMap((name) => ['-p', name])
  const { stdout } = await run('systemctl', ['show', UNITS.agent, ...properties])
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(stdout)?.[1] ?? ''
  const active = ['active', 'activating', 'reloading', 'deactivating'].includes(value('ActiveState'))
  return { active, invocation: value('InvocationID'), pid: Number(value('MainPID')) || 0 }
}

/**
 * A take is never cut. An agent that is not running captures nothing, whatever its files say.
 * @throws UserError while takes run
 */
export async function refuseWhileRecording(force: boolean): Promise<void> {
  const { running } = heldTakes(agentDir())
  if (running === 0 || force || !(await agentState()).active) return
  const takes = running === 1 ? 'A take is running' : `${running} takes are running`
  throw maintenanceError('recording', `${takes} on this node. Nothing was changed; try again later, or use force.`)
}
