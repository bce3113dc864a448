import { iso } from '../../../kernel/clock.ts'
import type { HealthEvent } from '../../../wire/health.ts'
import type { HealthStore } from '../health/health.store.ts'
import type { MeterSample, Meters } from '../meters/meters.store.ts'
import type { Alarms, Subject } from './alarms.ts'
import { MISSING, ownLevels, ownOf, readingOf } from './readings.rules.ts'
import { type Evidence, evidenceOf, RULES, type Rule, repeatDue } from './verdict.rules.ts'
import type { Take } from './watch.store.ts'
import { type Memory, type Pace, type Sums, sample, shift, windowed } from './window.rules.ts'

interface TakeParts {
  alarms: Alarms
  health: HealthStore
  meterMaxAgeSeconds: number
  meters: Pick<Meters, 'history' | 'latest'>
  pace: Pace
}

interface Watch extends Memory {
  /** Frames received up to here are included; ms. */
  cursor: number
  /** Start of the take, by the clock as it is now; ms. */
  from: number
  /** Of take and policy; another start or another threshold resets the memory. */
  version: string
}

/** The result of a pass over one take: its writes, and how many alarms they open, repeat or end (`changes`). */
interface Outcome {
  changes: number
  write: () => void
}

const NO_CHANGES: Outcome = { changes: 0, write: () => {} }
const FRAMES = 16

/** Watches running takes: reads the frames of their own channels since the last pass, and judges the window. */
export function takeWatch(parts: TakeParts) {
  const { health, meters, pace } = parts
  const watches = new Map<string, Watch>()

  const watchOf = (take: Take, at: number): Watch => {
    const version = [take.recordedAt, take.policyId, take.policyVersion].join(' ')
    const known = watches.get(take.id)
    if (known?.version === version) return known
    // The frames that the meters still have of this take are read again. A start in the future precedes a clock set back.
    const same = known?.version.startsWith(take.recordedAt)
    const from = Math.min(same ? (known as Watch).from : Date.parse(take.recordedAt), at)
    const watch: Watch = { buckets: [], cursor: from, from, version }
    watches.set(take.id, watch)
    return watch
  }

  /** Frames of a node since an instant, oldest first. */
  const heardSince = (nodeId: string, since: number): MeterSample[] => {
    for (let asked = FRAMES; ; asked *= 4) {
      const frames = meters.history(nodeId, asked)
      const oldest = frames.at(-1)
      if (oldest && frames.length === asked && Date.parse(oldest.receivedAt) > since) continue
      return frames.filter((frame) => Date.parse(frame.receivedAt) > since).reverse()
    }
  }

  /** Includes the new frames; false when this take cannot be judged now. */
  const takeIn = (take: Take, watch: Watch, at: number, metersExpected: boolean): boolean => {
    const own = ownOf(take.command)
    const frames = take.nodeId === null ? [] : heardSince(take.nodeId, watch.cursor)
    watch.cursor = Math.max(watch.cursor, ...frames.slice(-1).map((frame) => Date.parse(frame.receivedAt)))
    const heardBefore = watch.heardAt
    for (const { frame, receivedAt } of frames) {
      const levels = frame.synthetic ? [] : ownLevels(own, frame)
      if (levels.length === 0) continue
      watch.heardAt = Date.parse(receivedAt)
      sample(watch, watch.heardAt, readingOf(levels, take.rules.metric, frame.interfaceId), take.rules, pace)
    }
    if (watch.heardAt !== heardBefore) return true
    const fresh = (since: number | undefined) => since !== undefined && at - since <= parts.meterMaxAgeSeconds * 1000
    const latest = take.nodeId === null ? undefined : meters.latest(take.nodeId)
    // Synthetic levels prove nothing, in either direction (ADR-0018).
    if (latest?.frame.synthetic && fresh(Date.parse(latest.receivedAt))) return false
    if (fresh(watch.heardAt)) sample(watch, at, watch.latest ?? MISSING, take.rules, pace)
    else if (metersExpected) sample(watch, at, MISSING, take.rules, pace)
    else return false
    return true
  }

  return {
    /** `metersExpected`: nodes have had time to send frames since the watchdog began, so that missing frames mean silence. */
    evaluate(take: Take, now: string, metersExpected: boolean): Outcome {
      const at = Date.parse(now)
      const watch = watchOf(take, at)
      if (!takeIn(take, watch, at, metersExpected)) return NO_CHANGES
      const { graceSeconds, windowSeconds } = take.rules
      const sums = windowed(watch, at, windowSeconds)
      const { from } = watch
      if (at < from + (graceSeconds + windowSeconds) * 1000) return NO_CHANGES
      const evidence = evidenceOf(watch, sums, take.rules, observed(watch, from, at, windowSeconds))
      return settle(take, evidence, sums, now)
    },
    /** Forgets the takes that are not among `active`. */
    retain(active: ReadonlySet<string>): void {
      for (const id of watches.keys()) if (!active.has(id)) watches.delete(id)
    },
    /** The wall clock jumped by so many ms: shifts the times in memory. */
    clockJumped(by: number): void {
      for (const watch of watches.values()) {
        watch.cursor += by
        watch.from += by
        shift(watch, by)
      }
    },
  }

  // Watched from its start, or for a whole window: a restart during a take must not alarm for what it missed.
  function observed(watch: Watch, from: number, at: number, windowSeconds: number): boolean {
    const since = watch.since ?? at
    const late = since > from + pace.breakSeconds * 1000
    return !late || since <= at - windowSeconds * 1000
  }

  function settle(take: Take, evidence: Evidence, sums: Sums & { startedAt: number }, now: string): Outcome {
    const open = health.alarmsOf(take.id)
    const steps = RULES.flatMap((rule) =>
      stepsOf(
        parts.alarms,
        rule,
        take,
        evidence,
        sums,
        open.filter((event) => event.type === rule.type),
        now,
      ),
    )
    const write = () => {
      for (const step of steps) step.run()
    }
    return { changes: steps.filter((step) => step.changesAlarm).length, write }
  }
}

