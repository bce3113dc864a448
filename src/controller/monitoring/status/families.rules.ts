// The metric families (docs/contract/api.md: Metrics): names, types, labels and values.
import { HEALTH_STATUSES, SEVERITIES } from '../../../wire/health.ts'
import type { HealthCount, JobCount, RecordingCount, UploadCount } from './counts.store.ts'
import { counter, type Family, gauge, type Sample } from './family.rules.ts'
import type { NodeGauge, Running } from './metrics.store.ts'
import { type Operations, operationFamilies } from './operations.rules.ts'
import { type Signals, signalFamilies } from './signals.rules.ts'
import type { Tally } from './tally.store.ts'

export interface RunnerGauge {
  enabled: boolean
  intervalSeconds: number
  lastDurationMs?: number
  lastError?: string
  lastRunAt?: string
  name: string
  passes: number
}

/** What one caller may see now. */
export interface Snapshot extends Signals {
  audit: Tally[]
  /** When the HTTPS certificate expires, ISO. */
  certificateExpiresAt?: string | undefined
  health: HealthCount[]
  jobs: JobCount[]
  lateSchedules: number
  nodes: NodeGauge[]
  now: string
  /** Only for callers who see everything. */
  operations: Operations | undefined
  recordings: RecordingCount[]
  runners: RunnerGauge[]
  running: Running[]
  startedAtMs: number
  uploads: UploadCount[]
}

/** Recordings in progress that have series of their own; a fleet has one or a few per node. */
const MAX_RUNNING = 1000
/** Kinds of health events, by node, that have series of their own. */
const MAX_STANDING = 2000

const REACHABLE: ReadonlySet<string> = new Set(['online', 'degraded', 'recording', 'alerting'])
const ACTIVE_HEALTH = HEALTH_STATUSES.filter((status) => status !== 'resolved')
/** Severities of alarms. */
const ALARMING = SEVERITIES.filter((severity) => severity !== 'info')
const LOW_SIGNAL = 'watchdog.scheduled_low_signal'
const OFFLINE = 'watchdog.node_offline'

/** The only family while the database is unavailable. */
export const availability = (away: boolean): Family =>
  gauge('database_unavailable', 'Whether the database cannot be reached', [[{}, Number(away)]])

export const families = (s: Snapshot): Family[] => [
  gauge('controller_started_at_seconds', 'Start of this process, Unix time', [[{}, s.startedAtMs / 1000]]),
  availability(false),
  ...(s.certificateExpiresAt === undefined
    ? []
    : [
        gauge('certificate_expires_at_seconds', 'End of the TLS certificate in use, Unix time', [
          [{}, Date.parse(s.certificateExpiresAt) / 1000],
        ]),
      ]),
  gauge(
    'node_online',
    'Whether the node is reachable',
    s.nodes.map(({ alias, id, room, site, status }) => [
      { alias, node_id: id, room, site, status },
      Number(REACHABLE.has(status)),
    ]),
  ),
  ...recordingFamilies(s),
  ...signalFamilies(s),
  counter(
    'audit_events_total',
    'Audit events written since the process started',
    s.audit.map((t) => [
      { action: t.action, actor_type: t.actorType, outcome: t.outcome, permission: t.permission },
      t.n,
    ]),
  ),
  ...healthFamilies(s),
  ...uploadFamilies(s),
  ...runnerFamilies(s.runners),
  ...operationFamilies(s),
]

function recordingFamilies({ jobs, nodes, now, recordings, running }: Snapshot): Family[] {
  const each = running.slice(0, MAX_RUNNING).map((r) => {
    const seconds = Math.max(r.durationSeconds, (Date.parse(now) - Date.parse(r.startedAt)) / 1000)
    return {
      bytes: r.bytes,
      labels: { node_id: r.nodeId, recording_id: r.id, source: r.source, status: r.status },
      seconds,
    }
  })
  const bounded = `only recordings in progress, at most ${MAX_RUNNING}, the newest`
  return [
    gauge(
      'recording_active',
      'Recordings in progress',
      perNode(
        nodes,
        running.map(({ nodeId }) => ({ n: 1, nodeId })),
      ),
    ),
    gauge(
      'recording_cached',
      'Recordings whose audio is stored here',
      perNode(
        nodes,
        recordings.filter(({ cached }) => cached === 1),
      ),
    ),
    gauge(
      'recording_duration_seconds',
      `Length so far; ${bounded}`,
      each.map(({ labels, seconds }) => [labels, seconds]),
    ),
    gauge(
      'recording_bytes_written',
      `Stored bytes so far, chunks included; ${bounded}`,
      each.map(({ bytes, labels }) => [labels, bytes]),
    ),
    gauge(
      'recording_jobs',
      'Recording jobs by state',
      jobs.filter(({ n }) => n > 0).map(({ n, nodeId, status }) => [{ node_id: nodeId, status }, n]),
    ),
  ]
}

/** Every visible node has a value, also 0; audio of a deleted node counts under an empty node id. */
function perNode(nodes: NodeGauge[], counts: { n: number; nodeId: string }[]): Sample[] {
  const values = new Map(nodes.map(({ id }) => [id, 0]))
  for (const { n, nodeId } of counts) values.set(nodeId, n + (values.get(nodeId) ?? 0))
  return [...values].filter(([id, n]) => id !== '' || n > 0).map(([id, n]) => [{ node_id: id }, n])
}

type Fits = (count: HealthCount) => boolean
const isXrun: Fits = ({ type }) => type.includes('xrun')
const isLowSignal: Fits = ({ type }) => type === LOW_SIGNAL
const isActive: Fits = ({ status }) => status !== 'resolved'

