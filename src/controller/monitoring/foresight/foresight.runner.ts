import { type Clock, iso } from '../../../kernel/clock.ts'
import { DAY_MS } from '../../../kernel/zones.ts'
import type { ForesightKind } from '../../../wire/foresight.ts'
import { sharing } from '../../http/batches.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { DiskSpace } from '../../http/diskspace.ts'
import { arrivingBytes } from '../../recordings/library/room.rules.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { UploadsApi } from '../../uploads/api.ts'
import { presence, SLICE, type Step, stepWriter } from '../watchdog/steps.ts'
import type { ForesightAlarms } from './alarms.ts'
import type { Examined, Examiner } from './examine.ts'
import type { FactStore, StandingRow } from './facts.store.ts'
import { Following, HOUSE } from './follow.ts'
import { Holds } from './holds.ts'
import { type Arriving, type Coming, houseRisks, LEAST_SILENT_MS, SOON_MS } from './risks.rules.ts'
import type { ForesightSettingsStore } from './settings.store.ts'

interface Parts {
  alarms: ForesightAlarms
  /** Absent with plain HTTP. */
  certificates: Pick<Certificates, 'lastsUntil'> | undefined
  clock: Clock
  db: Db
  diskSpace: Pick<DiskSpace, 'free'>
  enabled: boolean
  examine: Examiner
  facts: FactStore
  intervalSeconds: number
  offlineAfterSeconds: number
  settings: ForesightSettingsStore
  troubles: UploadsApi['troubles']
}

export const FORESIGHT_RUNNER = 'foresight'
/** What changes together is looked at together, ms. */
const WAKE_AFTER_MS = 1000
/** While recorders are needed soon, it is looked so often whether one has gone silent, ms. */
const GLANCE_MS = 10_000
/** A recorder that reports again after the controller was away has had so long, seconds. */
const BACK_SECONDS = 60
/** A regular pass may come a moment early. */
const SLACK_MS = 1000

/** Recorders and schedules of which something has changed. */
export interface Changed {
  nodeId?: string | undefined
  scheduleId?: string | undefined
}

/**
 * Looks at every take of the coming 24 hours, and tells what stands against it (docs/contract/health.md: Foresight). Between the
 * regular passes it looks at recorders of which something changed, and where a risk has lasted long enough to be told.
 */
export function foresightRunner(parts: Parts): Runner & { wake: (changed: Changed) => void } {
  const { clock, enabled, facts, intervalSeconds } = parts
  const holds = new Holds()
  const present = presence(intervalSeconds)
  const changed = { nodes: new Set<string>(), schedules: new Set<string>() }
  let wokenAt: number | undefined
  let lastWhole: number | undefined
  let lastAt = 0
  /** Recorders whose next take begins soon. */
  let soon: ReadonlySet<string> = new Set()

  /** What this pass looks at; undefined: everything. */
  const scopeOf = (at: number, now: string): Scope | undefined => {
    const late = lastWhole === undefined || at - lastWhole >= intervalSeconds * 1000 - SLACK_MS
    const schedules = new Set(changed.schedules)
    const silent = facts.silentOf(soon, iso(Date.parse(now) - LEAST_SILENT_MS))
    const nodes = new Set([...changed.nodes, ...holds.lasted(at), ...facts.nodesOf(schedules), ...silent])
    const whole = late || nodes.has(HOUSE)
    changed.nodes.clear()
    changed.schedules.clear()
    wokenAt = undefined
    if (whole) lastWhole = at
    return whole ? undefined : { nodes, schedules }
  }

  return {
    name: FORESIGHT_RUNNER,
    enabled,
    intervalSeconds,
    due() {
      const at = clock.monotonic()
      const glance = soon.size > 0 ? lastAt + GLANCE_MS : Number.POSITIVE_INFINITY
      const next = Math.min(wokenAt ?? Number.POSITIVE_INFINITY, holds.next(at), glance)
      return Number.isFinite(next) ? iso(clock.now() + Math.max(0, next - at)) : undefined
    },
    async tick(now) {
      const at = clock.monotonic()
      present.note(at)
      lastAt = at
      const scope = scopeOf(at, now)
      if (scope && scope.nodes.size === 0 && scope.schedules.size === 0) return NOTHING_CHANGED
      const { neededSoon, ...result } = await onePass(parts, { at, holds, isBack: present.lasts, now, scope })
      if (neededSoon) soon = neededSoon
      return result
    },
    wake({ nodeId, scheduleId }) {
      if (nodeId !== undefined) changed.nodes.add(nodeId)
      if (scheduleId !== undefined) changed.schedules.add(scheduleId)
      // Something of all.
      if (nodeId === undefined && scheduleId === undefined) lastWhole = undefined
      wokenAt ??= clock.monotonic() + WAKE_AFTER_MS
    },
  }
}

