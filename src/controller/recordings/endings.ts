import type { HealthStore } from '../health/health.store.ts'
import type { Ending } from '../jobs/leases.rules.ts'
import type { RecordingStore } from './recordings.store.ts'

export const OPERATOR_STOP = 'controller_stop_requested'

/** What the end of a job does to its recording, and the health event it opens (contract A, 4.3). */
export function endings(recordings: RecordingStore, health: HealthStore): Ending {
  return (job, to, reason, now) => {
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
