// Civil time: wall clocks of IANA zones to instants and back. Built on Intl, which carries the zone rules.

export const DAY_MS = 86_400_000
const SECOND_MS = 1000
const MINUTE_MS = 60_000

/** A zone's wall clock. Days are counted from 1970-01-01 in the zone's own calendar, minutes from its midnight. */
export interface Zone {
  /**
   * The instant (Unix ms) of a wall time. One that a change of the clock leaves out is the first instant after the
   * gap; of one that comes twice it is the earlier (ADR-0022).
   */
  at(day: number, minute: number): number
  /** The day an instant (Unix ms) falls on. */
  dayOf(ms: number): number
  /** False for a date the zone never had: 30 December 2011 in Pacific/Apia. */
  hasDay(day: number): boolean
  /** Distance of the wall clock from UTC at an instant, ms. */
  offset(ms: number): number
}

/** `2026-03-29` as a day number, and back. */
export const dayNumber = (date: string): number => Date.parse(`${date}T00:00:00.000Z`) / DAY_MS
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** Whether the runtime knows the zone; bare offsets such as `+02:00` are no zones. */
export function isZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    // RangeError is how Intl says no.
    return false
  }
}

// Days whose offset is remembered, per zone.
const KEPT_DAYS = 4096

/** @throws RangeError for a name that is no zone; ask `isZone` first. */
export function zone(name: string): Zone {
  const read = reader(name)
  const days = new Map<number, number | null>()
  // Almost every day has one offset from end to end, and asking Intl costs a hundred times more than remembering.
  const wholeDay = (day: number): number | null => {
    const known = days.get(day)
    if (known !== undefined) return known
    const [first, last] = [read(day * DAY_MS), read((day + 1) * DAY_MS)]
    const offset = first === last ? first : null
    if (days.size >= KEPT_DAYS) days.clear()
    days.set(day, offset)
    return offset
  }
  const offset = (ms: number): number => wholeDay(Math.floor(ms / DAY_MS)) ?? read(ms)
  const dayOf = (ms: number): number => Math.floor((ms + offset(ms)) / DAY_MS)
  const at = (day: number, minute: number): number => {
    const wall = day * DAY_MS + minute * MINUTE_MS
    const [before, after] = [offset(wall - DAY_MS), offset(wall + DAY_MS)]
    const early = wall - Math.max(before, after)
    const late = wall - Math.min(before, after)
    if (offset(early) === wall - early) return early
    if (offset(late) === wall - late) return late
    return changeBetween(offset, early, late)
  }
  // A date is left out only where the clock changes.
  const hasDay = (day: number): boolean =>
    offset((day - 1) * DAY_MS) === offset((day + 1) * DAY_MS) || dayOf(at(day, 0)) === day
  return { at, dayOf, hasDay, offset }
}

/** The first instant in (from, to] at which the offset is another than at `from`. */
function changeBetween(offset: (ms: number) => number, from: number, to: number): number {
  const before = offset(from)
  let [low, high] = [from / SECOND_MS, to / SECOND_MS]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offset(middle * SECOND_MS) === before) low = middle
    else high = middle
  }
  return high * SECOND_MS
}

function reader(name: string): (ms: number) => number {
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const clock = new Intl.DateTimeFormat('en-US', {
    ...parts,
    calendar: 'gregory',
    hourCycle: 'h23',
    numberingSystem: 'latn',
    second: 'numeric',
    timeZone: name,
  })
  return (ms) => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = clock.format(ms).split(/\D+/).map(Number)
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / SECOND_MS) * SECOND_MS
  }
}

// Zones remembered at once: about as many as there are names.
const KEPT_ZONES = 600

/** Zones by name, each made once: a formatter costs more than a thousand readings. */
export function zoneBook(): (name: string) => Zone {
  const zones = new Map<string, Zone>()
  return (name) => {
    const known = zones.get(name)
    if (known) return known
    const fresh = zone(name)
    if (zones.size >= KEPT_ZONES) zones.clear()
    zones.set(name, fresh)
    return fresh
  }
}
