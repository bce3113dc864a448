// What operating a site needs beside the families of the contract: who is who, what waits, what is late, what is left.
import { counter, type Family, gauge, type Sample } from './family.rules.ts'
import type { Backlog, NodeGauge } from './metrics.store.ts'

export interface Volume {
  availableBytes: number
  name: 'database' | 'takes'
  sizeBytes: number
}

/** How runs of schedules end, as the audit names them; a missed one has failed. */
export const RUN_OUTCOMES = ['succeeded', 'deferred', 'skipped', 'failed'] as const
type RunOutcome = (typeof RUN_OUTCOMES)[number]
export type RunTally = Record<RunOutcome, number>

/** Of the controller as a whole. */
export interface Operations {
  backlogs: Backlog[]
  runs: RunTally
  version: string
  volumes: Volume[]
}

interface Seen {
  lateSchedules: number
  nodes: NodeGauge[]
  now: string
  /** Only for callers who see everything. */
  operations: Operations | undefined
}

export const operationFamilies = ({ lateSchedules, nodes, now, operations }: Seen): Family[] => [
  gauge(
    'node_info',
    'What a node is called, where it stands and what it runs; always 1',
    nodes.map(({ agentVersion, alias, id, room, site }) => [
      { agent_version: agentVersion, alias, node_id: id, room, site },
      1,
    ]),
  ),
  gauge(
    'node_last_seen_timestamp_seconds',
    'When the node was last heard of, Unix time',
    nodes.map(({ id, lastSeenAt }) => [{ node_id: id }, unix(lastSeenAt)]),
  ),
  gauge('schedules_late', 'Enabled schedules whose start is due for two minutes and was not made', [
    [{}, lateSchedules],
  ]),
  ...(operations ? ofController(operations, now) : []),
]

const unix = (at: string): number => Date.parse(at) / 1000

function ofController({ backlogs, runs, version, volumes }: Operations, now: string): Family[] {
  const each = (value: (backlog: Backlog) => number): Sample[] =>
    backlogs.map((one) => [{ destination: one.name, destination_id: one.id, provider: one.kind }, value(one)])
  const overdue = ({ oldestAt }: Backlog): number => (oldestAt === null ? 0 : Math.max(0, unix(now) - unix(oldestAt)))
  const disks = (value: (volume: Volume) => number): Sample[] =>
    volumes.map((one) => [{ volume: one.name }, value(one)])
  return [
    gauge('controller_info', 'The version that runs; always 1', [[{ version }, 1]]),
    gauge(
      'controller_disk_size_bytes',
      'Size of the disk that holds the database, or the takes',
      disks((v) => v.sizeBytes),
    ),
    gauge(
      'controller_disk_available_bytes',
      'What is left of it for the controller',
      disks((v) => v.availableBytes),
    ),
    gauge(
      'upload_destination_pending',
      'Uploads that wait for a destination',
      each((b) => b.n),
    ),
    gauge('upload_destination_oldest_due_seconds', 'How long the oldest of them has been due', each(overdue)),
    counter(
      'schedule_runs_total',
      'Runs of schedules since the process started, by how they ended; missed ones have failed',
      RUN_OUTCOMES.map((outcome) => [{ outcome }, runs[outcome]]),
    ),
  ]
}
