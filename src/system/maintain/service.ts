// The agent's service: started anew, and waited for until the controller hears it.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../kernel/clock.ts'
import { readOnlineSign } from '../host/onlinesign.ts'
import { UNITS } from '../host/places.ts'
import { run } from '../host/run.ts'
import { agentDir, heldTakes } from '../host/takes.ts'
import { holdAgent } from '../setup/hold.ts'
import { lastWords } from '../setup/system.ts'
import { agentState, type Box, refuseWhileRecording } from './box.ts'
import type { Fault } from './rollback.rules.ts'

const LOOK_MS = 250
/** A word now and then: a runner gives up on a node that says nothing. */
const WORD_EVERY_MS = 10_000
/** A stop finalizes takes (35 s), a start holds takes of before (60 s). */
const RESTART_MS = 180_000
const SEE = `see journalctl -u ${UNITS.agent}`

const down = (words: string): Fault => ({ runs: false, words })

/** Starts the agent anew. Undefined when it runs. */
export async function restart(): Promise<Fault | undefined> {
  const ended = await run('systemctl', ['restart', UNITS.agent], { timeoutMs: RESTART_MS })
  return ended.code === 0 ? undefined : down(`it does not start (${lastWords(ended)}; ${SEE})`)
}

/**
 * The same for an agent that must not end the takes it may have taken up from an earlier run: one that is killed leaves them
 * to the next, which goes on with them.
 */
export async function replace(): Promise<Fault | undefined> {
  if (heldTakes().running > 0) await run('systemctl', ['kill', '--signal=SIGKILL', UNITS.agent])
  return await restart()
}

/** Waits until the agent that was started is online as `version`. Undefined when it is. */
export async function untilOnline({ say }: Box, version: string, patienceSeconds: number): Promise<Fault | undefined> {
  say('Started; waiting until it is online ...')
  const { invocation } = await agentState()
  let word = systemClock.monotonic()
  const until = word + patienceSeconds * 1000
  for (;;) {
    const now = await agentState()
    const sign = ofProcess(now.pid)
    if (sign?.online && sign.version === version) return undefined
    if (now.invocation !== invocation || !now.active) return down(`it stopped soon after its start (${SEE})`)
    if (sign && sign.version !== version) return down(`it reports version ${sign.version}, not ${version}`)
    if (systemClock.monotonic() > until)
      return { runs: true, words: `it was not online within ${patienceSeconds} s (${SEE})` }
    if (systemClock.monotonic() - word > WORD_EVERY_MS) {
      say('... not yet')
      word = systemClock.monotonic()
    }
    await sleep(LOOK_MS)
  }
}

const ofProcess = (pid: number) => {
  const sign = readOnlineSign(agentDir())
  return sign?.pid === pid ? sign : undefined
}

/**
 * Does `work`, which stops the agent, while the agent begins nothing new: no take is cut, and those that are asked for
 * meanwhile begin when `releaseAgent` is called, at the latest at the end. @throws UserError while takes run; nothing was done then
 */
export async function withAgentHeld(
  box: Box,
  force: boolean,
  work: (releaseAgent: () => void) => Promise<void>,
): Promise<void> {
  await refuseWhileRecording(force)
  const releaseAgent = await holdAgent(box.say)
  try {
    await refuseWhileRecording(force)
    await work(releaseAgent)
  } finally {
    releaseAgent()
  }
}