function healthFamilies({ health, nodes }: Snapshot): Family[] {
  const now = (fits: Fits): number => sum(health, fits, 'n')
  const opened = (fits: Fits): number => sum(health, (c) => c.status === 'open' && fits(c), 'total')
  return [
    gauge(
      'health_events_active',
      'Health events that are not resolved',
      SEVERITIES.flatMap((severity) =>
        ACTIVE_HEALTH.map(
          (status): Sample => [{ severity, status }, now((c) => c.severity === severity && c.status === status)],
        ),
      ),
    ),
    gauge(
      'health_events_standing',
      `Health events that are not resolved, by type and node (empty: none); at most ${MAX_STANDING} series`,
      standing(health, nodes),
    ),
    counter('health_events_total', 'Health events that ever came to this status, by type', everReached(health)),
    gauge(
      'recording_watchdog_alerts_active',
      'Unresolved alarms of recordings without a signal',
      ALARMING.map((severity) => [{ severity }, now((c) => isLowSignal(c) && isActive(c) && c.severity === severity)]),
    ),
    counter(
      'recording_watchdog_alerts_total',
      'Alarms of recordings without a signal that were ever opened',
      ALARMING.map((severity) => [{ severity }, opened((c) => isLowSignal(c) && c.severity === severity)]),
    ),
    gauge('node_offline_alerts_active', 'Unresolved alarms of nodes that are offline', offlineGrid(nodes, health)),
    gauge('device_xruns_active', 'Unresolved events of lost samples', [[{}, now((c) => isXrun(c) && isActive(c))]]),
    counter(
      'device_xruns_total',
      'Events of lost samples that were ever opened',
      SEVERITIES.map((severity) => [{ severity }, opened((c) => isXrun(c) && c.severity === severity)]),
    ),
  ]
}

/** A retired node is in no metric. */
function standing(health: HealthCount[], nodes: NodeGauge[]): Sample[] {
  const known = new Set(['', ...nodes.map(({ id }) => id)])
  return health
    .filter((c) => isActive(c) && c.n > 0 && known.has(c.nodeId))
    .slice(0, MAX_STANDING)
    .map(({ n, nodeId, severity, status, type }) => [{ event_type: type, node_id: nodeId, severity, status }, n])
}

const sum = (counts: HealthCount[], fits: Fits, value: 'n' | 'total'): number =>
  counts.reduce((all, c) => all + (fits(c) ? c[value] : 0), 0)

function everReached(health: HealthCount[]): Sample[] {
  const totals = new Map<string, Sample>()
  for (const { severity, status, total, type } of health) {
    const key = `${type} ${severity} ${status}`
    totals.set(key, [{ event_type: type, severity, status }, total + (totals.get(key)?.[1] ?? 0)])
  }
  return [...totals.values()].filter(([, n]) => n > 0)
}

function offlineGrid(nodes: NodeGauge[], health: HealthCount[]): Sample[] {
  const found = new Map(
    health.filter(({ type }) => type === OFFLINE).map((c) => [`${c.nodeId} ${c.severity} ${c.status}`, c.n]),
  )
  return nodes.flatMap(({ id }) =>
    ALARMING.flatMap((severity) =>
      ACTIVE_HEALTH.map(
        (status): Sample => [{ node_id: id, severity, status }, found.get(`${id} ${severity} ${status}`) ?? 0],
      ),
    ),
  )
}

const PROVIDERS = ['stub', 'smb', 's3'] as const
const PENDING = ['queued', 'retrying', 'failed'] as const

function uploadFamilies({ now, uploads }: Snapshot): Family[] {
  const grid = (value: (found: UploadCount | undefined) => number): Sample[] =>
    PROVIDERS.flatMap((provider) =>
      PENDING.map(
        (status): Sample => [
          { provider, status },
          value(uploads.find((u) => u.provider === provider && u.status === status)),
        ],
      ),
    )
  const overdue = (at: string | null | undefined): number =>
    at ? Math.max(0, (Date.parse(now) - Date.parse(at)) / 1000) : 0
  return [
    gauge(
      'upload_queue_depth',
      'Uploads that are not done',
      grid((u) => u?.n ?? 0),
    ),
    gauge(
      'upload_queue_oldest_due_seconds',
      'How long the oldest has been due',
      grid((u) => overdue(u?.oldestAt)),
    ),
    counter(
      'upload_failures_total',
      'Attempts of uploads that ever failed for good',
      PROVIDERS.map((provider) => [
        { provider },
        uploads.filter((u) => u.provider === provider).reduce((all, u) => all + u.failures, 0),
      ]),
    ),
  ]
}

function runnerFamilies(table: RunnerGauge[]): Family[] {
  const each = (value: (runner: RunnerGauge) => number | undefined): Sample[] =>
    table.flatMap((runner) => {
      const n = value(runner)
      return n === undefined ? [] : [[{ runner: runner.name }, n] as const]
    })
  const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000)
  const unix = (at: string | undefined) => (at === undefined ? undefined : Date.parse(at) / 1000)
  const of = (name: string) => `background_runner_${name}`
  return [
    gauge(
      of('enabled'),
      'Whether the runner is switched on',
      each((r) => Number(r.enabled)),
    ),
    gauge(
      of('interval_seconds'),
      'Longest time between the starts of two passes',
      each((r) => r.intervalSeconds),
    ),
    gauge(
      of('failing'),
      'Whether the last pass failed',
      each((r) => Number(r.lastError !== undefined)),
    ),
    gauge(
      of('last_duration_seconds'),
      'Length of the last pass',
      each((r) => seconds(r.lastDurationMs)),
    ),
    gauge(
      of('last_run_timestamp_seconds'),
      'Start of the last pass, Unix time',
      each((r) => unix(r.lastRunAt)),
    ),
    counter(
      of('passes_total'),
      'Passes since the process started',
      each((r) => r.passes),
    ),
  ]
}
