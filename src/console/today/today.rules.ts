import type { Capture, Undelivered, UndeliveredTotal } from '../../wire/captures.ts'
import type { CalendarItem, Risk } from '../../wire/schedules.ts'

const HOUR_MS = 3_600_000

/** The coming 24 hours, cut to the hour so that the same page asks the same question again. `now`: Unix ms. */
export function dayAhead(now: number): { end: string; start: string } {
  const from = Math.floor(now / HOUR_MS) * HOUR_MS
  return { end: new Date(from + 25 * HOUR_MS).toISOString(), start: new Date(from).toISOString() }
}

/** Seconds of one take that exist on its recorder only; `now`: Unix ms. */
export const onlyThere = ({ since, storedSeconds, until }: Undelivered, now: number): number =>
  Math.max(0, (Math.min(now, Date.parse(until)) - Date.parse(since)) / 1000 - storedSeconds)

/** Of all takes together: those that go on grow with the time since they were added up. */
export const allOnlyThere = ({ at, growing, seconds }: UndeliveredTotal, now: number): number =>
  seconds + growing * Math.max(0, (now - Date.parse(at)) / 1000)

/** What begins within a day; what runs already is told of elsewhere. */
export const coming = (items: readonly CalendarItem[], now: number): CalendarItem[] =>
  items.filter(({ recordingStartAt }) => {
    const startsIn = Date.parse(recordingStartAt) - now
    return startsIn > 0 && startsIn <= 24 * HOUR_MS
  })

/** The channels of a take as a device of its own, so that no other room is drawn. */
export const deviceOf = ({ channelNames = [], channels, interfaceId }: Capture) => ({
  channelCount: channels.length,
  channels: channels.map((index, i) => ({ alias: channelNames[i] ?? '', index })),
  id: interfaceId,
})

/** "Desk: Judge, Channel 2": what hears a take. */
export function microphones(capture: Capture, word: (n: number) => string): string {
  const names = deviceOf(capture).channels.map(({ alias, index }) => alias || word(index))
  return `${capture.interfaceName ?? capture.interfaceId}: ${names.join(', ')}`
}

/** The page on which a risk is mended: of the schedule when its recorder cannot help, else of the recorder. */
export function whereMended(risk: Risk, { nodeId, scheduleId }: CalendarItem): string {
  if (nodeId === undefined || risk === 'clash' || risk === 'recorder_missing' || risk === 'channels_missing')
    return `/schedules/${encodeURIComponent(scheduleId)}`
  return `/recorders/${encodeURIComponent(nodeId)}${risk === 'device_missing' ? '/setup' : ''}`
}
