import { iso } from '../../kernel/clock.ts'
import type { Jump } from '../scheduler/steady.ts'
import type { Db, Params } from '../store/db.ts'
import { type Pending, pendingOf, pendingSlot, type Stored } from './planning.rules.ts'
import { currentSlot, isExcepted, type Slot, slotsAfter } from './recurrence.rules.ts'
import type { ScheduleStore } from './schedules.store.ts'

// No slot is longer.
const LONGEST_MS = 8 * 86_400_000
// Maximum of dates examined per schedule.
const MAX_SLOTS = 100
const FOREVER = '9999-12-31T23:59:59.999Z'
// Schedules restored per transaction.
const SLICE = 20

/**
 * Adjusts schedules to a jump of the wall clock. Dates stay: occurrences that were jumped over are missed or late, as after an
 * outage. Times relative to another moment move along: retries, and the next take of a room that is always recorded.
 */
export function scheduleJumps(db: Db, schedules: Pick<ScheduleStore, 'find' | 'planOf'>) {
  const counting = db.stmt<object, { id: string }>(
    `SELECT s.id FROM schedules s WHERE s.enabled = 1 AND s.next_run_at IS NOT NULL
       AND (json_extract(s.recurrence, '$.mode') = 'always_on' OR unixepoch(s.next_run_at)
         > unixepoch(s.slot_at) - coalesce(json_extract(s.recurrence, '$.startEarlySeconds'), 0))`,
  )
  // Their dates were recorded as missed while the clock was ahead, and are still to come. That disabled a schedule that runs
  // once; any other disabled schedule was disabled by a person, and stays so.
  const missedAhead = db.stmt<{ now: string; since: string }, { id: string }>(
    `SELECT s.id FROM schedules s WHERE (s.enabled = 1 OR json_extract(s.recurrence, '$.mode') = 'once')
       AND EXISTS (SELECT 1 FROM schedule_runs x WHERE x.schedule_id = s.id AND x.occurrence_at > @since AND x.outcome = 'missed' AND x.ends_at > @now)`,
  )
  const forget = db.stmt<{ id: string; now: string; since: string }>(
    `DELETE FROM schedule_runs WHERE schedule_id = @id AND occurrence_at > @since AND outcome = 'missed' AND ends_at > @now`,
  )
  // Schedules that wait for dates after the old time: the clock may have skipped earlier dates, which now come again.
  const beyond = db.stmt<{ before: string }, { id: string }>(
    `SELECT s.id FROM schedules s WHERE s.enabled = 1 AND s.next_run_at > @before
       AND json_extract(s.recurrence, '$.mode') <> 'always_on'`,
  )
  const ran = db.stmt<{ at: string; id: string }, { n: number }>(
    `SELECT 1 AS n FROM schedule_runs WHERE schedule_id = @id AND occurrence_at = @at`,
  )
  const wait = db.stmt<Params>(
    `UPDATE schedules SET enabled = 1, next_run_at = @nextRunAt, slot_at = @slotAt, slot_date = @slotDate WHERE id = @id`,
  )

  const put = (id: string, pending: Pending): void => void wait.run({ id, ...pending })

  /** The moved occurrence of a schedule whose time is relative to another moment; undefined when it stays. */
  const carried = (schedule: Stored, { by, now }: Jump): Pending | undefined => {
    const { nextRunAt, recurrence } = schedule
    const slot = pendingSlot(schedule)
    if (!slot || nextRunAt === undefined) return undefined
    const at = Date.parse(nextRunAt) + by
    if (recurrence.mode !== 'always_on') return { ...pendingOf(slot), nextRunAt: iso(Math.max(at, slot.startAt)) }
    const { zone } = schedules.planOf(schedule)
    // The end of a pause is a date, so it stays.
    if (isExcepted(recurrence, slot.day - 1) && slot.scheduledAt === zone.at(slot.day, 0)) return undefined
    const begins = Math.max(slot.scheduledAt + by, Date.parse(now))
    const next = { ...slot, day: zone.dayOf(begins), scheduledAt: begins, startAt: begins }
    return { ...pendingOf(next), nextRunAt: iso(Math.max(at, begins)) }
  }

  /** The first slot from now on, the open one included, that was not run yet; undefined when none is before `until`. */
  const firstFree = (schedule: Stored, now: string, until: string): Slot | undefined => {
    const plan = schedules.planOf(schedule)
    const open = currentSlot(plan, Date.parse(now))
    for (const slot of [...(open ? [open] : []), ...slotsAfter(plan, Date.parse(now)).take(MAX_SLOTS)]) {
      if (iso(slot.startAt) >= until) return undefined
      if (!ran.get({ at: iso(slot.scheduledAt), id: schedule.id })) return slot
    }
    return undefined
  }

  /** Makes a schedule wait for an occurrence that comes again, if that is earlier than the one it waits for. */
  const restore = (id: string, now: string): void => {
    const schedule = schedules.find(id)
    if (!schedule) return
    const waits = schedule.enabled ? schedule.nextRunAt : undefined
    const next = firstFree(schedule, now, waits ?? FOREVER)
    if (next) put(id, pendingOf(next))
  }

  return {
    /** Returns how many schedules changed; call it in a transaction. */
    name: 'schedules',
    move(jump: Jump): number {
      const counted = counting.all({})
      for (const { id } of counted) {
        const pending = carried(schedules.find(id) as Stored, jump)
        if (pending) put(id, pending)
      }
      if (jump.by > 0) return counted.length
      const since = iso(Math.max(Date.parse(jump.now) - LONGEST_MS, 0))
      const again = missedAhead.all({ now: jump.now, since })
      for (const { id } of again) {
        forget.run({ id, now: jump.now, since })
        restore(id, jump.now)
      }
      return counted.length + again.length
    },
    /** After the clock went back: the rest of the work in steps, each to be run in a transaction of its own. */
    *moveRest({ before, by, now }: Jump): Generator<() => void> {
      const ids = by < 0 ? beyond.all({ before }).map(({ id }) => id) : []
      for (let from = 0; from < ids.length; from += SLICE)
        yield () => {
          for (const id of ids.slice(from, from + SLICE)) restore(id, now)
        }
    },
  }
}
