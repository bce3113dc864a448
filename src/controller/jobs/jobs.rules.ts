import type { Job } from '../../wire/recordings.ts'

export const isRetryable = ({ status }: Job): boolean => status === 'failed' || status === 'cancelled'

/** Whether it can be asked to stop; one that was asked already cannot (contract A, J8). */
export const isStoppable = ({ status }: Job): boolean => status === 'queued' || status === 'running'

/** Why these jobs cannot all be retried, in the order of contract A, J7; undefined when they can. */
export function retryFault(jobs: readonly Job[], activeOf: (recordingId: string) => Job | undefined) {
  if (!jobs.every(isRetryable))
    return { reason: 'job_not_retryable', words: 'One or more recording jobs cannot be retried' }
  if (new Set(jobs.map((job) => job.recordingId)).size < jobs.length)
    return {
      reason: 'duplicate_recording_selection',
      words: 'Only one retry job per recording can be created at once',
    }
  if (jobs.some((job) => activeOf(job.recordingId)))
    return { reason: 'active_job_exists', words: 'One or more recordings already have active jobs' }
}
