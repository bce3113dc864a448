export const SEVERITIES = ['info', 'warning', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]
export const HEALTH_STATUSES = ['open', 'acknowledged', 'suppressed', 'resolved'] as const

export interface HealthEvent {
  acknowledgedAt: string | null
  acknowledgedBy?: string
  details: Record<string, unknown>
  id: string
  nodeId?: string
  openedAt: string
  recordingId?: string
  resolvedAt: string | null
  resolvedBy?: string
  scheduleId?: string
  severity: Severity
  status: (typeof HEALTH_STATUSES)[number]
  suppressedAt: string | null
  suppressedBy?: string
  suppressedUntil: string | null
  type: string
}
