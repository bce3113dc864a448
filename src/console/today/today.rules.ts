import type { Recording } from '../../wire/recordings.ts'
import type { CalendarItem, Risk } from '../../wire/schedules.ts'

const HOUR_MS = 3_600_000

/** The coming 24 hours, cut to the hour so that the same page asks the same question again. `now`: Unix ms. */
export function dayAhead(now: number): { end: string; start: string } {
  const from = Math.floor(now / HOUR_MS) * HOUR_MS
  return { end: new Date(from + 25 * HOUR_MS).toISOString(), start: new Date(from).toISOString() }
}

/** Seconds of sound that exist on recorders only: of running takes until now, of ended ones what is not stored yet. */
export function onlyThere(takes: readonly Recording[], now: number): number {
  return takes.reduce((sum, { cached, durationSeconds, recordedAt, status }) => {
    if (cached || status === 'failed' || status === 'queued') return sum
    const seconds = status === 'recording' ? (now - Date.parse(recordedAt)) / 1000 : durationSeconds
    return sum + Math.max(0, seconds)
  }, 0)
}

/** The page on which a risk is mended: of the schedule when its recorder cannot help, else of the recorder. */
export function whereMended(risk: Risk, { nodeId, scheduleId }: CalendarItem): string {
  if (nodeId === undefined || risk === 'clash' || risk === 'recorder_missing' || risk === 'channels_missing')
    return `/schedules/${encodeURIComponent(scheduleId)}`
  return `/recorders/${encodeURIComponent(nodeId)}${risk === 'device_missing' ? '/setup' : ''}`
}
