import type { Job, RecordingStatus } from '../../../wire/recordings.ts'

/** Reasons of jobs that ended by bookkeeping: their lease ran out while the agent was cut off (decision 15). */
export const LEASE_EXPIRED = 'lease_expired'
export const STOP_EXPIRED = 'stop_request_lease_expired'

export const isLeaseReason = (reason: string | undefined): boolean =>
  reason === LEASE_EXPIRED || reason === STOP_EXPIRED

export const endedByLease = (job: Job): boolean => isLeaseReason(job.failureReason)

/** What the end of a job does to its recording: the status it has now, and the health event it opened. */
export type Ending = (
  job: Job,
  to: 'failed' | 'cancelled',
  reason: string,
  now: string,
) => { healthEventId?: string; recordingStatus: RecordingStatus }
