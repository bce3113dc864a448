import { iso } from '../../kernel/clock.ts'
import { HEALTH_STATUSES } from '../../wire/health.ts'
import { healthWithin, type Sides } from '../audit/audit.rules.ts'
import type { Reach } from '../edge/reach.ts'
import type { Db, Params, Stmt } from '../store/db.ts'
import type { Condition } from '../store/filter.ts'

export interface NodeGauge {
  alias: string
  id: string
  room: string
  site: string
  status: string
}
export interface PerNode {
  n: number
  nodeId: string
}
export type JobGauge = PerNode & { status: string }
export interface HealthGauge {
  n: number
  severity: string
  status: string
}

const STATUS = `CASE WHEN n.status <> 'provisioning' AND n.last_seen_at < @offlineBefore THEN 'offline' ELSE n.status END`
const ACTIVE = `(SELECT id FROM recordings WHERE status = 'recording'
  UNION SELECT recording_id FROM recording_jobs WHERE status IN ('running', 'stop_requested')) l JOIN recordings r ON r.id = l.id`
const CACHED: Condition = {
  sql: 'EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id)',
  params: {},
}
export const ACTIVE_HEALTH = HEALTH_STATUSES.filter((status) => status !== 'resolved')

/** Counts for `/metrics`, each over what the caller's reach lets through. */
export function metricsStore(db: Db, offlineAfterSeconds: number) {
  const statements = new Map<string, Stmt<Params, unknown>>()
  const rows = <R>(columns: string, from: string, conditions: Condition[], groups = '', more: Params = {}): R[] => {
    const where = conditions.length > 0 ? ` WHERE ${conditions.map((c) => `(${c.sql})`).join(' AND ')}` : ''
    const sql = `SELECT ${columns} FROM ${from}${where}${groups && ` GROUP BY ${groups}`}`
    const statement = statements.get(sql) ?? db.stmt<Params, unknown>(sql)
    statements.set(sql, statement)
    return statement.all(Object.assign({}, more, ...conditions.map((c) => c.params))) as R[]
  }
  const perRecording = (from: string, conditions: Condition[]) =>
    rows<PerNode>(`coalesce(r.node_id, '') AS nodeId, count(*) AS n`, from, conditions, 'r.node_id')

  return {
    nodes(reach: Reach, now: string): NodeGauge[] {
      const offlineBefore = offlineAfterSeconds === 0 ? '' : iso(Date.parse(now) - offlineAfterSeconds * 1000)
      const columns = `n.id, n.alias, n.site, n.room, ${STATUS} AS status`
      return rows(columns, 'nodes n', reach.nodes(), '', { offlineBefore })
    },
    jobs: (reach: Reach): JobGauge[] =>
      rows('j.node_id AS nodeId, j.status, count(*) AS n', 'recording_jobs j', reach.jobs(), 'j.node_id, j.status'),
    active: (reach: Reach): PerNode[] => perRecording(ACTIVE, reach.recordings()),
    cached: (reach: Reach): PerNode[] => perRecording('recordings r', [CACHED, ...reach.recordings()]),
    health(sides: Sides): HealthGauge[] {
      const { from, conditions } = healthWithin(sides)
      const unresolved = { sql: `x.status IN ('${ACTIVE_HEALTH.join(`', '`)}')`, params: {} }
      return rows('x.severity, x.status, count(*) AS n', from, [unresolved, ...conditions], 'x.severity, x.status')
    },
  }
}
export type MetricsStore = ReturnType<typeof metricsStore>
