// Where occurrences stand on a wall clock of days. Days are numbers from 1970-01-01, minutes count from midnight.
import { DAY_MS, type Zone } from '../../kernel/zones.ts'
import type { CalendarItem } from '../../wire/schedules.ts'
import type { Weekday } from '../../wire/settings.ts'

const MINUTE_MS = 60_000
export const DAY_MINUTES = 1440
/** An occurrence nobody ends is shown this long. */
const OPEN_ENDED_MS = 60 * MINUTE_MS
/** The shortest card that can be read and hit. */
const LEAST_MINUTES = 30

export interface Piece {
  day: number
  /** Minute after the last. */
  end: number
  item: CalendarItem
  lane: number
  lanes: number
  start: number
}

/** What the clock of the zone shows at an instant. */
export function wallOf(ms: number, zone: Zone): { day: number; minute: number } {
  const wall = ms + zone.offset(ms)
  const day = Math.floor(wall / DAY_MS)
  return { day, minute: Math.floor((wall - day * DAY_MS) / MINUTE_MS) }
}

const WEEKDAYS: readonly Weekday[] = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

/** First day of the week of a day; 1970-01-01 was a Thursday. */
export function weekOf(day: number, startsOn: Weekday): number {
  const since = (day + WEEKDAYS.indexOf('thursday') - WEEKDAYS.indexOf(startsOn)) % 7
  return day - ((since + 7) % 7)
}

/** A room of the list. */
export interface Place {
  id: string
  name: string
  site: string
}

/** A row of a day: a room, whether or not anything is planned there. */
export interface Row {
  key: string
  /** Set where another room has the same name, and this one is on no list. */
  nodeId?: string
  pieces: Piece[]
  room: string
  /** Set where a room of another site has the same name. */
  site?: string
}

/** All rooms of the list, and what is planned elsewhere by what was written for its room, and by recorder. */
export function rowsOf(items: readonly CalendarItem[], zone: Zone, day: number, rooms: readonly Place[]): Row[] {
  const known = new Map(rooms.map((room) => [room.id, room]))
  const groups = Map.groupBy(items, ({ nodeId = '', room, roomId }) => roomId ?? JSON.stringify([room, nodeId]))
  for (const { id } of rooms) if (!groups.has(id)) groups.set(id, [])
  const rows = [...groups].map(([key, own]) => {
    const place = known.get(key)
    return { key, nodeId: own[0]?.nodeId, own, room: place?.name ?? own[0]?.room ?? '', site: place?.site }
  })
  const named = Map.groupBy(rows, ({ room }) => room)
  return rows
    .map(({ key, nodeId, own, room, site }) => {
      const twins = (named.get(room)?.length ?? 0) > 1
      const apart = site !== undefined ? { site } : nodeId !== undefined ? { nodeId } : {}
      return { key, pieces: layOut(own, zone, day, 1), room, ...(twins ? apart : {}) }
    })
    .filter(({ key, pieces }) => pieces.length > 0 || known.has(key))
    .sort((a, b) => a.room.localeCompare(b.room))
}

/** Cards of the days from `first` on: one for each day an occurrence touches, side by side where they overlap. */
export function layOut(items: readonly CalendarItem[], zone: Zone, first: number, count: number): Piece[] {
  const pieces = items.flatMap((item) => piecesOf(item, zone))
  return Array.from({ length: count }, (_, i) => first + i).flatMap((day) =>
    inLanes(pieces.filter((piece) => piece.day === day)),
  )
}

function piecesOf(item: CalendarItem, zone: Zone): Piece[] {
  const start = Date.parse(item.recordingStartAt)
  const end = item.recordingEndAt === undefined ? start + OPEN_ENDED_MS : Date.parse(item.recordingEndAt)
  const from = wallOf(start, zone)
  const to = wallOf(Math.max(start, end - 1), zone)
  return Array.from({ length: Math.max(1, to.day - from.day + 1) }, (_, i) => {
    const day = from.day + i
    const begin = i === 0 ? from.minute : 0
    // Across a change of the clock the end may show an earlier time than the start.
    const until = day === to.day ? Math.max(to.minute + 1, begin + 1) : DAY_MINUTES
    return { day, end: until, item, lane: 0, lanes: 1, start: begin }
  })
}

