import type { Severity } from '../../wire/health.ts'

export interface Happening {
  details?: Record<string, unknown>
  recordingId?: string
  severity: Severity
  /** `agent.*`, from the catalogue of the contract where it has one. */
  type: string
}

/** Tells what happened. Never throws and never waits: it is written locally first and sent when the link is up. */
export type Report = (happening: Happening) => void
