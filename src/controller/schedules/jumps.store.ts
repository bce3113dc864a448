import { iso } from '../../kernel/clock.ts'
import type { Db, Params } from '../store/db.ts'
import { type Pending, pendingOf, pendingSlot, type Stored } from './planning.rules.ts'
import { currentSlot, isExcepted, nextSlot, type Slot } from './recurrence.rules.ts'
import type { ScheduleStore } from './schedules.store.ts'

interface Jump {
  /** Later (or, below zero, earlier) by so many ms. */
  by: number
  /** What the clock says now. */
  now: string
}

// No slot is longer.
const LONGEST_MS = 8 * 86_400_000

/**
 * What a jump of the wall clock means for schedules. Dates stay where they are: what was jumped over is missed or late, as
 * after an outage. What counts from a moment moves along: another try, and the next take of a room that is always recorded.
 */
export function scheduleJumps(db: Db, schedules: Pick<ScheduleStore, 'find' | 'planOf'>) {
  const counting = db.stmt<object, { id: string }>(
    `SELECT s.id FROM schedules s WHERE s.enabled = 1 AND s.next_run_at IS NOT NULL
       AND (json_extract(s.recurrence, '$.mode') = 'always_on' OR unixepoch(s.next_run_at)
         > unixepoch(s.slot_at) - coalesce(json_extract(s.recurrence, '$.startEarlySeconds'), 0))`,
  )
  // Given up in a time that is still to come.
  const early = db.stmt<{ now: string; since: string }, { id: string }>(
    `SELECT s.id FROM schedules s WHERE EXISTS (SELECT 1 FROM schedule_runs x WHERE x.schedule_id = s.id
       AND x.occurrence_at > @since AND x.outcome = 'missed' AND x.ends_at > @now)`,
  )
  const forget = db.stmt<{ id: string; now: string; since: string }>(
    `DELETE FROM schedule_runs WHERE schedule_id = @id AND occurrence_at > @since AND outcome = 'missed' AND ends_at > @now`,
  )
  const ran = db.stmt<{ at: string; id: string }, { n: number }>(
    `SELECT 1 AS n FROM schedule_runs WHERE schedule_id = @id AND occurrence_at = @at`,
  )
  const wait = db.stmt<Params>(
    `UPDATE schedules SET enabled = 1, next_run_at = @nextRunAt, slot_at = @slotAt, slot_date = @slotDate WHERE id = @id`,
  )

  const put = (id: string, pending: Pending): void => void wait.run({ id, ...pending })

  /** What a schedule waits for whose time counts from a moment; undefined: it waits for what it did. */
  const carried = (schedule: Stored, { by, now }: Jump): Pending | undefined => {
    const { nextRunAt, recurrence } = schedule
    const slot = pendingSlot(schedule)
    if (!slot || nextRunAt === undefined) return undefined
    const at = Date.parse(nextRunAt) + by
    if (recurrence.mode !== 'always_on') return { ...pendingOf(slot), nextRunAt: iso(Math.max(at, slot.startAt)) }
    const { zone } = schedules.planOf(schedule)
    // The end of a pause is a date.
    if (isExcepted(recurrence, slot.day - 1) && slot.scheduledAt === zone.at(slot.day, 0)) return undefined
    const begins = Math.max(slot.scheduledAt + by, Date.parse(now))
    const next = { ...slot, day: zone.dayOf(begins), scheduledAt: begins, startAt: begins }
    return { ...pendingOf(next), nextRunAt: iso(Math.max(at, begins)) }
  }

  const restore = (schedule: Stored, now: string, since: string): void => {
    forget.run({ id: schedule.id, now, since })
    const plan = schedules.planOf(schedule)
    const open = currentSlot(plan, Date.parse(now))
    const free = (slot: Slot) => ran.get({ at: iso(slot.scheduledAt), id: schedule.id }) === undefined
    const next = open && free(open) ? open : nextSlot(plan, Date.parse(now))
    const waits = schedule.enabled ? schedule.nextRunAt : undefined
    if (next && (waits === undefined || iso(next.startAt) < waits)) put(schedule.id, pendingOf(next))
  }

  return {
    /** Gives how many schedules wait for something else now. In a transaction. */
    move(jump: Jump): number {
      const counted = counting.all({})
      for (const { id } of counted) {
        const pending = carried(schedules.find(id) as Stored, jump)
        if (pending) put(id, pending)
      }
      if (jump.by > 0) return counted.length
      const since = iso(Math.max(Date.parse(jump.now) - LONGEST_MS, 0))
      const again = early.all({ now: jump.now, since })
      for (const { id } of again) restore(schedules.find(id) as Stored, jump.now, since)
      return counted.length + again.length
    },
  }
}
export type ScheduleJumps = ReturnType<typeof scheduleJumps>
