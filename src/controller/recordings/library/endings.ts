import type { HealthStore } from '../../monitoring/health/health.store.ts'
import type { Ending } from '../jobs/leases.rules.ts'
import type { RecordingStore } from './recordings.store.ts'

const OPERATOR_STOP = 'controller_stop_requested'

/** Chunks that wait for a rest that does not come any more. */
interface Chunks {
  schedule(recordingId: string, now: string): void
}

/** Wakes a node: one that waits for the device may begin. */
interface Rung {
  ring(nodeId: string): void
}

/** What the end of a job does to its recording, and the health event it opens (contract A, 4.3). */
export function endings(recordings: RecordingStore, health: HealthStore, chunks: Chunks, bell: Rung): Ending {
  return (job, to, reason, now) => {
    chunks.schedule(job.recordingId, now)
    bell.ring(job.nodeId)
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
  }
}
