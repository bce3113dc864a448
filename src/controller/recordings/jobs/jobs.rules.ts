import type { Job } from '../../../wire/recordings.ts'

export const isRetryable = ({ status }: Job): boolean => status === 'failed' || status === 'cancelled'

/** Whether it can be asked to stop; one that was asked already cannot (docs/contract/recordings.md: States of a job). */
export const isStoppable = ({ status }: Job): boolean => status === 'queued' || status === 'running'

interface Others {
  activeOf(recordingId: string): Job | undefined
  isSuperseded(job: Job): boolean
}

/** What is there of a recording belongs to a later job, or to one that delivered late: a retry would purge it. */
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
  `Another job of recording ${recordingId} has taken the place of ${id}, and a retry would delete what it stored: retry the recording's newest job if that failed, or start a new recording`
