import type { Zone } from '../../kernel/zones.ts'
import type { Recurrence } from '../../wire/schedules.ts'
import type { Db } from '../store/db.ts'
import { planOf } from './planning.rules.ts'
import type { Plan } from './recurrence.rules.ts'

/** A schedule and the stamp it has now (0030_lists.sql). */
export type Stamped = readonly [id: string, stamp: number]

/** What the calendar needs of a schedule: its rule is read and prepared once. */
export interface Planned {
  createdAt: number
  id: string
  mode: Recurrence['mode']
  name: string
  nodeId: string | null
  plan: Plan
  room: string
  roomId: string | null
  stamp: number
  timezone: string
}

type Row = Omit<Planned, 'createdAt' | 'mode' | 'plan'> & { anchorDate: string; createdAt: string; recurrence: string }

// Kept in memory: a kilobyte each. Rules with long lists of exceptions are read again each time.
const KEPT = 8000
const KEPT_LENGTH = 1000
/** Schedules read by one statement. */
const SLICE = 250

/** Schedules prepared for the calendar. */
export function calendarStore(db: Db, zones: (name: string) => Zone) {
  const kept = new Map<string, Planned>()
  const read = db.stmt<{ ids: string }, Row>(
    `SELECT s.id, s.name, s.node_id AS nodeId, s.room, s.room_id AS roomId, s.timezone, s.recurrence, s.anchor_date AS anchorDate,
       s.created_at AS createdAt, s.stamp
     FROM json_each(@ids) wanted CROSS JOIN schedules s ON s.id = wanted.value`,
  )
  const prepared = ({ anchorDate, createdAt, recurrence: text, ...row }: Row, wanted: ReadonlySet<string>): Planned => {
    const recurrence = JSON.parse(text) as Recurrence
    const plan = planOf({ anchorDate, recurrence, timezone: row.timezone }, zones)
    const planned = { ...row, createdAt: Date.parse(createdAt), mode: recurrence.mode, plan }
    if (text.length <= KEPT_LENGTH) keep(planned, wanted)
    return planned
  }
  /** In the order of their last use. */
  const keep = (planned: Planned, wanted: ReadonlySet<string>): void => {
    const oldest = kept.keys().next().value as string
    const isFull = kept.size >= KEPT && !kept.has(planned.id)
    // More than there is room for at once: what is kept of them stays, or the next answer would find none.
    if (isFull && wanted.has(oldest)) return
    if (isFull) kept.delete(oldest)
    kept.delete(planned.id)
    kept.set(planned.id, planned)
  }
  return {
    /** These schedules, slice by slice; one that has gone meanwhile is left out. */
    *planned(stamped: readonly Stamped[]): Generator<Planned[]> {
      const wanted = new Set(stamped.map(([id]) => id))
      const known: Planned[] = []
      const unknown: string[] = []
      for (const [id, stamp] of stamped) {
        const one = kept.get(id)
        if (one?.stamp === stamp) known.push(one)
        else unknown.push(id)
      }
      for (const one of known) keep(one, wanted)
      yield known
      for (let at = 0; at < unknown.length; at += SLICE)
        yield read.all({ ids: JSON.stringify(unknown.slice(at, at + SLICE)) }).map((row) => prepared(row, wanted))
    },
  }
}
export type CalendarStore = ReturnType<typeof calendarStore>
