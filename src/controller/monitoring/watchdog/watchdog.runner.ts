import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, iso } from '../../../kernel/clock.ts'
import type { Audit } from '../../http/audit.ts'
import { Rounds } from '../../scheduler/rounds.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { HealthStore } from '../health/health.store.ts'
import type { Meters } from '../meters/meters.store.ts'
import { alarms } from './alarms.ts'
import { offlineWatch } from './offline.ts'
import { presence, SLICE, type Step, stepWriter, TURN_MS } from './steps.ts'
import { takeWatch } from './takes.ts'
import { RULES, watches } from './verdict.rules.ts'
import type { WatchStore } from './watch.store.ts'

interface WatchdogParts {
  audit: Audit
  /** Maximum of takes per pass; the next pass continues with the others. */
  batchSize: number
  clock: Clock
  db: Db
  enabled: boolean
  health: HealthStore
  intervalSeconds: number
  maxSpanSeconds: number
  meterMaxAgeSeconds: number
  meters: Meters
  offlineAfterSeconds: number
  store: WatchStore
}

// After this many missed passes the controller itself was absent.
const MISSED = 3

/**
 * Opens, repeats and resolves health events from meter levels, and for nodes that went silent (docs/contract/health.md:
 * Watchdog rules).
 */
export function watchdogRunner(parts: WatchdogParts): Runner {
  const {
    audit,
    batchSize,
    clock,
    db,
    enabled,
    health,
    intervalSeconds,
    maxSpanSeconds,
    meterMaxAgeSeconds,
    offlineAfterSeconds,
    store,
  } = parts
  const alarmEvents = alarms(health, audit)
  const breakSeconds = Math.max(MISSED * intervalSeconds, maxSpanSeconds)
  const takes = takeWatch({ ...parts, alarms: alarmEvents, pace: { breakSeconds, maxSpanSeconds } })
  const rounds = new Rounds(batchSize)
  const offline = offlineWatch({ alarms: alarmEvents, health, offlineAfterSeconds, store })
  const present = presence(intervalSeconds)
  const runSteps = stepWriter(clock, db)

  const watchTakes = async (): Promise<{ active: Set<string>; changes: number; looked: number }> => {
    const active = new Set<string>()
    let [changes, looked] = [0, 0]
    rounds.begin()
    for (const slice of store.takes(SLICE)) {
      let until = clock.monotonic() + TURN_MS
      for (const take of slice.filter((one) => watches(one.rules, one))) {
        active.add(take.id)
        if (!rounds.turn(take.id)) continue
        looked++
        // Read for each take: the clock may jump between them.
        const outcome = takes.evaluate(take, iso(clock.now()), present.lasts(meterMaxAgeSeconds))
        db.tx(outcome.write, outcome.changes > 0)
        changes += outcome.changes
        if (clock.monotonic() < until) continue
        await nextTurn()
        until = clock.monotonic() + TURN_MS
      }
      await nextTurn()
    }
    takes.retain(active)
    rounds.end(active)
    return { active, changes, looked }
  }

  /** Alarms of takes that are no longer watched. */
  const unwatchedAlarms = (active: ReadonlySet<string>, now: string): Step[] =>
    health
      .alarmed()
      .filter(({ id }) => !active.has(id))
      .flatMap(({ id, status }) =>
        health.alarmsOf(id).flatMap((event): Step[] => {
          const stem = RULES.find((rule) => rule.type === event.type)?.stem
          if (!stem) return []
          // The take ended during its alarm, for example in silence: the alarm stays on the recording.
          if (status !== null && status !== 'recording')
            return [{ changesAlarm: false, run: () => alarmEvents.takeEnded(event.id, status, now) }]
          const reason = status === null ? 'recording_deleted' : 'watchdog_inactive'
          return [{ changesAlarm: true, run: () => alarmEvents.resolve(stem, event.id, reason, {}, now) }]
        }),
      )

  return {
    name: 'watchdog',
    enabled,
    intervalSeconds,
    clockJumped: takes.clockJumped,
    tick: async (now) => {
      present.note(clock.monotonic())
      const nodes = offline(now, present.lasts(offlineAfterSeconds))
      await runSteps(nodes)
      const { active, changes, looked } = await watchTakes()
      const left = unwatchedAlarms(active, now)
      await runSteps(left)
      const changesAlarm = [...nodes, ...left].filter((step) => step.changesAlarm).length
      return { changes: changes + changesAlarm, looked, watched: active.size }
    },
  }
}
