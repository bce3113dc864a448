import type { FleetApi } from '../../fleet/api.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { RecordingsApi } from '../api.ts'
import { isInItsRoom } from '../library/start.rules.ts'

const REASON = 'channels_moved'

interface Parts extends Pick<RecordingsApi, 'jobService' | 'jobs' | 'recordings'> {
  audit: Audit
  nodes: FleetApi['nodes']
}

/**
 * Channels of a node went to another room: what was to be captured from them for their old room must not begin. A retry is
 * refused for the same reason; a take that runs goes on.
 */
export const failMoved =
  ({ audit, jobService, jobs, nodes, recordings }: Parts) =>
  (nodeId: string, now: string): void => {
    const node = nodes.get(nodeId, now)
    for (const job of jobs.queuedOf(nodeId)) {
      if (isInItsRoom(node, job, recordings.find(job.recordingId)?.roomId)) continue
      const effect = jobService.end(job, 'failed', REASON, now)
      audit.write(
        {
          action: 'recording_jobs.channels_moved',
          actor: systemActor('recording-jobs'),
          correlation: { recordingId: job.recordingId, recordingJobId: job.id },
          details: { ...effect, nodeId, terminalState: 'failed' },
          outcome: 'succeeded',
          permission: 'recording:control',
          reason: REASON,
          target: { type: 'recording_job', id: job.id },
        },
        now,
      )
    }
  }
