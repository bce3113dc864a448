import { iso } from '../../../kernel/clock.ts'
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
    isRetired: (nodeId: string): boolean => retired.get({ id: nodeId }) !== undefined,
    /** Nodes that have been silent for too long; without those that never reported. */
    silentNodes: (now: string): SilentNode[] =>
      offlineAfterSeconds === 0 ? [] : silent.all({ before: iso(Date.parse(now) - offlineAfterSeconds * 1000) }),
  }
}
export type WatchStore = ReturnType<typeof watchStore>
