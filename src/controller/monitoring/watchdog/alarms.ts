import type { HealthEvent, Severity } from '../../../wire/health.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { HealthStore } from '../health/health.store.ts'
import { changeOf } from '../health/lifecycle.rules.ts'

/** What an alarm is about. */
export interface Subject {
  nodeId?: string | undefined
  recordingId?: string | undefined
  scheduleId?: string | undefined
}

type Details = Record<string, unknown>

/** What the controller tells of itself: at most one of each stands. */
type OwnStem =
  | 'audio_tools_missing'
  | 'certificate_expiring'
  | 'certificate_refused'
  | 'client_certificate_expiring'
  | 'lease_unreachable'
  | 'replica_stalled'

/** Part of the audit names: `health.watchdog.<stem>.created`. */
export type AlarmStem =
  | OwnStem
  | 'channel_correlation'
  | 'clipping'
  | 'flatline'
  | 'low_signal'
  | 'node_offline'
  | 'quality_anomaly'
  | 'take_not_begun'

const ACTOR = systemActor('watchdog')

/** Health events of the watchdog: every opening, repetition and end writes its audit row. Call in a transaction. */
export function alarms(health: HealthStore, audit: Audit) {
  const writeAudit = (
    stem: AlarmStem,
    what: 'created' | 'repeated' | 'resolved',
    before: HealthEvent | undefined,
    after: HealthEvent,
    now: string,
  ) => audit.write({ action: `health.watchdog.${stem}.${what}`, actor: ACTOR, ...changeOf(after, before) }, now)
  // Read in the transaction that writes: somebody may have moved or annotated it since the pass began.
  const unresolved = (id: string): HealthEvent | undefined => {
    const event = health.find(id)
    return event?.status === 'resolved' ? undefined : event
  }
  return {
    open(
      stem: AlarmStem,
      type: string,
      severity: Severity,
      subject: Subject,
      details: Details,
      now: string,
    ): HealthEvent {
      const first = { evaluationCount: 1, firstObservedAt: now, lastObservedAt: now, repeatCount: 0 }
      const { event } = health.open(
        { ...subject, details: { ...details, ...first }, openedAt: now, severity, type },
        now,
      )
      writeAudit(stem, 'created', undefined, event, now)
      return event
    },
    /** Stores new readings; `repeat` also announces the alarm again. Status and notes stay. */
    update(stem: AlarmStem, id: string, severity: Severity, details: Details, repeat: boolean, now: string): void {
      const event = unresolved(id)
      if (!event) return
      const { recordingEndedAt: _, recordingStatus: __, ...kept } = event.details
      const after = {
        ...event,
        severity,
        details: {
          ...kept,
          ...details,
          evaluationCount: numberOf(kept.evaluationCount) + 1,
          lastObservedAt: now,
          repeatCount: numberOf(kept.repeatCount) + (repeat ? 1 : 0),
          ...(repeat ? { lastRepeatedAt: now } : {}),
        },
      }
      health.refresh(event, after, repeat, now)
      if (repeat) writeAudit(stem, 'repeated', event, after, now)
    },
    /** Resolves an alarm automatically, also an acknowledged or suppressed one. `result`: what became of it, for people. */
    resolve(stem: AlarmStem, id: string, reason: string, recovery: Details, now: string, result?: string): void {
      const details = { recoveryEvaluation: recovery, ...(result === undefined ? {} : { result }) }
      const over = { by: ACTOR.id, details, reason }
      for (const { after, before } of health.autoResolve([id], over, now))
        writeAudit(stem, 'resolved', before, after, now)
    },
    /** The take ended during the alarm: it stays on the recording, but is no longer updated. */
    takeEnded(id: string, recordingStatus: string, now: string): void {
      const event = unresolved(id)
      if (!event) return
      const details = { ...event.details, recordingEndedAt: now, recordingStatus }
      health.refresh(event, { ...event, details }, false, now)
    },
  }
}
export type Alarms = ReturnType<typeof alarms>

/** An alarm as it should stand. */
export interface Wanted {
  details: Details
  severity: Severity
}

/**
 * Opens, updates or resolves the one alarm of a stem, so that it exists exactly while `wanted` returns one; `standing` is what
 * there is of it. Says what it did. Call in a transaction.
 */
export type Settle = (
  stem: OwnStem,
  wanted: (standing: HealthEvent | undefined) => Wanted | undefined,
  now: string,
) => 'opened' | 'resolved' | 'updated' | undefined

export function settling(health: HealthStore, audit: Audit): Settle {
  const alarm = alarms(health, audit)
  return (stem, wanted, now) => {
    const type = `watchdog.${stem}`
    const [standing] = health.alarms(type)
    const next = wanted(standing)
    if (!standing) {
      if (!next) return undefined
      alarm.open(stem, type, next.severity, {}, next.details, now)
      return 'opened'
    }
    if (!next) {
      alarm.resolve(stem, standing.id, `${stem}_ended`, {}, now)
      return 'resolved'
    }
    if (reasonOf(standing) === reasonOf(next)) return undefined
    alarm.update(stem, standing.id, next.severity, next.details, next.severity !== standing.severity, now)
    return 'updated'
  }
}

/** An alarm is updated when this changes; remaining days and messages that count along do not. */
const reasonOf = ({ details, severity }: Wanted): string =>
  JSON.stringify([severity, details.expiresAt, details.fault, details.clients])

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)
