import type { Severity } from '../../wire/health.ts'

export interface Happening {
  details?: Record<string, unknown>
  recordingId?: string
  severity: Severity
  /** `agent.*`, from the catalogue of the contract where it has one. */
  type: string
}

/** Reports a health event. Never throws or waits: events are logged locally first and sent when the link is up. */
export type Report = (happening: Happening) => void
