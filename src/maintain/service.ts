// The agent's service: started anew, and waited for until the controller hears it.
import { setTimeout as sleep } from 'node:timers/promises'
import { readOnlineSign } from '../host/onlinesign.ts'
import { UNITS } from '../host/places.ts'
import { run } from '../host/run.ts'
import { agentDir } from '../host/takes.ts'
import { systemClock } from '../kernel/clock.ts'
import { lastWords } from '../setup/system.ts'
import { agentState, type Box } from './box.ts'

const LOOK_MS = 250
/** A word now and then: a runner gives up on a node that says nothing. */
const WORD_EVERY_MS = 10_000
/** A stop finalizes takes (35 s), a start holds takes of before (60 s). */
const RESTART_MS = 180_000
const SEE = `see journalctl -u ${UNITS.agent}`

/** Starts the agent anew. Why it is not in service, in a sentence; undefined when it runs. */
export async function restart(): Promise<string | undefined> {
  const ended = await run('systemctl', ['restart', UNITS.agent], { timeoutMs: RESTART_MS })
  return ended.code === 0 ? undefined : `it does not start (${lastWords(ended)}; ${SEE})`
}

/** Starts the agent anew and waits until it is online as `version`. Why it is not, in a sentence; undefined when it is. */
export async function restartOnline(
  { say }: Box,
  version: string,
  patienceSeconds: number,
): Promise<string | undefined> {
  const fault = await restart()
  if (fault) return fault
  say('Started; waiting until the controller hears it ...')
  const { invocation } = await agentState()
  let word = systemClock.monotonic()
  const until = word + patienceSeconds * 1000
  for (;;) {
    const now = await agentState()
    const sign = ofProcess(now.pid)
    if (sign?.online && sign.version === version) return undefined
    if (now.invocation !== invocation || !now.active) return `it ended soon after its start (${SEE})`
    if (sign && sign.version !== version) return `it says it is ${sign.version}, not ${version}`
    if (systemClock.monotonic() > until) return `the controller did not hear it within ${patienceSeconds} s (${SEE})`
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
