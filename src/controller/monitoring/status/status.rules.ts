import type { Status } from '../../../wire/status.ts'
import type { HealthCount, RecordingCount, UploadCount } from './counts.store.ts'
import type { NodeGauge } from './metrics.store.ts'

interface Counts {
  active: number
  health: HealthCount[]
  nodes: NodeGauge[]
  recordings: RecordingCount[]
  uploads: UploadCount[]
}

type Counted = Omit<
  Status,
  'certificateExpiresAt' | 'recordingProfile' | 'runners' | 'startedAt' | 'uptimeSeconds' | 'version' | 'watchdogPolicy'
>

/** The counts of `GET /status`. */
export function countedStatus({ active, health, nodes, recordings, uploads }: Counts): Counted {
  const nodesIn = (status: string): number => nodes.filter((node) => node.status === status).length
  const alerts = (fits: (c: HealthCount) => boolean): number =>
    health.reduce((sum, c) => sum + (c.status !== 'resolved' && fits(c) ? c.n : 0), 0)
  const recordingsThat = (fits: (c: RecordingCount) => boolean): number =>
    recordings.reduce((sum, c) => sum + (fits(c) ? c.n : 0), 0)
  return {
    acknowledgedAlerts: alerts((c) => c.status === 'acknowledged'),
    activeRecordings: active,
    alertingNodes: nodesIn('alerting'),
    cachedRecordings: recordingsThat((c) => c.cached === 1),
    completedRecordings: recordingsThat((c) => c.status === 'completed'),
    criticalAlerts: alerts((c) => c.severity === 'critical'),
    degradedNodes: nodesIn('degraded'),
    failedRecordings: recordingsThat((c) => c.status === 'failed'),
    failedUploads: uploads.reduce((sum, c) => sum + (c.status === 'failed' ? c.n : 0), 0),
    nodeCount: nodes.length,
    offlineNodes: nodesIn('offline'),
    onlineNodes: nodesIn('online'),
    openAlerts: alerts((c) => c.status === 'open'),
    provisioningNodes: nodesIn('provisioning'),
    queuedRecordings: recordingsThat((c) => c.status === 'queued'),
    recordingNodes: nodesIn('recording'),
    suppressedAlerts: alerts((c) => c.status === 'suppressed'),
    totalRecordings: recordingsThat(() => true),
    unresolvedAlerts: alerts(() => true),
    uploadedRecordings: recordingsThat((c) => c.status === 'uploaded'),
    warningAlerts: alerts((c) => c.severity === 'warning'),
  }
}
