import type { RetentionPolicy } from '../../../wire/retention.ts'
import type { Db } from '../../store/db.ts'
import type { Candidate } from './retention.rules.ts'

type Which = Pick<RetentionPolicy, 'deleteOnlyAfterUploaded' | 'id' | 'preserveTagged'>
interface Asked {
  policyId: string
  tagged: number
  uploadedOnly: number
}
type Row = Candidate & { wanted: number }

const BYTES = `(SELECT coalesce(sum(size_bytes), 0) FROM recording_files f WHERE f.recording_id = r.id)
  + (SELECT coalesce(sum(size_bytes), 0) FROM recording_chunk_files f WHERE f.recording_id = r.id)`

// What protects a take: a tag, an unfinished upload, a job, chunks that are not joined yet
// (docs/contract/recordings.md: Retention).
const WANTED = `(@uploadedOnly = 1 AND r.status <> 'uploaded')
  OR (@tagged = 1 AND EXISTS (SELECT 1 FROM recording_tags t WHERE t.recording_id = r.id))
  OR EXISTS (SELECT 1 FROM upload_queue u WHERE u.recording_id = r.id AND u.status IN ('queued', 'retrying', 'failed'))
  OR EXISTS (SELECT 1 FROM recording_jobs j WHERE j.recording_id = r.id AND j.status IN ('queued', 'running', 'stop_requested'))
  OR EXISTS (SELECT 1 FROM chunked_recordings c WHERE c.recording_id = r.id AND c.whole_at IS NULL
    AND (c.join_at IS NOT NULL OR c.primary_joined IS NOT c.primary_revision))`
const STORED = `r.cached = 1 AND r.status IN ('cached', 'uploaded')`

const asked = ({ deleteOnlyAfterUploaded, id, preserveTagged }: Which): Asked => ({
  policyId: id,
  tagged: Number(preserveTagged),
  uploadedOnly: Number(deleteOnlyAfterUploaded),
})

/** Finds the takes that a retention policy may delete, and deletes their files. */
export function retentionStore(db: Db) {
  const slice = db.stmt<Asked & { at: string; id: string; size: number }, Row>(
    `SELECT r.id, r.recorded_at AS recordedAt, ${BYTES} AS bytes, (${WANTED}) AS wanted FROM recordings r
      WHERE r.retention_policy_id = @policyId AND ${STORED} AND (r.recorded_at, r.id) > (@at, @id)
      ORDER BY r.recorded_at, r.id LIMIT @size`,
  )
  const clear = db.stmt<Asked & { id: string; now: string }>(
    `UPDATE recordings AS r SET status = CASE r.status WHEN 'cached' THEN 'completed' ELSE r.status END, updated_at = @now
      WHERE r.id = @id AND r.retention_policy_id = @policyId AND ${STORED} AND NOT (${WANTED})`,
  )
  const paths = db.stmt<{ id: string }, { path: string; bytes: number }>(
    `SELECT path, size_bytes AS bytes FROM recording_files WHERE recording_id = @id
     UNION ALL SELECT path, size_bytes FROM recording_chunk_files WHERE recording_id = @id`,
  )
  const forget = ['recording_files', 'recording_chunk_files'].map((table) =>
    db.stmt<{ id: string }>(`DELETE FROM ${table} WHERE recording_id = @id`),
  )
  return {
    /** Slices of a policy's stored takes, oldest first, including `wanted` ones, which must be skipped. */
    *oldest(policy: Which, size: number): Generator<Row[]> {
      let last = { recordedAt: '', id: '' }
      for (;;) {
        const rows = slice.all({ ...asked(policy), at: last.recordedAt, id: last.id, size })
        if (rows.length > 0) yield rows
        if (rows.length < size) return
        last = rows.at(-1) as Row
      }
    },
    /**
     * Removes the rows of a take's files if it may still be deleted; undefined otherwise. Delete the files after the commit: a
     * crash in between leaves a file without a row, never a row without its file.
     */
    clear(policy: Which, id: string, now: string): { bytes: number; paths: string[] } | undefined {
      const files = paths.all({ id })
      if (files.length === 0 || clear.run({ ...asked(policy), id, now }) !== 1) return undefined
      for (const statement of forget) statement.run({ id })
      return { bytes: files.reduce((sum, file) => sum + file.bytes, 0), paths: files.map((file) => file.path) }
    },
  }
}
export type RetentionStore = ReturnType<typeof retentionStore>
