import { redacted, tail } from '../../../kernel/redact.ts'
import {
  isHost,
  OUTPUT_KEPT,
  type RunRequest,
  runAnswerOf,
  runRefusalOf,
  type Stream,
} from '../../../wire/lifecycle.ts'
import type { Node } from '../../../wire/nodes.ts'

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

/** The address the runner connects to: the likeliest of those the node reported, else its host name. */
export function targetHostOf({ hostname, ipAddresses }: Pick<Node, 'hostname' | 'ipAddresses'>): string {
  const hosts = ipAddresses
    .map((address) => address.trim())
    .filter((address) => isHost(address) && !NOWHERE.test(address))
  const [likeliest] = hosts.toSorted((a, b) => distance(a) - distance(b))
  return likeliest ?? hostname
}

/** Link-local IPv6 addresses without their interface. */
const NOWHERE = /^fe[89ab][^%]*$/i
/** Unlikely addresses, from link-local ones to the loopback; container bridges have the same address on many boxes. */
const OWN = [/^(169\.254\.|fe[89ab])/i, /^172\.(1[7-9]|2\d|3[01])\.0\.1$/, /^(127\.|::1$|0\.0\.0\.0$|::$)/]
const distance = (address: string): number => OWN.findIndex((own) => own.test(address)) + 1

const LONGEST_ERROR = 400

/**
 * What an answer of the runner means; `body` is its JSON, whatever that is. The reasons are in docs/contract/lifecycle.md:
 * Actions. An answer that began before the run did says in its last line that there was none.
 */
export function outcomeOf(status: number, body: unknown, secrets: readonly string[]): Outcome {
  const clean = (text: string) => redacted(text, secrets)
  const refusal = runRefusalOf(body)
  const error = clean(refusal.error).slice(0, LONGEST_ERROR).trim().toWellFormed()
  if (status < 200 || status > 299 || error) {
    const words = refusal.message && { stderr: tail(clean(refusal.message), OUTPUT_KEPT.stderr) }
    return { ...failed(error || `ansible_runner_${status}`), ...words }
  }
  const answer = runAnswerOf(body)
  if (!answer) return failed('ansible_runner_invalid_answer')
  const { exitCode, runId, stderr, stdout, targetHost } = answer
  return {
    exitCode,
    status: exitCode === 0 ? 'succeeded' : 'failed',
    runnerRunId: runId && clean(runId),
    // Cut after redacting: half a key would no longer be recognised.
    stderr: tail(clean(stderr), OUTPUT_KEPT.stderr),
    stdout: tail(clean(stdout), OUTPUT_KEPT.stdout),
    ...(targetHost && isHost(targetHost) ? { targetHost } : {}),
  }
}

/** Receives output of a run under way, free of secrets. */
export type OnOutput = (stream: Stream, text: string) => void

/** Performs a run, in this process or through a runner. Every failure is an outcome; only a bug rejects. */
export type Act = (run: RunRequest, tell: OnOutput, signal: AbortSignal) => Promise<Outcome>