/** A glance found everybody there. */
const NOTHING_CHANGED = { changes: 0, looked: 0, whole: false }

interface Scope {
  nodes: ReadonlySet<string>
  schedules: ReadonlySet<string>
}

interface Pass {
  at: number
  holds: Holds
  /** Whether recorders have had so many seconds to report since the controller runs. */
  isBack: (seconds: number) => boolean
  now: string
  scope: Scope | undefined
}

interface Passed {
  changes: number
  looked: number
  /** Recorders whose next take begins soon; only a pass over all knows. */
  neededSoon: Set<string> | undefined
  whole: boolean
}

async function onePass(parts: Parts, pass: Pass): Promise<Passed> {
  const { alarms, clock, db, facts, settings, troubles } = parts
  const { at, holds, now, scope } = pass
  const following = new Following({ alarms, facts, holds }, settings.get(), now, at)
  const write = stepWriter(clock, db)
  const around = { now, troubles: troubles(now) }
  const turn = sharing()
  const takes: Arriving[] = []
  const neededSoon = new Set<string>()
  let changes = 0
  let waiting: Step[] = []
  /** Writes once there is enough for a transaction, and at the end. */
  const apply = async (steps: readonly Step[], least = SLICE): Promise<void> => {
    changes += steps.filter(({ changesAlarm }) => changesAlarm).length
    waiting.push(...steps)
    if (waiting.length < least) return
    const now = waiting
    waiting = []
    await write(now)
  }
  for (const [nodeId, ids] of byRecorder(facts, now, scope)) {
    const isTold = (kind: ForesightKind, scheduleId: string) => following.isTold(kind, scheduleId, nodeId)
    const examined = parts.examine(nodeId, ids, { ...around, isTold })
    takes.push(...examined.map(({ arriving }) => arriving))
    if (nodeId !== undefined && examined.some(({ coming }) => isSoon(coming, now))) neededSoon.add(nodeId)
    await apply(examined.flatMap((take) => judged(parts, following, take, pass)))
    await turn()
  }
  const concerned = ({ nodeId = '', scheduleId = '' }: StandingRow) =>
    !scope || scope.nodes.has(nodeId) || scope.schedules.has(scheduleId)
  await apply(following.left(concerned))
  await apply(scope ? [] : await houseSteps(parts, following, takes, now), 0)
  holds.sweep(scope?.nodes)
  return { changes, looked: takes.length, neededSoon: scope ? undefined : neededSoon, whole: scope === undefined }
}

/** Soon, or before the next pass over all. */
const isSoon = ({ startAt }: Coming, now: string): boolean => startAt - Date.parse(now) <= SOON_MS + 60_000

/** Due schedules by their recorder; undefined: without one. */
function byRecorder(facts: FactStore, now: string, scope: Scope | undefined): Map<string | undefined, string[]> {
  const due = facts.due(now, iso(Date.parse(now) + DAY_MS))
  const within = scope
    ? due.filter(({ id, nodeId }) =>
        nodeId === null ? scope.schedules.has(id) || scope.nodes.has('') : scope.nodes.has(nodeId),
      )
    : due
  const groups = Map.groupBy(within, ({ nodeId }) => nodeId ?? undefined)
  return new Map([...groups].map(([nodeId, rows]) => [nodeId, rows.map(({ id }) => id)]))
}

/** A recorder that has had no time to report since the controller was away is neither offline nor well. */
function judged({ offlineAfterSeconds }: Parts, following: Following, take: Examined, { isBack }: Pass): Step[] {
  const { doubted, faults } = take.facts
  const isOffline = faults.includes('recorder_offline')
  if (isOffline ? isBack(offlineAfterSeconds) : !doubted || isBack(BACK_SECONDS)) return following.take(take)
  following.leave(take.coming)
  return []
}

async function houseSteps(
  { certificates, diskSpace, facts, settings }: Parts,
  following: Following,
  takes: Arriving[],
  now: string,
): Promise<Step[]> {
  const { kinds } = settings.get()
  const house = {
    certificateUntil: certificates?.lastsUntil,
    // The directory of a controller that never had a take is not there yet.
    freeBytes: await diskSpace.free().catch(() => undefined),
    underWayBytes: facts.underWay().reduce((sum, command) => sum + arrivingBytes(command), 0),
  }
  takes.sort((a, b) => a.startAt - b.startAt)
  return following.house(houseRisks(house, takes, Date.parse(now), (kind) => kinds[kind].leadMinutes * 60_000))
}
