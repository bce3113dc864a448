import { isHost, OUTPUT_KEPT, runAnswerOf, runRefusalOf } from '../../wire/lifecycle.ts'
import type { Node } from '../../wire/nodes.ts'

/** How a run ended, ready to be stored. */
export interface Outcome {
  error?: string | undefined
  exitCode?: number | undefined
  runnerRunId?: string | undefined
  status: 'succeeded' | 'failed'
  stderr?: string | undefined
  stdout?: string | undefined
  targetHost?: string | undefined
}

export const failed = (error: string): Outcome => ({ error, status: 'failed' })

/** Where the runner connects to: the first address the node reported, else its host name. */
export const targetHostOf = ({ hostname, ipAddresses }: Pick<Node, 'hostname' | 'ipAddresses'>): string =>
  ipAddresses.map((address) => address.trim()).find(isHost) ?? hostname

const SECRETS = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\bsvc_(node|bs)_[A-Za-z0-9_-]{8,}/g,
  /\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/gi,
]

/** Takes out what must not be stored or shown: keys, node tokens, bearer headers, and the given secrets. */
export function redacted(text: string, secrets: readonly string[]): string {
  const known = secrets.filter(Boolean).reduce((out, secret) => out.replaceAll(secret, '[redacted]'), text)
  return SECRETS.reduce((out, pattern) => out.replace(pattern, '[redacted]'), known)
}

const LONGEST_ERROR = 400
const tail = (text: string, most: number): string => text.slice(-most).toWellFormed()

/** What an answer of the runner means; `body` is its JSON, whatever that is. The reasons are contract A, 2.8. */
export function outcomeOf(status: number, body: unknown, secrets: readonly string[]): Outcome {
  const clean = (text: string) => redacted(text, secrets)
  if (status < 200 || status > 299) {
    const words = clean(runRefusalOf(body)).slice(0, LONGEST_ERROR).trim().toWellFormed()
    return failed(words || `ansible_runner_${status}`)
  }
  const answer = runAnswerOf(body)
  if (!answer) return failed('ansible_runner_invalid_answer')
  const { exitCode, runId, stderr, stdout, targetHost } = answer
  return {
    exitCode,
    status: exitCode === 0 ? 'succeeded' : 'failed',
    runnerRunId: runId && clean(runId),
    // Cut after the cleaning: half a key would pass for text.
    stderr: tail(clean(stderr), OUTPUT_KEPT.stderr),
    stdout: tail(clean(stdout), OUTPUT_KEPT.stdout),
    ...(targetHost && isHost(targetHost) ? { targetHost } : {}),
  }
}
