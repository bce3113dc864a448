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
  /** Most takes one pass looks at; the next one goes on with the others. */
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
// How long a pass keeps the loop before others may speak, ms.
const TURN = 8
// Passes that may be missed before the controller knows that it was away itself.
const MISSED = 3

/**
 * Opens, repeats and resolves health events from quality telemetry, and for nodes that went silent (docs/contract/health.md:
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
  const hand = alarms(health, audit)
  const breakSeconds = Math.max(MISSED * intervalSeconds, maxSpanSeconds)
  const takes = takeWatch({ ...parts, alarms: hand, pace: { breakSeconds, maxSpanSeconds } })
  const rounds = new Rounds(batchSize)
  const offline = offlineWatch({ alarms: hand, health, offlineAfterSeconds, store })
  // Since when the controller is there without a break, and its last pass; ms of the monotonic clock.
  let presentSince: number | undefined
  let lastPass = 0

  const notePass = (at: number): void => {
    // The process stood still: nodes get their time anew.
    if (presentSince === undefined || at - lastPass > MISSED * intervalSeconds * 1000) presentSince = at
    lastPass = at
  }
  const presentFor = (seconds: number): boolean => lastPass - (presentSince ?? lastPass) > seconds * 1000

  /** Writes in transactions of at most a turn each; a reading alone need not be synced to disk. */
  const runSteps = async (steps: readonly Step[]): Promise<void> => {
    for (let next = 0; next < steps.length; ) {
      const until = clock.monotonic() + TURN
      const durable = steps.slice(next, next + SLICE).some((step) => step.changesAlarm)
      const most = next + SLICE
      db.tx(() => {
        do (steps[next++] as Step).run()
        while (next < Math.min(steps.length, most) && clock.monotonic() < until)
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
        // Asked anew for each: the clock may jump while others have their turn.
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
          // Over as it was: silence at the end is silence on the recording.
          if (status !== null && status !== 'recording')
            return { changesAlarm: false, run: () => hand.takeEnded(event.id, status, now) }
          const reason = status === null ? 'recording_deleted' : 'watchdog_inactive'
          return { changesAlarm: true, run: () => void (stem && hand.resolve(stem, event.id, reason, {}, now)) }
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