/** Overlapping cards share the width: each takes the first lane that is free. */
function inLanes(pieces: readonly Piece[]): Piece[] {
  const sorted = pieces.toSorted((a, b) => a.start - b.start || b.end - a.end)
  const groups: Piece[][] = []
  let until = -1
  for (const piece of sorted) {
    if (piece.start >= until) groups.push([])
    groups.at(-1)?.push(piece)
    until = Math.max(until, shownEnd(piece))
  }
  return groups.flatMap((group) => {
    const ends: number[] = []
    const placed = group.map((piece) => {
      const free = ends.findIndex((end) => end <= piece.start)
      const lane = free < 0 ? ends.length : free
      ends[lane] = shownEnd(piece)
      return { ...piece, lane }
    })
    return placed.map((piece) => ({ ...piece, lanes: ends.length }))
  })
}

const shownEnd = ({ end, start }: Piece): number => Math.max(end, start + LEAST_MINUTES)

/** The minutes a day leaves out (clocks go forward) or shows twice (they go back); undefined on other days. */
export function changeOf(day: number, zone: Zone): { doubled: boolean; end: number; start: number } | undefined {
  // Where clocks change at midnight, the day's first instant is the one after the change.
  let [low, high] = [zone.at(day, 0) - MINUTE_MS, zone.at(day + 1, 0)]
  const [before, after] = [zone.offset(low), zone.offset(high)]
  if (before === after) return undefined
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / MINUTE_MS / 2) * MINUTE_MS
    if (zone.offset(middle) === before) low = middle
    else high = middle
  }
  const step = (after - before) / MINUTE_MS
  const turn = (high + after - day * DAY_MS) / MINUTE_MS
  const start = Math.max(0, step > 0 ? turn - step : turn)
  const end = Math.min(DAY_MINUTES, step > 0 ? turn : turn - step)
  return start < end ? { doubled: step < 0, end, start } : undefined
}

/** `UTC+02:00` of an instant that clocks show twice that day; nothing of another. */
export function offsetOf(at: string, zone: Zone): string {
  const ms = Date.parse(at)
  const { day, minute } = wallOf(ms, zone)
  const change = changeOf(day, zone)
  if (!change?.doubled || minute < change.start || minute >= change.end) return ''
  const minutes = Math.round(zone.offset(ms) / MINUTE_MS)
  const two = (n: number): string => String(Math.floor(n)).padStart(2, '0')
  return `UTC${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`
}

/** Steps in which cards are moved, minutes. */
export const STEP = 5

/** A place on the grid, moved and kept on a day. */
export function moved(at: { day: number; minute: number }, days: number, minutes: number): typeof at {
  const minute = Math.round((at.minute + minutes) / STEP) * STEP
  return { day: at.day + days, minute: Math.min(DAY_MINUTES - STEP, Math.max(0, minute)) }
}

/** Kept between the first and the last day that are shown. */
export const within = (at: { day: number; minute: number }, first: number, count: number): typeof at => ({
  ...at,
  day: Math.min(first + count - 1, Math.max(first, at.day)),
})

/** The instant at which a card lands; put where it was it keeps its own, which may be the second of a doubled hour. */
export function landing({ recordingStartAt }: CalendarItem, to: { day: number; minute: number }, zone: Zone): string {
  const from = wallOf(Date.parse(recordingStartAt), zone)
  const stays = from.day === to.day && from.minute === to.minute
  return stays ? recordingStartAt : new Date(zone.at(to.day, to.minute)).toISOString()
}

/** The end of an occurrence that begins at another instant. */
export function endAfter({ recordingEndAt, recordingStartAt }: CalendarItem, start: string): string {
  const length =
    recordingEndAt === undefined ? OPEN_ENDED_MS : Date.parse(recordingEndAt) - Date.parse(recordingStartAt)
  return new Date(Date.parse(start) + length).toISOString()
}
