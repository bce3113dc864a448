import type { Capture, Undelivered, UndeliveredTotal } from '../../wire/captures.ts'
import type { ForesightKind } from '../../wire/foresight.ts'
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

/** What stands against an occurrence as it is, or is foreseen of it. */
type Danger = ForesightKind | Risk

/** What a risk is called once it is foreseen. */
const FORESEEN: Record<Risk, ForesightKind> = {
  channels_missing: 'channels_missing',
  clash: 'clash',
  device_missing: 'device_gone',
  recorder_missing: 'recorder_offline',
  recorder_offline: 'recorder_offline',
}

/** Each danger once: what was foreseen and is so now is told as it is now. */
export const dangersOf = ({ foreseen = [], risks = [] }: Pick<CalendarItem, 'foreseen' | 'risks'>): Danger[] => [
  ...risks,
  ...foreseen.filter((kind) => !risks.some((risk) => FORESEEN[risk] === kind)),
]

const BY_SCHEDULE: ReadonlySet<Danger> = new Set<Danger>([
  'channels_missing',
  'clash',
  'impossible',
  'recorder_missing',
])
const BY_DEVICE: ReadonlySet<Danger> = new Set<Danger>(['device_changed', 'device_gone', 'device_missing'])

/** The page on which a danger is mended: of the schedule when its recorder cannot help, else of the recorder. */
export function whereMended(danger: Danger, { nodeId, scheduleId }: CalendarItem): string {
  if (danger === 'destination_failing') return '/settings/destinations'
  if (nodeId === undefined || BY_SCHEDULE.has(danger)) return `/schedules/${encodeURIComponent(scheduleId)}`
  return `/recorders/${encodeURIComponent(nodeId)}${BY_DEVICE.has(danger) ? '/setup' : ''}`
}
