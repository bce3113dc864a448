import { iso } from '../../../kernel/clock.ts'
import { DAY_MS } from '../../../kernel/zones.ts'
import type { Command } from '../../../wire/recordings.ts'
import type { WatchdogRules } from '../../../wire/watchdog.ts'
import type { Db } from '../../store/db.ts'
import { Lister } from '../../store/filter.ts'

/** A running take, with the policy that watches it. */
export interface Take {
  command: Command | undefined
  id: string
  nodeId: string | null
  policyId: string
  policyName: string
  policyVersion: string
  recordedAt: string
  rules: WatchdogRules
  scheduleId: string | null
  source: 'ad_hoc' | 'schedule'
}
type TakeRow = Omit<Take, 'command' | 'rules'> & { command: string | null; rules: string }

/** A recording that no recorder has begun. */
export interface Waiting {
  alias: string | null
  id: string
  lastSeenAt: string | null
  name: string
  nodeId: string | null
  /** When it was to begin. */
  plannedAt: string
  scheduleId: string | null
}

/** Of the newest job of a recording. */
interface Beginning {
  /** When a recorder took it. */
  beganAt: string | null
  isWaiting: number
}

/** What a recorder is needed for. */
export interface Needed {
  next?: { name: string; startAt: string } | undefined
  /** Names of what it is to record now. */
  now: string[]
}

export interface SilentNode {
  alias: string
  building: string | null
  floor: string | null
  hostname: string
  id: string
  ipAddresses: string
  lastSeenAt: string
  room: string
  site: string
  status: string
  tags: string
}

/** Recordings that are told of in one pass, and that one message names. */
const [MAX_WAITING, MAX_NAMED] = [500, 5]

/** What the watchdog reads besides the meters. */
export function watchStore(db: Db, offlineAfterSeconds: number) {
  const takes = new Lister<TakeRow>(db, {
    columns: `r.id, r.node_id AS nodeId, r.schedule_id AS scheduleId, r.source, r.recorded_at AS recordedAt,
      p.id AS policyId, p.name AS policyName, p.updated_at AS policyVersion, p.rules,
      (SELECT command FROM recording_jobs j WHERE j.recording_id = r.id ORDER BY j.created_at DESC LIMIT 1) AS command`,
    from: 'recordings r JOIN watchdog_policies p ON p.id = r.watchdog_policy_id',
  })
  const silent = db.stmt<{ before: string }, SilentNode>(
    `SELECT id, alias, hostname, site, room, building, floor, ip_addresses AS ipAddresses, tags, status,
       last_seen_at AS lastSeenAt FROM nodes WHERE status NOT IN ('provisioning', 'retired') AND last_seen_at < @before ORDER BY id`,
  )
  const retired = db.stmt<{ id: string }, { n: number }>(
    `SELECT 1 AS n FROM nodes WHERE id = @id AND status = 'retired'`,
  )
  const waiting = db.stmt<{ type: string }, Waiting>(
    `SELECT r.id, r.name, r.schedule_id AS scheduleId, n.id AS nodeId, n.alias, n.last_seen_at AS lastSeenAt,
       coalesce((SELECT u.occurrence_at FROM schedule_runs u WHERE u.recording_id = r.id), min(j.created_at)) AS plannedAt
      FROM recording_jobs j JOIN recordings r ON r.id = j.recording_id LEFT JOIN nodes n ON n.id = j.node_id
      WHERE j.status = 'queued' AND NOT EXISTS (SELECT 1 FROM health_events h WHERE h.recording_id = r.id AND h.type = @type)
      GROUP BY r.id ORDER BY r.id LIMIT ${MAX_WAITING}`,
  )
  const beginning = db.stmt<{ id: string }, Beginning>(
    `SELECT j.started_at AS beganAt, j.status = 'queued' AS isWaiting FROM recordings r
      LEFT JOIN recording_jobs j ON j.recording_id = r.id WHERE r.id = @id ORDER BY j.created_at DESC, j.id DESC LIMIT 1`,
  )
  const recordingNow = db.stmt<{ nodeId: string }, { name: string }>(
    `SELECT DISTINCT r.name FROM recording_jobs j JOIN recordings r ON r.id = j.recording_id
      WHERE j.node_id = @nodeId AND j.status IN ('queued', 'running', 'stop_requested') LIMIT ${MAX_NAMED}`,
  )
  const next = db.stmt<{ nodeId: string; now: string; until: string }, { name: string; startAt: string }>(
    `SELECT s.name, s.next_run_at AS startAt FROM schedules s
      WHERE s.node_id = @nodeId AND s.enabled = 1 AND s.next_run_at > @now AND s.next_run_at <= @until
      ORDER BY s.next_run_at LIMIT 1`,
  )
  const active = { sql: `r.status = 'recording'`, params: {} }
  return {
    /** Running takes, in slices; one whose policy was deleted is not watched. */
    *takes(size: number): Generator<Take[]> {
      for (const rows of takes.walk([active], { direction: 'ASC', keys: ['r.recorded_at', 'r.id'] }, size))
        yield rows.map((row) => ({
          ...row,
          command: row.command === null ? undefined : (JSON.parse(row.command) as Command),
          rules: JSON.parse(row.rules) as WatchdogRules,
        }))
    },
    /** Recordings that wait for their recorder, and of which no event of this type was ever told. */
    waiting: (type: string): Waiting[] => waiting.all({ type }),
    /** Undefined when the recording is gone. */
    beginningOf: (id: string): Beginning | undefined => beginning.get({ id }),
    neededFor: (nodeId: string, now: string): Needed => ({
      next: next.get({ nodeId, now, until: iso(Date.parse(now) + DAY_MS) }),
      now: recordingNow.all({ nodeId }).map(({ name }) => name),
    }),
    isRetired: (nodeId: string): boolean => retired.get({ id: nodeId }) !== undefined,
    /** Nodes that have been silent for too long; without those that never reported. */
    silentNodes: (now: string): SilentNode[] =>
      offlineAfterSeconds === 0 ? [] : silent.all({ before: iso(Date.parse(now) - offlineAfterSeconds * 1000) }),
  }
}
export type WatchStore = ReturnType<typeof watchStore>