interface Step {
  /** Opens, repeats or ends an alarm; a mere new reading does not. */
  changesAlarm: boolean
  run: () => void
}

function stepsOf(
  alarms: Alarms,
  rule: Rule,
  take: Take,
  evidence: Evidence,
  sums: Sums & { startedAt: number },
  open: HealthEvent[],
  now: string,
): Step[] {
  const { severity, repeatEverySeconds } = take.rules
  const verdict = rule.verdict(evidence)
  if (verdict === undefined) return []
  const details = () => ({ ...commonDetails(take, sums), ...rule.details(evidence) })
  if (!verdict)
    return open.map((event) => ({
      changesAlarm: true,
      run: () => alarms.resolve(rule.stem, event.id, rule.recovered, details(), now),
    }))
  if (open.length === 0)
    return [
      {
        changesAlarm: true,
        run: () => void alarms.open(rule.stem, rule.type, severity, subjectOf(take), details(), now),
      },
    ]
  return open.map((event) => {
    const changesAlarm = repeatDue(event, repeatEverySeconds, now)
    return { changesAlarm, run: () => alarms.update(rule.stem, event.id, severity, details(), changesAlarm, now) }
  })
}

const subjectOf = ({ id, nodeId, scheduleId }: Take): Subject => ({
  recordingId: id,
  ...(nodeId === null ? {} : { nodeId }),
  ...(scheduleId === null ? {} : { scheduleId }),
})

const commonDetails = (take: Take, sums: Sums & { startedAt: number }): Record<string, unknown> => ({
  ...subjectOf(take),
  coverageSeconds: Math.round(sums.coverageSeconds * 1000) / 1000,
  sampleCount: sums.samples,
  watchdogPolicyId: take.policyId,
  watchdogPolicyName: take.policyName,
  windowSeconds: take.rules.windowSeconds,
  windowStartedAt: iso(sums.startedAt),
})
