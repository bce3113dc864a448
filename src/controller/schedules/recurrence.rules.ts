import { DAY_MS, dateOf, type Zone } from '../../kernel/zones.ts'
import { type Recurrence, WEEKDAYS } from '../../wire/schedules.ts'

/** One occurrence. Instants are Unix ms. */
export interface Slot {
  /** Local date it belongs to, as a day number. */
  day: number
  /** End of the recording, stop-late included; undefined when it is open-ended. */
  endAt: number | undefined
  /** The scheduled start; it identifies the occurrence. */
  scheduledAt: number
  /** Start of the recording, start-early included. */
  startAt: number
}

/** A recurrence prepared for computing occurrences. */
export interface Plan {
  /** Day from which "every n" is counted. */
  anchor: number
  recurrence: Recurrence
  zone: Zone
}

type Timed = Extract<Recurrence, { startTime: string }>
export const isTimed = (r: Recurrence): r is Timed => 'startTime' in r

// How far ahead an occurrence is looked for (docs/contract/scheduling.md: Recurrence).
const SCANNED_DAYS = 3660
const SCANNED_DAYS_MONTHLY = 240 * 31
const DAY_MINUTES = 24 * 60

const minuteOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
const modulo = (n: number, by: number): number => ((n % by) + by) % by
const mondayOf = (day: number): number => day - weekdayOf(day)
// 1 January 1970 was a Thursday; Monday is 0.
const weekdayOf = (day: number): number => modulo(day + 3, 7)

const monthOf = (day: number) => {
  const date = new Date(day * DAY_MS)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return {
    day: date.getUTCDate(),
    index: year * 12 + month,
    length: new Date(Date.UTC(year, month + 1, 0)).getUTCDate(),
  }
}

/** Whether the rule includes this local date, exceptions aside. */
function names(r: Timed, anchor: number, day: number): boolean {
  if (r.mode === 'daily') return modulo(day - anchor, r.interval) === 0
  if (r.mode === 'weekly')
    return (
      r.daysOfWeek.includes(WEEKDAYS[weekdayOf(day)] as (typeof WEEKDAYS)[number]) &&
      modulo((mondayOf(day) - mondayOf(anchor)) / 7, r.interval) === 0
    )
  const month = monthOf(day)
  return (
    month.day === Math.min(r.dayOfMonth, month.length) && modulo(month.index - monthOf(anchor).index, r.interval) === 0
  )
}

/** Whether an exception excludes the local date. */
export function isExcepted({ exceptions = [] }: Recurrence, day: number): boolean {
  if (exceptions.length === 0) return false
  const date = dateOf(day)
  return exceptions.some((e) => (e.action === 'skip' ? e.date === date : e.startDate <= date && date <= e.endDate))
}

const earlyMs = (r: Recurrence): number => (r.startEarlySeconds ?? 0) * 1000

/**
 * Length of the recording with both buffers, seconds; undefined when it is open-ended. It is constant: across a change
 * of the clock a window ends an hour off its wall time (docs/contract/scheduling.md: Recurrence).
 */
export function lengthSeconds(r: Recurrence): number | undefined {
  const buffers = (r.startEarlySeconds ?? 0) + (r.stopLateSeconds ?? 0)
  if (r.mode === 'once') return r.durationSeconds === undefined ? undefined : r.durationSeconds + buffers
  if (!isTimed(r)) return undefined
  const minutes = modulo(minuteOf(r.endTime) - minuteOf(r.startTime), DAY_MINUTES) || DAY_MINUTES
  return minutes * 60 + buffers
}

/** The slot of a scheduled start that lies on `day`. */
export function slotAt(r: Recurrence, scheduledAt: number, day: number): Slot {
  const startAt = scheduledAt - earlyMs(r)
  const seconds = lengthSeconds(r)
  return { day, endAt: seconds === undefined ? undefined : startAt + seconds * 1000, scheduledAt, startAt }
}

/** The slot of a date the rule includes; undefined for any other date, and for one that its zone skipped. */
export function slotOn({ anchor, recurrence, zone }: Plan, day: number): Slot | undefined {
  if (!isTimed(recurrence) || !names(recurrence, anchor, day) || !zone.hasDay(day)) return undefined
  return slotAt(recurrence, zone.at(day, minuteOf(recurrence.startTime)), day)
}

/** The one slot of `once`, past or to come. */
export function onceSlot({ recurrence, zone }: Plan): Slot | undefined {
  if (recurrence.mode !== 'once') return undefined
  const scheduledAt = Date.parse(recurrence.startsAt)
  return slotAt(recurrence, scheduledAt, zone.dayOf(scheduledAt))
}

/**
 * Occurrences whose recording starts after `after` and not after `until`, in order, without excluded ones; manual and always_on
 * have none.
 */
export function* slotsAfter(plan: Plan, after: number, until = Number.POSITIVE_INFINITY): Generator<Slot> {
  const { recurrence, zone } = plan
  const once = onceSlot(plan)
  if (once && once.startAt > after && once.startAt <= until && !isExcepted(recurrence, once.day)) yield once
  if (!isTimed(recurrence)) return
  // A clock change at midnight may move a start to the next date.
  const first = zone.dayOf(after) - 1
  const scanned = first + (recurrence.mode === 'monthly' ? SCANNED_DAYS_MONTHLY : SCANNED_DAYS)
  const last =
    until === Number.POSITIVE_INFINITY ? scanned : Math.min(scanned, zone.dayOf(until + earlyMs(recurrence)) + 1)
  for (let day = first; day <= last; day++) {
    const slot = slotOn(plan, day)
    if (slot && slot.startAt > until) return
    if (slot && slot.startAt > after && !isExcepted(recurrence, day)) yield slot
  }
}

/** The next occurrence; undefined when there is none within ten years (monthly: twenty). */
export const nextSlot = (plan: Plan, after: number): Slot | undefined =>
  slotsAfter(plan, after).next().value ?? undefined

/** The latest occurrence that has started by `now` and has not ended; none for manual and always_on. */
export function currentSlot(plan: Plan, now: number): Slot | undefined {
  const once = onceSlot(plan)
  const seconds = lengthSeconds(plan.recurrence)
  const recent = once ? [once] : seconds === undefined ? [] : slotsAfter(plan, now - seconds * 1000)
  let current: Slot | undefined
  for (const slot of recent) {
    if (slot.startAt > now) break
    current = slot
  }
  const open = current && (current.endAt === undefined || current.endAt > now)
  return open && !isExcepted(plan.recurrence, (current as Slot).day) ? current : undefined
}

/** Whether the anchor stays: unless what is repeated, how often or when it starts changes. */
export const keepsAnchor = (before: Recurrence, after: Recurrence): boolean => rhythm(before) === rhythm(after)

function rhythm(r: Recurrence): string {
  if (!isTimed(r)) return r.mode
  const days = r.mode === 'weekly' ? [...r.daysOfWeek].sort() : r.mode === 'monthly' ? [r.dayOfMonth] : []
  return JSON.stringify([r.mode, r.interval, days, r.startTime])
}
