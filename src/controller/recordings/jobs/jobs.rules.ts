import type { Job } from '../../../wire/recordings.ts'
import { spreadGrams } from '../library/search.rules.ts'

export const isRetryable = ({ status }: Job): boolean => status === 'failed' || status === 'cancelled'

/** Whether it can be asked to stop, which is possible once (docs/contract/recordings.md: States of a job). */
export const isStoppable = (job: Job): boolean => job.status === 'queued' || job.status === 'running' || mayGoOn(job)

interface Others {
  activeOf(recordingId: string): Job | undefined
  isSuperseded(job: Job): boolean
}

/** The stored files belong to a later job, or to one that delivered late: a retry would delete them. */
const SUPERSEDED = 'superseded_by_retry'

/** Why these jobs cannot all be retried, in this order (docs/contract/recordings.md: Retry); undefined when they can. */
export function retryFault(jobs: readonly Job[], { activeOf, isSuperseded }: Others) {
  if (!jobs.every(isRetryable))
    return { reason: 'job_not_retryable', words: 'One or more recording jobs cannot be retried' }
  if (new Set(jobs.map((job) => job.recordingId)).size < jobs.length)
    return {
      reason: 'duplicate_recording_selection',
      words: 'Only one retry job per recording can be created at once',
    }
  if (jobs.some((job) => activeOf(job.recordingId)))
    return { reason: 'active_job_exists', words: 'One or more recordings already have active jobs' }
  const [late] = jobs.filter(isSuperseded)
  if (late) return { reason: SUPERSEDED, words: supersededWords(late) }
}

/** Why one job cannot be retried (docs/contract/recordings.md: Retry); undefined when it can. */
export function singleRetryFault(job: Job, { activeOf, isSuperseded }: Others) {
  const words = 'Recording job cannot be retried'
  if (!isRetryable(job)) return { reason: 'job_not_retryable', words }
  if (activeOf(job.recordingId)) return { reason: 'active_job_exists', words }
  if (isSuperseded(job)) return { reason: SUPERSEDED, words: supersededWords(job) }
}

const supersededWords = ({ id, recordingId }: Job): string =>
  `Another job of recording ${recordingId} has replaced ${id}, and a retry would delete what it stored: retry the recording's newest job if that failed, or start a new recording`

/** Reasons of jobs whose lease ran out, for example while the agent was cut off (ADR-0009). */
export const LEASE_EXPIRED = 'lease_expired'
/** Of a scheduled job that no recorder has claimed by the end of its slot. */
export const SLOT_ENDED = 'slot_ended'
export const STOP_EXPIRED = 'stop_request_lease_expired'

/** The job was stopped by an operator: nothing went wrong. */
export const OPERATOR_STOP = 'controller_stop_requested'

export const isLeaseReason = (reason: string | undefined): boolean =>
  reason === LEASE_EXPIRED || reason === STOP_EXPIRED

/** Its lease ran out, but a take goes on without a controller: its recorder may still be at it (ADR-0009). */
export const mayGoOn = ({ failureReason, status }: Job): boolean =>
  status === 'failed' && failureReason === LEASE_EXPIRED

export const endedByLease = (job: Job): boolean => isLeaseReason(job.failureReason)

/** Up to this many matches are fetched and sorted; more are found quickly by walking from the newest. */
export const SMALL_SET = 4000

/** The full-text query for ids that may contain a text of three characters or more: those with its trigrams. */
export const gramQuery = (text: string): string =>
  [...new Set(spreadGrams([...text]))].map((gram) => `"${gram.replaceAll('"', '""')}"`).join(' AND ')

// Every id contains these: one or two of their characters match nearly all jobs.
const FIXED = 'job_ rec_ .mp3 .wav .flac'

/** Whether one or two characters can be in no id, so that only the words of jobs need searching. */
export const onlyInWords = (text: string): boolean => !/^[0-9a-f-]+$/.test(text) && !FIXED.includes(text)
