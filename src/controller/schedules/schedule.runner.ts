import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, iso, isoPlus } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import { dateOf } from '../../kernel/zones.ts'
import type { Events } from '../events.ts'
import type { FleetApi } from '../fleet/api.ts'
import type { Audit, AuditEntry } from '../http/audit.ts'
import { systemActor } from '../http/principal.ts'
import { isCaptureFault } from '../recordings/library/capturevalidation.rules.ts'
import type { Runner } from '../scheduler/ticker.ts'
import type { Db } from '../store/db.ts'
import { assignmentEnder } from './assigning.ts'
import { dueSlots, pendingOf, pendingSlot, type Stored, slotAfter } from './planning.rules.ts'
import { isExcepted, nextSlot, type Plan, type Slot } from './recurrence.rules.ts'
import { ALARMS, type AlarmStore, type DueRow, type RunStore } from './runs.store.ts'
import type { ScheduleStore } from './schedules.store.ts'
import type { TakeMaker } from './takes.ts'

interface Parts {
  alarms: AlarmStore
  audit: Audit
  /** Maximum of schedules per pass; the next pass follows at once and handles the rest. */
  batchSize: number
  clock: Clock
  db: Db
  events: Events
  enabled: boolean
  intervalSeconds: number
  log: Log
  retrySeconds: number
  rosters: FleetApi['rosters']
  runs: RunStore
  schedules: ScheduleStore
  take: TakeMaker
  /** Whether the clock can be relied on for the age of a run. */
  trusted: () => boolean
}

type Outcome = 'deferred' | 'failed' | 'missed' | 'skipped' | 'started' | 'stale'

/**
 * Starts what is due (docs/contract/scheduling.md: Runner). Each schedule is one transaction: its take, its run, its next
 * date, its audit.
 */
export function scheduleRunner(parts: Parts): Runner {
  const { batchSize, clock, db, enabled, intervalSeconds, runs, trusted } = parts
  const record = runAudit(parts)
  const step = dueStep(parts, record)
  const endAssignments = assignmentEnder(parts)
  const oneOf = (row: DueRow, now: string): Outcome => {
    try {
      return db.tx(() => {
        if (trusted()) runs.prune(row.id, now)
        return step(row.id, row.nextRunAt, iso(clock.now()))
      })
    } catch (e) {
      if (isOutage(e)) throw e
      return db.tx(() => unreadable(parts, record, row, e, iso(clock.now())))
    }
  }
  return {
    name: 'schedule',
    enabled,
    intervalSeconds,
    due: runs.firstDue,
    async tick(now) {
      const counts: Partial<Record<Outcome, number>> = {}
      for (const row of runs.due(now, batchSize)) {
        const outcome = oneOf(row, now)
        counts[outcome] = (counts[outcome] ?? 0) + 1
        // A hundred schedules at nine o'clock must not block the event loop.
        await nextTurn()
      }
      await endAssignments(now)
      return counts
    },
  }
}

/** One due schedule, inside a transaction of its own. */
function dueStep(parts: Parts, record: RunAudit) {
  const { alarms, runs, schedules } = parts
  const advance: Advance = (s, seen, after, plan, now, takenUntil) => {
    const next = slotAfter(plan, after, Date.parse(now), takenUntil)
    const enabled = s.enabled && s.recurrence.mode !== 'once'
    runs.advance(s.id, seen, enabled, next && pendingOf(next), now)
  }
  const note = (s: Stored, slot: Slot, outcome: 'missed' | 'skipped', now: string): boolean =>
    runs.record({ ...runOf(s, slot), outcome, recordingId: null }, now)

  return (id: string, seen: string, now: string): Outcome => {
    const schedule = schedules.find(id)
    // Edited, skipped or run since it was listed.
    if (!schedule?.enabled || schedule.nextRunAt !== seen) return 'stale'
    const plan = schedules.planOf(schedule)
    const pending = pendingSlot(schedule) ?? nextSlot(plan, Date.parse(seen) - 1)
    if (!pending || pending.startAt > Date.parse(now)) {
      // A row with a due time but no occurrence (written from outside): it waits for the occurrence of its rule.
      runs.advance(id, seen, true, pending && pendingOf(pending), now)
      return 'stale'
    }
    if (isExcepted(schedule.recurrence, pending.day)) {
      note(schedule, pending, 'skipped', now)
      advance(schedule, seen, pending, plan, now)
      alarms.settle(id, 'occurrence_skipped', now)
      record.skipped(schedule, pending, now)
      return 'skipped'
    }
    const { missed, run } = dueSlots(plan, pending, Date.parse(now))
    const fresh = missed.filter((slot) => note(schedule, slot, 'missed', now))
    if (fresh.length > 0) record.missed(schedule, fresh, now)
    if (missed.length > 0) alarms.settle(id, 'slot_ended', now)
    if (!run) {
      advance(schedule, seen, missed.at(-1) ?? pending, plan, now)
      return 'missed'
    }
    return started(parts, record, { advance, plan, run, schedule, seen }, now)
  }
}

