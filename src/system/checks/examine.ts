// Runs the checks of a box side by side, each within its own time.
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '../../kernel/durable.ts'
import { NoAnswer } from '../../kernel/http.ts'
import { faultWords } from '../../kernel/words.ts'
import {
  advice,
  CHECKS,
  type Check,
  type DoctorReport,
  type DoctorRole,
  type Finding,
  type Fix,
  fitted,
} from '../../wire/doctor.ts'

/** One check. The signal ends with the time it has. */
export interface Probe {
  look(signal: AbortSignal): Finding | Promise<Finding>
  /** Default 8 s: the whole must be over before somebody gives up on it. */
  limitMs?: number
}

const LIMIT_MS = 8000

export const ok = (message: string): Finding => ({ message, status: 'ok' })
export const warn = (message: string, fix: Fix): Finding => ({ fix, message, status: 'warn' })
export const fail = (message: string, fix: Fix): Finding => ({ fix, message, status: 'fail' })
export const skipped = (message: string): Finding => ({ message, status: 'skipped' })

const RETRY = advice('Run the doctor again. If it stays so, send support what this packs:', 'sudo roomtone support')

const upper = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)

/**
 * The report of a role: its checks in their order. Never rejects for what a check meets.
 * @throws the signal's AbortError when it ends first
 */
export async function examine<R extends DoctorRole>(
  role: R,
  probes: Record<(typeof CHECKS)[R][number], Probe['look'] | Probe>,
  stop: AbortSignal = new AbortController().signal,
): Promise<DoctorReport> {
  const ids = CHECKS[role] as readonly (typeof CHECKS)[R][number][]
  const checks = await Promise.all(ids.map((id) => check(id, probes[id], stop)))
  return { checks, ok: checks.every(({ status }) => status !== 'fail'), role }
}

async function check(id: string, given: Probe['look'] | Probe, stop: AbortSignal): Promise<Check> {
  const { limitMs = LIMIT_MS, look } = typeof given === 'function' ? { look: given } : given
  const over = new AbortController()
  const ended = AbortSignal.any([over.signal, stop])
  const late = sleep(limitMs, warn(`No answer within ${limitMs / 1000} s`, RETRY), { signal: ended })
  try {
    const looked = (async () => await look(AbortSignal.any([ended, AbortSignal.timeout(limitMs)])))()
    return { id, ...fitted(await Promise.race([looked.catch(unexpected), late])) }
  } finally {
    over.abort()
    late.catch(() => {})
  }
}

/** What a check met and did not foresee. */
function unexpected(e: unknown): Finding {
  if (hasCode(e, 'EACCES') || hasCode(e, 'EPERM'))
    return skipped(`${upper(faultWords(e))}. Run it as root: sudo roomtone doctor`)
  // Whether the way is well is a check of its own; the other side may only be busy.
  if (e instanceof NoAnswer) return skipped(`${upper(faultWords(e))}: nothing was learnt`)
  return fail(upper(faultWords(e)), RETRY)
}
