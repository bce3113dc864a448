import type { Clock } from '../../../kernel/clock.ts'
import type { HealthEvent } from '../../../wire/health.ts'
import type { Audit } from '../../http/audit.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { HealthStore } from '../health/health.store.ts'
import { alarms } from './alarms.ts'
import { endOf, toldOf } from './starts.rules.ts'
import { type Step, stepWriter } from './steps.ts'
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
/** A recorder that is well begins within a second or two, ms. */
const LATE_MS = 20_000
const INTERVAL_SECONDS = 10

/** Tells once of each recording that should run and that no recorder begins, until one does or it is over. */
export function startsRunner({ audit, clock, db, enabled, health, store }: Parts): Runner {
  const alarm = alarms(health, audit)
  const write = stepWriter(clock, db)
  /** Since when each is seen to wait, monotonic ms: after a start of the controller recorders have their time to come back. */
  let since = new Map<string, number>()

  /** Those that have waited for long enough. */
  const late = (at: number): Waiting[] => {
    const waiting = store.waiting(TYPE)
    since = new Map(waiting.map(({ id }) => [id, since.get(id) ?? at]))
    return waiting.filter(({ id }) => at - (since.get(id) ?? at) >= LATE_MS)
  }
  const opened = (take: Waiting, now: string): Step => {
    const { id: recordingId, nodeId, scheduleId } = take
    const subject = { nodeId: nodeId ?? undefined, recordingId, scheduleId: scheduleId ?? undefined }
    const run = () => void alarm.open(STEM, TYPE, 'critical', subject, toldOf(take, Date.parse(now)), now)
    return { changesAlarm: true, run }
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
      const steps = [
        ...health.alarms(TYPE).flatMap((event) => ended(event, now)),
        ...late(clock.monotonic()).map((take) => opened(take, now)),
      ]
      await write(steps)
      return { changes: steps.length, waiting: since.size }
    },
  }
}
