import type { Job } from '../../../wire/recordings.ts'

/** Reasons of jobs that ended by bookkeeping: their lease ran out while the agent was cut off (ADR-0009). */
export const LEASE_EXPIRED = 'lease_expired'
export const STOP_EXPIRED = 'stop_request_lease_expired'

/** An operator asked for the end, and the agent obeyed: nothing went wrong. */
export const OPERATOR_STOP = 'controller_stop_requested'

export const isLeaseReason = (reason: string | undefined): boolean =>
  reason === LEASE_EXPIRED || reason === STOP_EXPIRED

export const endedByLease = (job: Job): boolean => isLeaseReason(job.failureReason)
