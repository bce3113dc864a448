// Before the agent is stopped it is asked to begin nothing new: a take that began in between would be cut.
import { setTimeout as sleep } from 'node:timers/promises'
import { makeDir } from '../../kernel/dirs.ts'
import { faultWords } from '../../kernel/words.ts'
import { asOwnerOf } from '../host/accounts.ts'
import { askHold, endHold, isHeld } from '../host/hold.ts'
import { PLACES, UNITS } from '../host/places.ts'
import { agentDir } from '../host/takes.ts'
import { mainPid } from './service.ts'

const LOOK_MS = 100
/** An agent that answers does so at once, or when its controller answered its last question. */
const ANSWER_MS = 30_000
/** Longer than two starts and a trial. It ends with this process anyway. */
const HOLD_SECONDS = 1200

/**
 * From now on the agent begins no take, until the function is called that this resolves with; calling it twice does no harm.
 * A version that is started meanwhile begins none either. Takes that run go on: whether there are any is to be asked
 * afterwards. An agent that does not answer does not stop the work: what its directory tells counts then.
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
    // A full disk, or one that is read-only: the agent may be what has to be started anew for it.
    say(`The agent could not be asked to start no new recordings: ${faultWords(e)}.`)
  }
  return releaseAgent
}

/** Whether the agent that runs answered; one that does not run need not. */
async function answered(dir: string, id: string): Promise<boolean> {
  for (const end = performance.now() + ANSWER_MS; performance.now() < end; await sleep(LOOK_MS)) {
    const pid = await mainPid(UNITS.agent)
    if (pid === 0 || isHeld(dir, id, pid)) return true
  }
  return false
}
