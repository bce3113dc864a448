// The external runner as the controller sees it (agent contract, section 23): one POST, answered when the run is over.
import { RUNNER_PATHS, type RunRequest } from '../../wire/lifecycle.ts'
import { ask, jsonOf, OutgoingError } from '../edge/outgoing.ts'
import { failed, type Outcome, outcomeOf } from './lifecycle.rules.ts'

export interface RunnerSettings {
  timeoutMs: number
  token: string | undefined
  url: string | undefined
}

// Two outputs of a long installation; what is kept of them is far less.
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** Has the runner do it. Never throws for what the runner does: that is an outcome. */
export async function runAction(settings: RunnerSettings, run: RunRequest, signal: AbortSignal): Promise<Outcome> {
  const { timeoutMs, token, url } = settings
  if (url === undefined) return failed('ansible_runner_unconfigured')
  try {
    const answer = await ask({
      body: JSON.stringify(run),
      headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      maxBytes: MAX_ANSWER_BYTES,
      method: 'POST',
      signal,
      timeoutMs,
      url: new URL(url.replace(/\/*$/, RUNNER_PATHS.runs)),
    })
    return outcomeOf(answer.status, jsonOf(answer.text), token ? [token] : [])
  } catch (e) {
    // Refused connections, silence, answers that break off or never end: the record says which.
    if (e instanceof OutgoingError)
      return failed(e.reason === 'aborted' ? 'controller_stopped' : `ansible_runner_${e.reason}`)
    throw e
  }
}
