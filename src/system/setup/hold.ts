// Before the agent is stopped it is asked to start nothing new: a take that started in between would be cut.
import { setTimeout as sleep } from 'node:timers/promises'
import { makeDir } from '../../kernel/dirs.ts'
import { faultWords } from '../../kernel/words.ts'
import { asOwnerOf } from '../host/accounts.ts'
import { askHold, endHold, isHeld } from '../host/hold.ts'
import { PLACES, UNITS } from '../host/places.ts'
import { agentDir } from '../host/takes.ts'
import { mainPid } from './service.ts'

const LOOK_MS = 100
/** An agent answers at once, or after its current request to the controller. */
const ANSWER_MS = 30_000
/** Longer than two starts and a trial. The hold ends with this process anyway. */
const HOLD_SECONDS = 1200

/**
 * The agent, and any version started meanwhile, starts no take until the returned function is called (it may be called
 * twice). Running takes continue: check for them afterwards. If the agent does not answer, the files in its directory have
 * to do.
 */
export async function holdAgent(say: (line: string) => void): Promise<() => void> {
  const dir = agentDir()
  const releaseAgent = () => asOwnerOf(PLACES.agentHome, () => endHold(dir))
  try {
    const id = asOwnerOf(PLACES.agentHome, () => {
      makeDir(dir)
      return askHold(dir, HOLD_SECONDS)
    })
    if (!(await answered(dir, id)))
      say(`The agent did not answer within ${ANSWER_MS / 1000} s: going by the files in its directory.`)
  } catch (e) {
    // A full or read-only disk: restarting the agent may be the remedy.
    say(`The agent could not be asked to start no new recordings: ${faultWords(e)}.`)
  }
  return releaseAgent
}

/** True as well when the agent does not run. */
async function answered(dir: string, id: string): Promise<boolean> {
  for (const end = performance.now() + ANSWER_MS; performance.now() < end; await sleep(LOOK_MS)) {
    const pid = await mainPid(UNITS.agent)
    if (pid === 0 || isHeld(dir, id, pid)) return true
  }
  return false
}
