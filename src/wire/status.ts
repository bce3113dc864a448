import * as z from 'zod'
import type { Profile } from './profiles.ts'
import type { WatchdogPolicy } from './watchdog.ts'

/** A background runner as it stands; times of the last pass are absent before the first. */
export interface RunnerReport {
  enabled: boolean
  intervalSeconds: number
  lastDurationMs?: number
  lastError?: string
  lastResult?: unknown
  lastRunAt?: string
  name: string
  running: boolean
}

/**
 * Counts over what the caller sees (docs/contract/api.md: Status and probes). Alerts are health events that are not resolved.
 */
export interface Status {
  acknowledgedAlerts: number
  /** In progress: status `recording`, or a running job. */
  activeRecordings: number
  alertingNodes: number
  /** With stored audio, whatever their status. */
  cachedRecordings: number
  /** End of the certificate HTTPS is served with; absent for plain HTTP. */
  certificateExpiresAt?: string
  completedRecordings: number
  criticalAlerts: number
  degradedNodes: number
  failedRecordings: number
  /** Items of the upload queue that were given up. */
  failedUploads: number
  nodeCount: number
  offlineNodes: number
  onlineNodes: number
  openAlerts: number
  /** Awaiting first contact. */
  provisioningNodes: number
  queuedRecordings: number
  recordingNodes: number
  /** Only with settings:read: the built-in profile, or the first visible. */
  recordingProfile?: Profile
  /** Only for who sees everything. */
  runners?: RunnerReport[]
  startedAt: string
  suppressedAlerts: number
  totalRecordings: number
  unresolvedAlerts: number
  uploadedRecordings: number
  uptimeSeconds: number
  version: string
  warningAlerts: number
  /** As `recordingProfile`. */
  watchdogPolicy?: WatchdogPolicy
}

/** What `GET /healthz` answers: that a controller of Roomtone is here, and which. */
const Liveness = z.object({ ok: z.literal(true), service: z.literal('roomtone'), version: z.string().min(1) })
/** The same in a body that may be anything; undefined when it is none. */
export const livenessOf = (body: unknown): z.infer<typeof Liveness> | undefined => Liveness.safeParse(body).data

/** What `GET /readyz` answers; `runners`, how the background work stands, to the controller's own machine only. */
const Readiness = z.object({
  database: z.string(),
  ok: z.boolean(),
  runners: z
    .array(
      z.object({
        enabled: z.boolean(),
        intervalSeconds: z.number(),
        lastError: z.string().optional(),
        lastRunAt: z.string().optional(),
        name: z.string(),
        running: z.boolean(),
      }),
    )
    .optional(),
  service: z.literal('roomtone'),
  startedAt: z.string(),
  version: z.string(),
})
/** The same in a body that may be anything; undefined when it is none. */
export const readinessOf = (body: unknown): z.infer<typeof Readiness> | undefined => Readiness.safeParse(body).data
