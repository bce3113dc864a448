import type { Job, RecordingStatus } from '../../../wire/recordings.ts'
import type { Events } from '../../events.ts'
import type { HealthApi } from '../../monitoring/health/api.ts'
import type { ChunkStore } from '../chunks/chunks.store.ts'
import type { RecordingStore } from '../library/recordings.store.ts'
import { endedByLease, OPERATOR_STOP } from './jobs.rules.ts'
import type { JobStore } from './jobs.store.ts'
import type { LeaseStore } from './leases.store.ts'

interface Parts {
  chunks: Pick<ChunkStore, 'schedule'>
  events: Events
  health: HealthApi['health']
  jobs: JobStore
  leases: LeaseStore
  recordings: RecordingStore
}

/** The effect of a job's end: the recording's status and the health event opened. */
interface Ended {
  healthEventId?: string
  recordingStatus: RecordingStatus
}

/**
 * The only place where jobs end or are asked to stop: updates job, recording, chunks and health in the caller's transaction.
 * Claims that wait for the node's device are woken after the commit.
 */
export function jobService({ chunks, events, health, jobs, leases, recordings }: Parts) {
  const changed = ({ id, nodeId, recordingId }: Job): void =>
    events.emit('job.changed', { id, nodeId, recordingId, status: jobs.get(id).status })

  return {
    /** Announces that a job was created, claimed or changed. */
    changed,
    /** The take has arrived: completes its job, even one whose lease had run out (ADR-0009). */
    complete(job: Job, now: string): void {
      if (endedByLease(job)) leases.revive(job.id, now)
      else leases.end(job.id, 'completed', null, now)
      health.resolveDelivered(job.recordingId, job.id, now)
      changed(job)
    },
    /** Ends an active job without a take (docs/contract/recordings.md: States of a job); undefined when it had ended before. */
    end(job: Job, to: 'failed' | 'cancelled', reason: string, now: string): Ended | undefined {
      if (!leases.end(job.id, to, reason, now)) return undefined
      chunks.schedule(job.recordingId, now)
      changed(job)
      const recordingStatus = recordings.settle(job.recordingId, to === 'failed' ? 'failed' : 'completed', now)
      if (to === 'cancelled' && reason === OPERATOR_STOP) return { recordingStatus }
      const { event } = health.open(
        {
          type: `controller.recording.job_${to}`,
          severity: to === 'failed' ? 'critical' : 'warning',
          nodeId: job.nodeId,
          recordingId: job.recordingId,
          openedAt: now,
          details: { jobId: job.id, reason, source: 'recording_job_terminal', terminalState: to },
        },
        now,
      )
      return { healthEventId: event.id, recordingStatus }
    },
    /** An operator's stop: asks a claimed job to stop, ends a queued one at once; false when there is nothing to stop. */
    stop(job: Job | undefined, recordingId: string, now: string): boolean {
      const stopped = job !== undefined && leases.stop(job.id, now)
      if (!stopped) leases.callOff(recordingId, now)
      if (job) changed(job)
      // The take of one whose lease ran out has ended; another job may be making it anew.
      if (!job || !endedByLease(job)) recordings.finish(recordingId, now)
      return stopped
    },
  }
}
export type JobService = ReturnType<typeof jobService>
