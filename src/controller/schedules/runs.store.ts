import { isoPlus } from '../../kernel/clock.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { Db, Params } from '../store/db.ts'
import type { Pending } from './planning.rules.ts'

type RunOutcome = 'started' | 'skipped' | 'missed'

interface Run {
  endsAt: string | undefined
  occurrenceAt: string
  outcome: RunOutcome
  recordingId: string | undefined
  scheduleId: string
}

const BUSY = 'schedule.capture_channels_busy'
const CROSS_ROOM = 'schedule.capture_channels_cross_room'
const IMPOSSIBLE = 'schedule.capture_impossible'
const NO_DEVICE = 'schedule.no_capture_device'
export const ALARMS = { busy: BUSY, crossRoom: CROSS_ROOM, impossible: IMPOSSIBLE, noDevice: NO_DEVICE } as const
type AlarmType = (typeof ALARMS)[keyof typeof ALARMS]
const TYPES = Object.values(ALARMS).map((type) => `'${type}'`)

// Longer than any slot that can still be due; older history is in the recordings.
const KEPT_SECONDS = 400 * 86_400

/** What is due, as far as it can be told of a schedule that cannot be read. */
export interface DueRow {
  id: string
  name: string
  nextRunAt: string
  nodeId: string | null
}

/** The runner's queries and updates. */
export function runStore(db: Db) {
  const due = db.stmt<{ now: string; limit: number }, DueRow>(
    `SELECT id, name, node_id AS nodeId, next_run_at AS nextRunAt FROM schedules
      WHERE enabled = 1 AND next_run_at IS NOT NULL AND next_run_at <= @now ORDER BY next_run_at LIMIT @limit`,
  )
  const first = db.stmt<object, { at: string }>(
    `SELECT next_run_at AS at FROM schedules WHERE enabled = 1 AND next_run_at IS NOT NULL ORDER BY next_run_at LIMIT 1`,
  )
  const record = db.stmt<Params>(
    `INSERT INTO schedule_runs (schedule_id, occurrence_at, outcome, recording_id, ends_at, created_at)
     VALUES (@scheduleId, @occurrenceAt, @outcome, @recordingId, @endsAt, @now) ON CONFLICT DO NOTHING`,
  )
  const name = db.stmt<{ scheduleId: string; occurrenceAt: string; recordingId: string }>(
    `UPDATE schedule_runs SET recording_id = @recordingId WHERE schedule_id = @scheduleId AND occurrence_at = @occurrenceAt`,
  )
  const prune = db.stmt<{ scheduleId: string; before: string }>(
    `DELETE FROM schedule_runs WHERE schedule_id = @scheduleId AND occurrence_at < @before`,
  )
  const move = db.stmt<Params>(
    `UPDATE schedules SET enabled = @enabled, next_run_at = @nextRunAt, slot_at = @slotAt, slot_date = @slotDate, updated_at = @now
      WHERE id = @id AND next_run_at = @seen`,
  )
  const retry = db.stmt<{ id: string; seen: string } & Record<keyof Pending, string>>(
    `UPDATE schedules SET next_run_at = @nextRunAt, slot_at = @slotAt, slot_date = @slotDate
      WHERE id = @id AND next_run_at = @seen`,
  )
  const postpone = db.stmt<{ id: string; seen: string; until: string }>(
    `UPDATE schedules SET next_run_at = @until WHERE id = @id AND next_run_at = @seen`,
  )
  const retryNow = db.stmt<{ nodeId: string; now: string }>(
    `UPDATE schedules SET next_run_at = @now WHERE node_id = @nodeId AND enabled = 1 AND next_run_at > @now AND slot_at IS NOT NULL
        AND id IN (SELECT schedule_id FROM health_events WHERE type = '${NO_DEVICE}' AND +status <> 'resolved')`,
  )
  return {
    /** The node has a capture device again: schedules that waited for one are due now; false when none did. */
    retryNow: (nodeId: string, now: string): boolean => retryNow.run({ nodeId, now }) > 0,
    /** Due schedules, the longest waiting first. */
    due: (now: string, limit: number) => due.all({ now, limit }),
    /** When the next one is due. */
    firstDue: (): string | undefined => first.get({})?.at,
    /** Claims an occurrence. False when it was claimed before: it must not run again. */
    record({ endsAt = null, recordingId = null, ...run }: { [K in keyof Run]: Run[K] | null }, now: string): boolean {
      return record.run({ ...run, endsAt, recordingId, now }) === 1
    },
    /** Deletes old runs of a schedule; only while the clock is trusted, because an occurrence without its run may run again. */
    prune: (scheduleId: string, now: string): void =>
      void prune.run({ scheduleId, before: isoPlus(now, -KEPT_SECONDS) }),
    /** The recording an occurrence became. */
    name: (scheduleId: string, occurrenceAt: string, recordingId: string): void =>
      void name.run({ scheduleId, occurrenceAt, recordingId }),
    /** Sets what the schedule waits for next, if it still waits for `seen`. */
    advance: (id: string, seen: string, enabled: boolean, next: Pending | undefined, now: string): boolean =>
      move.run({
        id,
        seen,
        enabled: Number(enabled),
        nextRunAt: next?.nextRunAt ?? null,
        slotAt: next?.slotAt ?? null,
        slotDate: next?.slotDate ?? null,
        now,
      }) === 1,
    /** Tries an occurrence again later. */
    retry: (id: string, seen: string, later: Pending): void => void retry.run({ id, seen, ...later }),
    /** Looks at it again later; the occurrence it waits for stays. */
    postpone: (id: string, seen: string, until: string): void => void postpone.run({ id, seen, until }),
  }
}
export type RunStore = ReturnType<typeof runStore>

/** Health events of schedules: at most one unresolved per schedule and type. */
export function alarmStore(db: Db, health: HealthApi['health']) {
  const unresolved = db.stmt<{ scheduleId: string }, { id: string; type: string }>(
    `SELECT id, type FROM health_events WHERE schedule_id = @scheduleId AND status <> 'resolved' AND +type IN (${TYPES.join()})`,
  )
  return {
    raise(
      type: AlarmType,
      scheduleId: string,
      nodeId: string | undefined,
      details: Record<string, unknown>,
      now: string,
    ): void {
      if (unresolved.all({ scheduleId }).some((event) => event.type === type)) return
      // Busy channels may become free; without a device or a possible capture the recording is lost unless somebody acts.
      const severity = type === IMPOSSIBLE || type === NO_DEVICE ? 'critical' : 'warning'
      health.open({ type, severity, scheduleId, nodeId, details, openedAt: now }, now)
    },
    /** The schedule has run, or waits for something else: resolves its health events. */
    settle(scheduleId: string, reason: string, now: string): void {
      const ids = unresolved.all({ scheduleId }).map(({ id }) => id)
      health.autoResolve(ids, { by: 'system:scheduler', reason }, now)
    },
  }
}
export type AlarmStore = ReturnType<typeof alarmStore>
