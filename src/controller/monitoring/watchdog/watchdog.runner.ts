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

interface Step {
  changesAlarm: boolean
  run: () => void
}

const SLICE = 50
// How long a pass occupies the event loop before it yields, ms.
const TURN = 8
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
  // Since when the controller has run without a break, and its last pass; ms of the monotonic clock.
  let presentSince: number | undefined
  let lastPass = 0

  const notePass = (at: number): void => {
    // The process was suspended: nodes get time to report again.
    if (presentSince === undefined || at - lastPass > MISSED * intervalSeconds * 1000) presentSince = at
    lastPass = at
  }
  const presentFor = (seconds: number): boolean => lastPass - (presentSince ?? lastPass) > seconds * 1000

  /** Writes in transactions of at most a turn each; a reading alone need not be synced to disk. */
  const runSteps = async (steps: readonly Step[]): Promise<void> => {
    for (let next = 0; next < steps.length; ) {
      const until = clock.monotonic() + TURN
      const durable = steps.slice(next, next + SLICE).some((step) => step.changesAlarm)
      const limit = next + SLICE
      db.tx(() => {
        do (steps[next++] as Step).run()
        while (next < Math.min(steps.length, limit) && clock.monotonic() < until)
      }, durable)
      await nextTurn()
    }
  }

  const watchTakes = async (): Promise<{ active: Set<string>; changes: number; looked: number }> => {
    const active = new Set<string>()
    let [changes, looked] = [0, 0]
    rounds.begin()
    for (const slice of store.takes(SLICE)) {
      let until = clock.monotonic() + TURN
      for (const take of slice.filter((one) => watches(one.rules, one))) {
        active.add(take.id)
        if (!rounds.turn(take.id)) continue
        looked++
        // Read for each take: the clock may jump between them.
        const outcome = takes.evaluate(take, iso(clock.now()), presentFor(meterMaxAgeSeconds))
        db.tx(outcome.write, outcome.changes > 0)
        changes += outcome.changes
        if (clock.monotonic() < until) continue
        await nextTurn()
        until = clock.monotonic() + TURN
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
        health.alarmsOf(id).map((event): Step => {
          const stem = RULES.find((rule) => rule.type === event.type)?.stem
          // The take ended during its alarm, for example in silence: the alarm stays on the recording.
          if (status !== null && status !== 'recording')
            return { changesAlarm: false, run: () => alarmEvents.takeEnded(event.id, status, now) }
          const reason = status === null ? 'recording_deleted' : 'watchdog_inactive'
          return { changesAlarm: true, run: () => void (stem && alarmEvents.resolve(stem, event.id, reason, {}, now)) }
        }),
      )

  return {
    name: 'watchdog',
    enabled,
    intervalSeconds,
    clockJumped: takes.clockJumped,
    tick: async (now) => {
      notePass(clock.monotonic())
      const nodes = offline(now, presentFor(offlineAfterSeconds))
      await runSteps(nodes)
      const { active, changes, looked } = await watchTakes()
      const left = unwatchedAlarms(active, now)
      await runSteps(left)
      const changesAlarm = [...nodes, ...left].filter((step) => step.changesAlarm).length
      return { changes: changes + changesAlarm, looked, watched: active.size }
    },
  }
}
