import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { SEVERITIES } from '../../wire/health.ts'
import { ACTIVE_HEALTH, type HealthGauge, type JobGauge, type NodeGauge, type PerNode } from './metrics.store.ts'
import type { Tally } from './tally.store.ts'

export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

export interface RunnerGauge {
  enabled: boolean
  lastDurationMs?: number
  lastError?: string
  lastRunAt?: string
  name: string
  passes: number
}

/** What one caller may see, at one moment. */
export interface Snapshot {
  active: PerNode[]
  audit: Tally[]
  cached: PerNode[]
  health: HealthGauge[]
  jobs: JobGauge[]
  nodes: NodeGauge[]
  runners: RunnerGauge[]
  startedAtMs: number
}

type Labels = Record<string, string>
type Sample = readonly [labels: Labels, value: number]

const REACHABLE = new Set(['online', 'degraded', 'recording', 'alerting'])

/** The whole exposition of one snapshot. A registry of its own per scrape: nothing of one caller stays for the next. */
export async function exposition(s: Snapshot, processMetrics: () => Promise<string>): Promise<string> {
  const registry = new Registry()
  const [gauge, counter] = [familyOf(registry, Gauge), familyOf(registry, Counter)]
  gauge('controller_started_at_seconds', 'Start of this process, Unix time', [[{}, s.startedAtMs / 1000]])
  gauge('database_unavailable', 'Whether the database cannot be reached', [[{}, 0]])
  gauge(
    'node_online',
    'Whether the node is reachable',
    s.nodes.map(({ alias, id, room, site, status }) => [
      { alias, node_id: id, room, site, status },
      REACHABLE.has(status) ? 1 : 0,
    ]),
  )
  gauge('recording_active', 'Recordings in progress', perNode(s.nodes, s.active))
  gauge('recording_cached', 'Recordings whose audio is stored here', perNode(s.nodes, s.cached))
  gauge(
    'recording_jobs',
    'Recording jobs by state',
    s.jobs.map(({ n, nodeId, status }) => [{ node_id: nodeId, status }, n]),
  )
  gauge('health_events_active', 'Health events that are not resolved', healthGrid(s.health))
  counter(
    'audit_events_total',
    'Audit events written since the process started',
    s.audit.map((t) => [
      { action: t.action, actor_type: t.actorType, outcome: t.outcome, permission: t.permission },
      t.n,
    ]),
  )
  runners(gauge, counter, s.runners)
  return (await registry.metrics()) + (await processMetrics())
}

/** All that can be said while the database is away. */
export async function outage(): Promise<string> {
  const registry = new Registry()
  familyOf(registry, Gauge)('database_unavailable', 'Whether the database cannot be reached', [[{}, 1]])
  return registry.metrics()
}

/** CPU, memory, handles, event loop and garbage collection of this process; watched from the first call on. */
export function processMetrics(): () => Promise<string> {
  let registry: Registry | undefined
  return () => {
    if (!registry) {
      registry = new Registry()
      collectDefaultMetrics({ register: registry })
    }
    return registry.metrics()
  }
}

type Family = (name: string, help: string, samples: Sample[]) => void

function familyOf(registry: Registry, Kind: typeof Gauge | typeof Counter): Family {
  return (name, help, samples) => {
    // A family that has no labels starts at 0: one that has no samples must stay empty.
    const labelNames = samples[0] ? Object.keys(samples[0][0]) : ['none']
    const family = new Kind({ name: `svc_${name}`, help, labelNames, registers: [registry] })
    for (const [labels, value] of samples) family.inc(labels, value)
  }
}

/** Every visible node has a value, 0 too; audio of a node that is gone counts under an empty node id. */
function perNode(nodes: NodeGauge[], counts: PerNode[]): Sample[] {
  const values = new Map(nodes.map(({ id }) => [id, 0]))
  for (const { n, nodeId } of counts) values.set(nodeId, n)
  return [...values].map(([id, n]) => [{ node_id: id }, n])
}

const healthGrid = (counts: HealthGauge[]): Sample[] =>
  SEVERITIES.flatMap((severity) =>
    ACTIVE_HEALTH.map((status): Sample => {
      const held = counts.find((c) => c.severity === severity && c.status === status)
      return [{ severity, status }, held?.n ?? 0]
    }),
  )

function runners(gauge: Family, counter: Family, table: RunnerGauge[]): void {
  const each = (value: (runner: RunnerGauge) => number | undefined): Sample[] =>
    table.flatMap((runner) => {
      const n = value(runner)
      return n === undefined ? [] : [[{ runner: runner.name }, n] as const]
    })
  gauge(
    'background_runner_enabled',
    'Whether the runner is switched on',
    each((r) => Number(r.enabled)),
  )
  gauge(
    'background_runner_failing',
    'Whether the last pass failed',
    each((r) => Number(r.lastError !== undefined)),
  )
  gauge(
    'background_runner_last_duration_seconds',
    'Length of the last pass',
    each((r) => (r.lastDurationMs === undefined ? undefined : r.lastDurationMs / 1000)),
  )
  gauge(
    'background_runner_last_run_timestamp_seconds',
    'Start of the last pass, Unix time',
    each((r) => (r.lastRunAt === undefined ? undefined : Date.parse(r.lastRunAt) / 1000)),
  )
  counter(
    'background_runner_passes_total',
    'Passes since the process started',
    each((r) => r.passes),
  )
}
