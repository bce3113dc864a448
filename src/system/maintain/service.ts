// Restarts the agent's service and waits until it is online.
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
/** A runner gives up on a silent node. */
const WORD_EVERY_MS = 10_000
/** A stop finalizes takes (35 s), a start waits for earlier takes (60 s). */
const RESTART_MS = 180_000
const SEE = `see journalctl -u ${UNITS.agent}`

const down = (words: string): Fault => ({ runs: false, words })

/** Restarts the agent. Undefined when it runs. */
export async function restart(): Promise<Fault | undefined> {
  const ended = await run('systemctl', ['restart', UNITS.agent], { timeoutMs: RESTART_MS })
  return ended.code === 0 ? undefined : down(`it does not start (${lastWords(ended)}; ${SEE})`)
}

/**
 * Like `restart`, but kills an agent that has resumed takes of an earlier run: the next one continues them, while a stop
 * would end them.
 */
export async function replace(): Promise<Fault | undefined> {
  if (heldTakes().running > 0) await run('systemctl', ['kill', '--signal=SIGKILL', UNITS.agent])
  return await restart()
}

/** Waits until the restarted agent is online as `version`. Undefined when it is. */
export async function untilOnline({ say }: Box, version: string, patienceSeconds: number): Promise<Fault | undefined> {
  say('Started; waiting until it is online ...')
  const { invocation } = await agentState()
  let word = systemClock.monotonic()
  const until = word + patienceSeconds * 1000
  for (;;) {
    const now = await agentState()
    const sign = ofProcess(now.pid)
    if (sign?.online && sign.version === version) return undefined
    if (now.invocation !== invocation || !now.active) return down(`it stopped right after its start (${SEE})`)
    if (sign && sign.version !== version) return down(`it reports version ${sign.version}, not ${version}`)
    if (systemClock.monotonic() > until)
      return { runs: true, words: `it was not online within ${patienceSeconds} s (${SEE})` }
    if (systemClock.monotonic() - word > WORD_EVERY_MS) {
      say('... still waiting')
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
 * Does `work`, which stops the agent, while the agent starts no takes, so that none is cut. Takes requested meanwhile start
 * when `releaseAgent` is called, at the latest at the end. @throws UserError while takes run; nothing was done then
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
