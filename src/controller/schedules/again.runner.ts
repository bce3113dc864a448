import { type Clock, iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import type { Log } from '../../kernel/log.ts'
import type { Job } from '../../wire/recordings.ts'
import type { Audit } from '../http/audit.ts'
import { systemActor } from '../http/principal.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import { singleRetryFault } from '../recordings/jobs/jobs.rules.ts'
import type { Runner } from '../scheduler/ticker.ts'
import type { Db } from '../store/db.ts'
import { type AgainStore, againAt, LEAST_LEFT_SECONDS, type Unbegun } from './again.store.ts'
import { asksForTheSame, plannedEnd } from './planning.rules.ts'
import type { ScheduleStore } from './schedules.store.ts'

interface Parts extends Pick<RecordingsApi, 'jobs' | 'retry'> {
  audit: Audit
  clock: Clock
  db: Db
  enabled: boolean
  health: HealthApi['health']
  intervalSeconds: number
  log: Log
  /** The longest pause between two attempts. */
  retrySeconds: number
  schedules: Pick<ScheduleStore, 'find' | 'planOf'>
  slots: AgainStore
}

export const AGAIN = 'schedule-again'

/**
 * Begins takes again whose recorder could not begin them, for want of room on its disk or without its device, as long as their
 * slot lasts (docs/contract/scheduling.md: Runner). Each is one transaction: its job, its alert, its audit.
 */
export function againRunner(parts: Parts): Runner {
  const { clock, db, enabled, intervalSeconds, retrySeconds, slots } = parts
  return {
    name: AGAIN,
    enabled,
    intervalSeconds,
    due() {
      const now = iso(clock.now())
      const times = slots.unbegun(now).map((slot) => againAt(slot, retrySeconds))
      return times.filter((at) => at > now).sort()[0]
    },
    tick(now) {
      const due = slots.unbegun(now).filter((slot) => againAt(slot, retrySeconds) <= now)
      return { begun: due.filter((slot) => db.tx(() => begunAgain(parts, slot, now))).length }
    },
  }
}

/** When the slot ends by what people want now, Unix ms; 0 when they have called it off or changed what is recorded. */
function endOf({ schedules }: Parts, { endsAt, occurrenceAt, scheduleId }: Unbegun, source: Job): number {
  const schedule = schedules.find(scheduleId)
  if (!schedule || !asksForTheSame(schedule, source)) return 0
  return Math.min(Date.parse(endsAt), plannedEnd(schedules.planOf(schedule), Date.parse(occurrenceAt)) ?? 0)
}

/** False when it may not begin again now. */
function begunAgain(parts: Parts, slot: Unbegun, now: string): boolean {
  const { health, jobs, log, retry } = parts
  const source = jobs.get(slot.jobId)
  if (singleRetryFault(source, jobs)) return false
  const left = Math.floor((endOf(parts, slot, source) - Date.parse(now)) / 1000)
  if (left < LEAST_LEFT_SECONDS) return false
  try {
    const { job } = retry(source, now, Math.min(source.command.durationSeconds, left))
    health.resolveDelivered(source.recordingId, source.id, now, { by: 'system:scheduler', reason: 'take_begun_again' })
    tell(parts, slot, { durationSeconds: job.command.durationSeconds, failureReason: source.failureReason }, now, {
      jobId: job.id,
      recordingId: job.recordingId,
      scheduleId: slot.scheduleId,
      sourceJobId: source.id,
    })
    return true
  } catch (e) {
    // A recorder that is retired or has been moved is for people to see to; the slot is asked about again until it is over.
    if (!(e instanceof Fail) || e.status === 503) throw e
    log.warn('a scheduled take could not be begun again', { reason: e.reason, scheduleId: slot.scheduleId })
    return false
  }
}

function tell(
  { audit }: Parts,
  { attempts, name, occurrenceAt, scheduleId }: Unbegun,
  details: Record<string, unknown>,
  now: string,
  correlation: Record<string, string>,
): void {
  const lateSeconds = Math.floor((Date.parse(now) - Date.parse(occurrenceAt)) / 1000)
  audit.write(
    {
      action: 'schedules.due_run.begun_again',
      actor: systemActor('scheduler'),
      correlation,
      details: { ...details, attempt: attempts + 1, lateSeconds, occurrenceAt },
      outcome: 'succeeded',
      permission: 'schedule:manage',
      target: { type: 'schedule', id: scheduleId, name },
    },
    now,
  )
}
