import type { UploadItem } from '../../wire/uploads.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import { FILE_HELD, FILE_MISSED } from '../recordings/library/held.rules.ts'
import type { Db, Params } from '../store/db.ts'
import {
  type Chunks,
  isMaster,
  newestPerTarget,
  type Outcome,
  outcomeOf,
  reconciled,
  VERIFIED_THERE,
} from './queue.rules.ts'
import type { UploadQueueStore } from './queue.store.ts'

/** The result of a recording's uploads; `retention` says what happened to its file here. */
export interface Reconciliation {
  retention: Retention
  status: 'uploaded' | 'partial'
  /** Files to unlink after the commit. */
  unlink: string[]
}

interface Retention {
  cacheDeleted?: true
  policyId?: string
  skipped?: string
}

interface Verified {
  cachePath: string
  checksum: string
  chunkId: string | null
  deletes: number | null
  id: string
  policyId: string | null
  verified: number | null
}

interface Parts {
  chunks: RecordingsApi['chunks']
  db: Db
  /** Whether somebody is playing or downloading the take. */
  held: (recordingId: string) => boolean
  queue: UploadQueueStore
}

const CHUNK_STATUS = { all: 'uploaded', none: 'failed', some: 'partial' } as const

/**
 * Brings a recording in line with its uploads (docs/contract/uploads.md: Reconciling). Every write is meant to run inside a
 * transaction.
 */
export function reconcileStore({ chunks, db, held, queue }: Parts) {
  const settle = db.stmt<Params>(
    `UPDATE recordings SET status = @status, updated_at = @now
      WHERE id = @id AND status IN ('cached', 'partial', 'uploaded')`,
  )
  const secured = db.stmt<{ id: string }, { status: string }>(
    `SELECT status FROM recordings WHERE id = @id AND status IN ('cached', 'partial', 'uploaded')`,
  )
  const verified = db.stmt<{ ids: string }, Verified>(
    `SELECT q.id, q.cache_path AS cachePath, q.checksum, q.chunk_id AS chunkId, q.verification ${VERIFIED_THERE} AS verified,
       q.upload_policy_id AS policyId, p.delete_cache_after_upload AS deletes
       FROM json_each(@ids) one CROSS JOIN upload_queue q ON q.id = one.value
       LEFT JOIN upload_policies p ON p.id = q.upload_policy_id ORDER BY one.key`,
  )
  // Only the bytes that were verified, never the raw master, and nothing that another item still has to send.
  const mayGo = `f.recording_id = @id AND f.path = @path AND f.checksum = @checksum AND f.rendition <> 'raw' AND f.local = 1
    AND NOT EXISTS (SELECT 1 FROM upload_queue q WHERE q.recording_id = @id AND q.cache_path = @path
      AND q.status IN ('queued', 'retrying', 'failed'))`
  // Where a destination keeps the library its row stays, and it is played from there.
  const free = db.stmt<Params>(`UPDATE recording_files AS f SET local = 0 WHERE ${mayGo} AND ${FILE_HELD}`)
  const forget = db.stmt<Params>(`DELETE FROM recording_files AS f WHERE ${mayGo} AND NOT ${FILE_MISSED}`)
  const postpone = db.stmt<{ id: string; pending: number }>(
    `UPDATE upload_queue SET release_pending = @pending WHERE id = @id`,
  )
  const postponed = db.stmt<{ limit: number }, { id: string; recordingId: string }>(
    `SELECT id, recording_id AS recordingId FROM upload_queue WHERE release_pending = 1 ORDER BY updated_at LIMIT @limit`,
  )

  const chunksOf = (id: string, items: UploadItem[]): Chunks | undefined => {
    if (items.length === 0) return undefined
    const byIndex = Map.groupBy(items, (item) => item.chunkIndex ?? 0)
    const outcomes = [...byIndex].map(([index, own]) => chunkOutcome(id, index, own))
    const set = chunks.find(id)
    const whole = set?.total != null && set.primaries === set.total && set.highest === set.total
    return { jobEnded: set?.ended ?? true, outcomes, total: whole ? (set.total ?? undefined) : undefined }
  }

  const chunkOutcome = (id: string, index: number, own: UploadItem[]): Outcome => {
    const outcome = outcomeOf(own.map((item) => item.status))
    chunks.uploading(id, index)
    if (outcome !== 'pending') chunks.settled(id, index, CHUNK_STATUS[outcome])
    return outcome
  }

  const release = (recordingId: string, items: Verified[]): { retention: Retention; unlink: string[] } => {
    const [wanted] = items.filter((item) => item.deletes === 1)
    if (!wanted) return { retention: { skipped: 'policy_keeps_cache' }, unlink: [] }
    const policyId = wanted.policyId ?? ''
    const proven = items.filter((item) => item.deletes === 1 && item.verified === 1)
    const sure = proven.find((item) => item.chunkId === null) ?? proven[0]
    if (!sure) return { retention: { policyId, skipped: 'upload_unverified' }, unlink: [] }
    if (sure.chunkId !== null) return { retention: { policyId, skipped: 'chunked_per_chunk_retention' }, unlink: [] }
    if (held(recordingId)) {
      postpone.run({ id: sure.id, pending: 1 })
      return { retention: { policyId, skipped: 'recording_in_use' }, unlink: [] }
    }
    postpone.run({ id: sure.id, pending: 0 })
    const file = { id: recordingId, path: sure.cachePath, checksum: sure.checksum }
    if (free.run(file) + forget.run(file) !== 1)
      return { retention: { policyId, skipped: 'recording_cache_missing' }, unlink: [] }
    return { retention: { cacheDeleted: true, policyId }, unlink: [sure.cachePath] }
  }

  /** Undefined while uploads are under way, and when none of them succeeded. */
  const reconcile = (recordingId: string, now: string): Reconciliation | undefined => {
    const real = queue.ofRecording(recordingId).filter((item) => item.provider !== 'stub')
    const items = newestPerTarget(real)
    const wholes = items.filter((item) => item.chunkId === undefined)
    const pieces = chunksOf(
      recordingId,
      items.filter((item) => item.chunkId !== undefined),
    )
    const whole = wholes.length > 0 ? outcomeOf(wholes.map((item) => item.status)) : undefined
    const status = reconciled(whole, pieces)
    // Chunks are tracked while the take is still being made, the recording only once it is secured.
    if (!status || !secured.get({ id: recordingId })) return undefined
    settle.run({ id: recordingId, status, now })
    if (status === 'partial') return { retention: { skipped: 'upload_incomplete' }, status, unlink: [] }
    const ids = JSON.stringify(items.filter((item) => !isMaster(item.cachePath)).map((item) => item.id))
    return { status, ...release(recordingId, verified.all({ ids })) }
  }

  return {
    reconcile,
    /** Recordings whose uploaded file could not be deleted yet because it was in use. */
    postponed: (limit: number): string[] => [...new Set(postponed.all({ limit }).map((row) => row.recordingId))],
    /** Reconciles one of them again; undefined while it is still in use. */
    retry(recordingId: string, now: string): Reconciliation | undefined {
      if (held(recordingId)) return undefined
      for (const item of queue.ofRecording(recordingId)) postpone.run({ id: item.id, pending: 0 })
      return reconcile(recordingId, now)
    },
  }
}
export type ReconcileStore = ReturnType<typeof reconcileStore>
