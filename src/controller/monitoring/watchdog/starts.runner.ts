import { type Clock, iso } from '../../../kernel/clock.ts'
import type { HealthEvent } from '../../../wire/health.ts'
import type { Audit } from '../../http/audit.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { HealthStore } from '../health/health.store.ts'
import { alarms } from './alarms.ts'
import { presence, type Step, stepWriter } from './steps.ts'
import type { Waiting, WatchStore } from './watch.store.ts'

interface Parts {
  audit: Audit
  clock: Clock
  db: Db
  enabled: boolean
  health: HealthStore
  store: WatchStore
}

const STEM = 'take_not_begun'
const TYPE = 'watchdog.take_not_begun'
/** A recorder that is well begins within a second or two. */
const LATE_SECONDS = 20
const INTERVAL_SECONDS = 10

/** Tells of recordings that should run and that no recorder has begun, until one begins or they are over. */
export function startsRunner({ audit, clock, db, enabled, health, store }: Parts): Runner {
  const alarm = alarms(health, audit)
  const present = presence(INTERVAL_SECONDS)
  const write = stepWriter(clock, db)

  const opened = (take: Waiting, now: string): Step => {
    const { id: recordingId, nodeId, scheduleId } = take
    const subject = { nodeId: nodeId ?? undefined, recordingId, scheduleId: scheduleId ?? undefined }
    return { changesAlarm: true, run: () => void alarm.open(STEM, TYPE, 'critical', subject, toldOf(take), now) }
  }
  const ended = ({ details, id, recordingId = '' }: HealthEvent, now: string): Step[] => {
    const beginning = store.beginningOf(recordingId)
    if (beginning?.isWaiting) return []
    const over = endOf(beginning && { beganAt: beginning.beganAt, plannedAt: String(details.plannedAt) })
    return [{ changesAlarm: true, run: () => alarm.resolve(STEM, id, over.reason, over.details, now, over.result) }]
  }

  return {
    name: 'watchdog-starts',
    enabled,
    intervalSeconds: INTERVAL_SECONDS,
    async tick(now) {
      present.note(clock.monotonic())
      const open = health.alarms(TYPE)
      const told = new Set(open.map(({ recordingId }) => recordingId))
      // Recorders have their time to come back when the controller was away.
      const late = present.lasts(LATE_SECONDS) ? store.notBegun(iso(Date.parse(now) - LATE_SECONDS * 1000)) : []
      const steps = [
        ...open.flatMap((event) => ended(event, now)),
        ...late.filter(({ id }) => !told.has(id)).map((take) => opened(take, now)),
      ]
      await write(steps)
      return { changes: steps.length, late: late.length }
    },
  }
}

function toldOf({ alias, lastSeenAt, name, plannedAt }: Waiting): Record<string, unknown> {
  const recorder = alias ?? 'its recorder'
  return {
    ...(lastSeenAt === null ? {} : { lastSeenAt }),
    message: `${name} should be recorded by now, and ${recorder} has not begun.`,
    plannedAt,
    remedy: `Check power and network of ${recorder}, and record by other means until it is back: it begins by itself as soon as it reports.`,
  }
}

interface End {
  details: Record<string, unknown>
  reason: string
  /** What became of the recording, for people. */
  result?: string
}

/** `beginning`: absent when the recording was deleted; without a beginning nothing was recorded. */
function endOf(beginning: { beganAt: string | null; plannedAt: string } | undefined): End {
  if (!beginning) return { details: {}, reason: 'recording_deleted' }
  const { beganAt, plannedAt } = beginning
  if (beganAt === null)
    return { details: {}, reason: 'take_never_began', result: 'It ended without a beginning: nothing is recorded.' }
  const lateSeconds = Math.max(0, Math.round((Date.parse(beganAt) - Date.parse(plannedAt)) / 1000))
  return {
    details: { lateSeconds },
    reason: 'take_began',
    result: `It is being recorded, ${lateSeconds} s late: that much of its beginning is missing.`,
  }
}
