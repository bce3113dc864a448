import { setImmediate as nextTurn } from 'node:timers/promises'
import { iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import { DAY_MS } from '../../kernel/zones.ts'
import type { ForesightKind } from '../../wire/foresight.ts'
import type { CalendarItem, CalendarQuery, Occurrence, Risk } from '../../wire/schedules.ts'
import { sharing } from '../http/batches.ts'
import type { Planned } from './calendar.store.ts'
import { shownSlot } from './planning.rules.ts'
import { type Slot, slotsAfter } from './recurrence.rules.ts'
import { clashing, FORESEEN_MS, faultsOf, type Readiness } from './risks.rules.ts'
import { occurrenceKey, type RiskStore } from './risks.store.ts'

const WINDOW_DAYS = 42
const MAX_DAYS = 92
const MAX_ITEMS = 2000
/** Schedules whose recorders are read at once. */
const SLICE = 250

/** Unix ms; starts in [start, end] are shown. */
interface Window {
  end: number
  start: number
}

const refused = (reason: string): Fail => new Fail(400, reason, 'Invalid calendar window')

/** @throws Fail 400 with `invalid_start`, `invalid_end`, `end_before_start` or `window_too_large`. */
export function windowOf(query: Pick<CalendarQuery, 'end' | 'start'>, now: string): Window {
  const start = Date.parse(query.start ?? now)
  if (!inTime(start)) throw refused('invalid_start')
  const end = query.end === undefined ? start + WINDOW_DAYS * DAY_MS : Date.parse(query.end)
  if (!inTime(end)) throw refused('invalid_end')
  if (end < start) throw refused('end_before_start')
  if (end - start > MAX_DAYS * DAY_MS) throw refused('window_too_large')
  return { end, start }
}

const LATEST = Date.parse('9990-01-01T00:00:00.000Z')
const inTime = (ms: number): boolean => ms >= 0 && ms < LATEST

interface Entry {
  row: Planned
  slot: Slot
}

/** The earliest entries of many, at most `MAX_ITEMS` of them kept. */
class Earliest {
  private kept: Entry[] = []
  dropped = false
  get full(): boolean {
    return this.kept.length > MAX_ITEMS || this.dropped
  }
  /** Later entries would be dropped. */
  limit = Number.POSITIVE_INFINITY

  add(entry: Entry): void {
    this.kept.push(entry)
    if (this.kept.length >= MAX_ITEMS * 2) this.cut()
  }

  sorted(): Entry[] {
    this.cut()
    return this.kept
  }

  private cut(): void {
    this.kept.sort((a, b) => a.slot.startAt - b.slot.startAt || (a.row.id < b.row.id ? -1 : 1))
    if (this.kept.length <= MAX_ITEMS) return
    this.kept.length = MAX_ITEMS
    this.dropped = true
    this.limit = (this.kept.at(-1) as Entry).slot.startAt
  }
}

interface Parts {
  /** By `occurrenceKey`; empty for one who may read no health events. */
  foreseen: ReadonlyMap<string, ForesightKind[]>
  /** ISO. */
  now: string
  risks: RiskStore
}

/** The earliest 2,000 occurrences of these schedules in a window. Yields to the event loop between schedules. */
export async function calendarOf({ foreseen: told, now, risks }: Parts, slices: Iterable<Planned[]>, window: Window) {
  const schedules: Planned[] = []
  for (const slice of slices) {
    schedules.push(...slice)
    await nextTurn()
  }
  const { dropped, entries } = await earliestOf(schedules, window)
  const foreseen = await foresee(risks, entries, now)
  const texts = new Map<number, string>()
  const instant = (ms: number): string => texts.get(ms) ?? (texts.set(ms, iso(ms)).get(ms) as string)
  const items = entries.map((entry) => {
    const occurrence = shownSlot(entry.slot, instant)
    const kinds = told.size > 0 ? told.get(occurrenceKey(entry.row.id, occurrence.scheduledStartAt)) : undefined
    return shown(entry, occurrence, foreseen.get(entry) ?? [], kinds)
  })
  const meta = {
    end: iso(window.end),
    occurrenceCount: items.length,
    scheduleCount: schedules.length,
    start: iso(window.start),
    truncated: dropped,
  }
  return { items, meta }
}

// Of a crowded calendar the first days are all that is shown.
const FIRST_DAYS = 2

/** Looks at ever longer parts of the window, until there are more than can be shown. */
async function earliestOf(schedules: readonly Planned[], window: Window) {
  const earliest = new Earliest()
  const turn = sharing()
  let days = FIRST_DAYS
  for (let start = window.start; start <= window.end && !earliest.full; ) {
    const end = Math.min(window.end, start + days * DAY_MS - 1)
    for (const row of schedules) {
      for (const slot of slotsIn(row, { end: Math.min(end, earliest.limit), start })) earliest.add({ row, slot })
      // Long lists of exceptions make a schedule slow.
      await turn()
    }
    start = end + 1
    days *= 2
  }
  const entries = earliest.sorted()
  return { dropped: earliest.dropped, entries }
}

function* slotsIn({ createdAt, plan }: Planned, { end, start }: Window): Generator<Slot> {
  // Start and end belong to the window.
  for (const slot of slotsAfter(plan, start - 1, end)) {
    // Nothing is recorded before the schedule was created; an occurrence under way at that time begins late.
    if (slot.startAt < createdAt && (slot.endAt ?? createdAt) <= createdAt) continue
    yield slot
  }
}

/** What stands against those that start within a day or record now. Yields to the event loop between slices. */
async function foresee(risks: RiskStore, entries: readonly Entry[], now: string): Promise<Map<Entry, Risk[]>> {
  const at = Date.parse(now)
  const near = entries.filter(({ slot }) => slot.startAt < at + FORESEEN_MS && (slot.endAt ?? Infinity) > at)
  const known = new Map<string, Readiness>()
  const ids = [...new Set(near.map(({ row }) => row.id))]
  for (let from = 0; from < ids.length; from += SLICE) {
    for (const [id, readiness] of risks.readiness(ids.slice(from, from + SLICE), now)) known.set(id, readiness)
    await nextTurn()
  }
  const dues = near.flatMap((entry) => {
    const readiness = known.get(entry.row.id)
    const { endAt, startAt } = entry.slot
    return readiness ? [{ endAt: endAt ?? Infinity, entry, readiness, startAt }] : []
  })
  const rivals = clashing(dues)
  return new Map(dues.map((due) => [due.entry, [...faultsOf(due.readiness), ...(rivals.has(due) ? CLASH : [])]]))
}

const CLASH: readonly Risk[] = ['clash']

const shown = (
  { row }: Entry,
  occurrence: Occurrence,
  risks: Risk[],
  foreseen: ForesightKind[] | undefined,
): CalendarItem => ({
  ...occurrence,
  enabled: true,
  ...(foreseen ? { foreseen } : {}),
  ...(row.nodeId === null ? {} : { nodeId: row.nodeId }),
  recurrenceMode: row.mode,
  ...(risks.length === 0 ? {} : { risks }),
  room: row.room,
  ...(row.roomId === null ? {} : { roomId: row.roomId }),
  scheduleId: row.id,
  scheduleName: row.name,
  timezone: row.timezone,
})
