// Client of an external runner (docs/contract/lifecycle.md: Runner): one POST, answered when the run is over. A runner may
// stream the output meanwhile.
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

// Enough for both outputs of a long installation; far less is stored.
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

const UNCONFIGURED =
  'This controller has no lifecycle runner. Set SVC_LIFECYCLE_EMBEDDED=1 to have it act itself (on its box: sudo ' +
  'roomtone setup controller --with-lifecycle), or SVC_ANSIBLE_RUNNER_URL to name a runner (roomtone setup lifecycle).'

/** Sends the run to the runner. A failure of the runner is an outcome, never an exception. */
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
      const onPiece = listener(onOutput, secrets)
      const answer = await send(request, (response, alive) =>
        whole(response, MAX_ANSWER_BYTES, (piece) => {
          alive()
          onPiece(piece)
        }),
      )
      return outcomeOf(answer.status, bodyOf(answer), secrets)
    } catch (e) {
      // Refused connections, silence, responses that break off or never end: the job says which.
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

/** Passes on the output in the complete lines of a response, redacted once more. */
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
