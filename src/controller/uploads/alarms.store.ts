import type { UploadItem } from '../../wire/uploads.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { Db } from '../store/db.ts'
import { isMaster } from './queue.rules.ts'

const TYPE = 'controller.recording.upload_queue_failed'

/** The health event of an item that has used all attempts; resolved when its file is uploaded after all. */
export function alarmStore(db: Db, health: HealthApi['health']) {
  const open = db.stmt<{ id: string }, { id: string; itemId: string }>(
    `SELECT h.id, json_extract(h.details, '$.uploadQueueItemId') AS itemId FROM health_events h
      WHERE h.recording_id = @id AND h.type = '${TYPE}' AND h.status <> 'resolved'`,
  )
  // Items with the same target: success of a later one resolves the failure of an earlier one.
  const sameWay = db.stmt<{ id: string }, { cachePath: string; id: string }>(
    `SELECT o.id, o.cache_path AS cachePath FROM upload_queue q JOIN upload_queue o ON o.recording_id = q.recording_id
        AND o.destination_id = q.destination_id AND o.path_override IS q.path_override AND o.chunk_id IS q.chunk_id
      WHERE q.id = @id`,
  )
  const nodeOf = db.stmt<{ id: string }, { nodeId: string | null }>(
    `SELECT node_id AS nodeId FROM recordings WHERE id = @id`,
  )
  return {
    raise({ id, provider, recordingId }: UploadItem, reason: string, now: string): void {
      if (open.all({ id: recordingId }).some((event) => event.itemId === id)) return
      const details = { provider, reason, source: 'upload_runner', uploadQueueItemId: id }
      const nodeId = nodeOf.get({ id: recordingId })?.nodeId ?? undefined
      health.open({ type: TYPE, severity: 'warning', details, nodeId, openedAt: now, recordingId }, now)
    },
    clear({ cachePath, id, recordingId }: UploadItem, now: string): void {
      const events = open.all({ id: recordingId })
      if (events.length === 0) return
      const own = sameWay.all({ id }).filter((row) => isMaster(row.cachePath) === isMaster(cachePath))
      const items = new Set(own.map((row) => row.id))
      for (const event of events.filter(({ itemId }) => items.has(itemId)))
        health.move(event.id, 'resolve', { by: 'system:upload-runner', now })
    },
  }
}
export type AlarmStore = ReturnType<typeof alarmStore>
