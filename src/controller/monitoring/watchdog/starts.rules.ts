// What is told of a recording that no recorder begins, and of its end.
import type { Waiting } from './watch.store.ts'

/** A recorder that was heard within this time is there, ms: the trouble is another one. */
const THERE_MS = 30_000

/** `at`: Unix ms. */
export function toldOf({ alias, lastSeenAt, name, plannedAt }: Waiting, at: number): Record<string, unknown> {
  const recorder = alias ?? 'its recorder'
  const isThere = lastSeenAt !== null && at - Date.parse(lastSeenAt) < THERE_MS
  const told = { ...(lastSeenAt === null ? {} : { lastSeenAt }), plannedAt }
  if (isThere)
    return {
      ...told,
      message: `${name} should be recorded by now. ${recorder} reports, and has not begun.`,
      remedy: `See whether another recording has the device of ${recorder}; if none has, restart the agent there.`,
    }
  return {
    ...told,
    message: `${name} should be recorded by now, and ${recorder} does not report.`,
    remedy: `Check power and network of ${recorder}, and record by other means until it is back: it begins by itself as soon as it reports.`,
  }
}

interface End {
  details: Record<string, unknown>
  reason: string
  /** What became of the recording, for people. */
  result?: string
}

/** `beginning`: absent when the recording was deleted; without a beginning nothing was recorded. */
export function endOf(beginning: { beganAt: string | null; plannedAt: string } | undefined): End {
  if (!beginning) return { details: {}, reason: 'recording_deleted' }
  const { beganAt, plannedAt } = beginning
  if (beganAt === null)
    return {
      details: {},
      reason: 'take_never_began',
      result: 'It ended without a beginning: nothing is recorded.',
    }
  const lateSeconds = Math.max(0, Math.round((Date.parse(beganAt) - Date.parse(plannedAt)) / 1000))
  return {
    details: { lateSeconds },
    reason: 'take_began',
    result: `It is being recorded, ${lateSeconds} s late: that much of its beginning is missing.`,
  }
}
