// The external runner as the controller sees it (docs/contract/lifecycle.md: Runner): one POST, answered when the run is
// over. A runner that can, tells on the way what it sees.
import { type Answer, jsonOf, NoAnswer, send, whole } from '../../../kernel/http.ts'
import { Transcript } from '../../../kernel/redact.ts'
import { NDJSON, OUTPUT_KEPT, RUNNER_PATHS, runProgressOf } from '../../../wire/lifecycle.ts'
import { type Act, failed, type OnOutput, outcomeOf } from './lifecycle.rules.ts'

interface RunnerSettings {
  /** Longest silence. */
  timeoutMs: number
  token: string | undefined
  url: string | undefined
}

// Two outputs of a long installation, told on the way; what is kept of them is far less.
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

const UNCONFIGURED =
  'This controller has nothing that acts on nodes. Set SVC_LIFECYCLE_EMBEDDED=1 to have it act itself (on its box: sudo ' +
  'roomtone setup controller --with-lifecycle), or SVC_ANSIBLE_RUNNER_URL to name a runner (roomtone setup lifecycle).'

/** Has the runner do it. Never throws for what the runner does: that is an outcome. */
export const externalRunner =
  ({ timeoutMs, token, url }: RunnerSettings): Act =>
  async (run, onOutput, signal) => {
    if (url === undefined) return { ...failed('ansible_runner_unconfigured'), stderr: UNCONFIGURED }
    const secrets = token ? [token] : []
    try {
      const request = {
        body: JSON.stringify(run),
        headers: {
          accept: `${NDJSON}, application/json`,
          'content-type': 'application/json',
          ...(token ? { authorization: `Bearer ${token}` } : {}),
        },
        method: 'POST' as const,
        signal,
        timeoutMs,
        url: new URL(url.replace(/\/*$/, RUNNER_PATHS.runs)),
      }
      const heard = listener(onOutput, secrets)
      const answer = await send(request, (response, alive) =>
        whole(response, MAX_ANSWER_BYTES, (piece) => {
          alive()
          heard(piece)
        }),
      )
      return outcomeOf(answer.status, bodyOf(answer), secrets)
    } catch (e) {
      // Refused connections, silence, answers that break off or never end: the record says which.
      if (e instanceof NoAnswer)
        return e.reason === 'aborted'
          ? failed('controller_stopped')
          : {
              ...failed(`ansible_runner_${e.reason}`),
              stderr: `The lifecycle runner at ${url} gave no answer: ${e.message}.`,
            }
      throw e
    }
  }

/** The answer is the last of its lines; other runners answer with one JSON text. */
function bodyOf({ headers, text }: Answer): unknown {
  const lines = headers['content-type']?.startsWith(NDJSON) ? text.trimEnd().split('\n') : [text]
  return jsonOf(lines.at(-1) ?? '')
}

/** Hands on the output in whole lines of an answer, cleaned once more. */
function listener(onOutput: OnOutput, secrets: readonly string[]): (piece: Buffer) => void {
  const decoder = new TextDecoder()
  const clean = {
    stderr: new Transcript(OUTPUT_KEPT.stderr, secrets),
    stdout: new Transcript(OUTPUT_KEPT.stdout, secrets),
  }
  let rest = ''
  return (piece) => {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const output = runProgressOf(jsonOf(line))
      if (output) onOutput(output.stream, clean[output.stream].add(output.text))
    }
  }
}
