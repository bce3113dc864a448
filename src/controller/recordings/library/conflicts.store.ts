import type { Db } from '../../store/db.ts'
import type { ActiveCapture } from './conflicts.rules.ts'

interface Row extends Omit<ActiveCapture, 'from' | 'until' | 'selection'> {
  seconds: number
  selection: string | null
  since: string
}

/** The captures that hold or await a device of a node. */
export function conflictStore(db: Db) {
  const active = db.stmt<{ nodeId: string }, Row>(
    `SELECT j.id AS jobId, j.recording_id AS recordingId, r.room_id AS roomId, j.capture_interface AS interfaceId,
       j.capture_group AS captureGroupId, json_extract(j.command, '$.captureChannelSelection') AS selection,
       json_extract(j.command, '$.durationSeconds') AS seconds, coalesce(j.started_at, r.recorded_at, j.created_at) AS since
       FROM recording_jobs j JOIN recordings r ON r.id = j.recording_id
      WHERE j.node_id = @nodeId AND j.status IN ('queued', 'running', 'stop_requested')`,
  )
  return {
    active: (nodeId: string): ActiveCapture[] =>
      active.all({ nodeId }).map(({ seconds, selection, since, ...row }) => {
        const from = Date.parse(since)
        return { ...row, from, until: from + seconds * 1000, selection: selection ? JSON.parse(selection) : null }
      }),
  }
}
export type ConflictStore = ReturnType<typeof conflictStore>