type Advance = (s: Stored, seen: string, after: Slot, plan: Plan, now: string, takenUntil?: number) => void

interface Start {
  advance: Advance
  plan: Plan
  run: Slot
  schedule: Stored
  seen: string
}

const runOf = (s: Stored, slot: Slot) => ({
  endsAt: slot.endAt === undefined ? null : iso(slot.endAt),
  occurrenceAt: iso(slot.scheduledAt),
  scheduleId: s.id,
})

/** The rest of the slot, in whole seconds; undefined when it is open-ended. */
const restOf = ({ endAt }: Slot, now: string): number | undefined =>
  endAt === undefined ? undefined : Math.max(1, Math.ceil((endAt - Date.parse(now)) / 1000))

function started(parts: Parts, record: RunAudit, start: Start, now: string): Outcome {
  const { alarms, db, events, runs, take } = parts
  const { advance, plan, run, schedule, seen } = start
  const claimed = { ...runOf(schedule, run), outcome: 'started', recordingId: null } as const
  try {
    const made = db.tx(() => {
      // The row's primary key ensures that an occurrence runs only once.
      if (!runs.record(claimed, now)) return undefined
      const begun = take(schedule, { startAt: run.scheduledAt, seconds: restOf(run, now) }, now)
      runs.name(schedule.id, claimed.occurrenceAt, begun.recording.id)
      events.emit('schedule.materialized', { recordingId: begun.recording.id, scheduleId: schedule.id })
      return begun
    })
    const seconds = made?.job.command.durationSeconds
    advance(schedule, seen, run, plan, now, seconds && Date.parse(now) + seconds * 1000)
    if (!made) return 'stale'
    alarms.settle(schedule.id, 'occurrence_started', now)
    record.succeeded(schedule, run, made, now)
    return 'started'
  } catch (e) {
    if (isOutage(e)) throw e
    return postponed(parts, record, start, e, now)
  }
}

/** The database is unavailable: nothing can be written, so the pass fails as a whole. */
const isOutage = (e: unknown): boolean => e instanceof Fail && e.status === 503

/**
 * What it waits for cannot be worked out, for example because its time zone is no longer known: it is set back, so that it does
 * not keep the others waiting, and looked at again later.
 */
function unreadable(parts: Parts, record: RunAudit, row: DueRow, e: unknown, now: string): Outcome {
  const { alarms, log, retrySeconds, runs } = parts
  const { id, nextRunAt, nodeId } = row
  log.error('a schedule could not be evaluated and will be retried: check its time zone and recurrence', {
    scheduleId: id,
    ...errorFields(e),
  })
  const retryAt = isoPlus(now, retrySeconds)
  runs.postpone(id, nextRunAt, retryAt)
  const details = { message: faultWords(e), reason: 'internal_error', retryAt }
  alarms.raise(ALARMS.impossible, id, nodeId ?? undefined, details, now)
  record.postponed(row, 'failed', 'internal_error', details, now)
  return 'failed'
}

const DEFERRED: Record<string, (typeof ALARMS)[keyof typeof ALARMS]> = {
  capture_channels_busy: ALARMS.busy,
  node_capture_capacity_reached: ALARMS.busy,
  channel_selection_cross_room: ALARMS.crossRoom,
  no_capture_device: ALARMS.noDevice,
  schedule_room_changed: ALARMS.crossRoom,
}

/** It could not start: it is retried, but not beyond the end of its slot. */
function postponed(parts: Parts, record: RunAudit, { run, schedule, seen }: Start, e: unknown, now: string): Outcome {
  const { alarms, log, retrySeconds, runs } = parts
  const reason = e instanceof Fail ? e.reason : 'internal_error'
  if (!(e instanceof Fail))
    log.error(
      'internal error: a scheduled recording could not be started and will be tried again. Please report this',
      { scheduleId: schedule.id, ...errorFields(e) },
    )
  const at = Date.parse(now)
  const free = e instanceof Fail ? Date.parse(String(e.extra.details?.conflictEndsAt)) : Number.NaN
  const again = at + retrySeconds * 1000
  // Retry early when the conflicting take ends early, one second later so that the device is free.
  const sooner = free + 1000 > at ? Math.min(again, free + 1000) : again
  const retryAt = iso(Math.min(sooner, run.endAt ?? sooner))
  runs.retry(schedule.id, seen, { ...pendingOf(run), nextRunAt: retryAt })
  const why = e instanceof Fail ? { ...e.extra.body, ...(isCaptureFault(reason) ? { message: e.message } : {}) } : {}
  const details = { ...why, occurrenceAt: iso(run.scheduledAt), reason, retryAt }
  const waits = DEFERRED[reason]
  const alarm = waits ?? (isCaptureFault(reason) ? ALARMS.impossible : undefined)
  if (alarm) alarms.raise(alarm, schedule.id, schedule.nodeId, details, now)
  record.postponed(schedule, waits ? 'deferred' : 'failed', reason, details, now)
  return waits ? 'deferred' : 'failed'
}

/** Writes the audit rows of the runner. */
function runAudit({ audit }: Parts) {
  const write = (
    s: Pick<Stored, 'id' | 'name'>,
    name: string,
    entry: Pick<AuditEntry, 'outcome'> & Partial<AuditEntry>,
    now: string,
  ): void => {
    const target = { type: 'schedule', id: s.id, name: s.name }
    const actor = systemActor('scheduler')
    audit.write({ action: `schedules.due_run.${name}`, actor, permission: 'schedule:manage', target, ...entry }, now)
  }
  const occurrence = (slot: Slot) => ({ occurrenceAt: iso(slot.scheduledAt), occurrenceDate: dateOf(slot.day) })
  return {
    skipped: (s: Stored, slot: Slot, now: string): void =>
      write(
        s,
        'skipped',
        { outcome: 'succeeded', reason: 'schedule_occurrence_skipped', details: occurrence(slot) },
        now,
      ),
    missed(s: Stored, slots: Slot[], now: string): void {
      const details = { ...occurrence(slots[0] as Slot), missedCount: slots.length }
      write(s, 'failed', { outcome: 'failed', reason: 'schedule_occurrence_missed', details }, now)
    },
    succeeded(s: Stored, slot: Slot, { job, recording }: ReturnType<TakeMaker>, now: string): void {
      const lateSeconds = Math.floor((Date.parse(now) - slot.startAt) / 1000)
      const correlation = { jobId: job.id, recordingId: recording.id, scheduleId: s.id }
      const details = { ...occurrence(slot), durationSeconds: job.command.durationSeconds, lateSeconds }
      write(s, 'succeeded', { outcome: 'succeeded', after: recording, correlation, details }, now)
    },
    postponed(
      s: Pick<Stored, 'id' | 'name'>,
      name: 'deferred' | 'failed',
      reason: string,
      details: Record<string, unknown>,
      now: string,
    ): void {
      write(s, name, { outcome: name === 'failed' ? 'failed' : 'partial', reason, details }, now)
    },
  }
}
type RunAudit = ReturnType<typeof runAudit>
