import type { RetentionPolicy } from '../../../wire/retention.ts'
import type { Db } from '../../store/db.ts'
import { VERIFIED_THERE } from '../../uploads/queue.rules.ts'
import { FILE_DOUBTED, FILE_MISSED, HELD } from '../library/held.rules.ts'
import type { Candidate } from './retention.rules.ts'

type Which = Pick<RetentionPolicy, 'deleteOnlyAfterUploaded' | 'id' | 'preserveTagged'>
interface Asked {
  policyId: string
  tagged: number
  uploadedOnly: number
}
type Row = Candidate & { wanted: number }

interface Cleared {
  bytes: number
  /** Nothing was forgotten: a destination holds the take, and it is played from there. */
  freed: boolean
  paths: string[]
}

const BYTES = `(SELECT coalesce(sum(size_bytes), 0) FROM recording_files f WHERE f.recording_id = r.id AND f.local = 1)
  + (SELECT coalesce(sum(size_bytes), 0) FROM recording_chunk_files f WHERE f.recording_id = r.id)`

// It counts as uploaded where its bytes were verified at the destination, in each place that it was sent to, one of them is a
// destination still, and where the library is kept they are known to be there.
const UNPROVEN = `NOT EXISTS (SELECT 1 FROM upload_queue u JOIN upload_destinations d ON d.id = u.destination_id
    WHERE u.recording_id = r.id AND u.status = 'succeeded' AND u.verification ${VERIFIED_THERE})
  OR EXISTS (SELECT 1 FROM upload_queue u WHERE u.recording_id = r.id AND u.status = 'succeeded'
    AND (u.verification ${VERIFIED_THERE}) IS NOT 1
    AND NOT EXISTS (SELECT 1 FROM upload_queue o WHERE o.recording_id = r.id AND o.status = 'succeeded'
      AND o.destination_id = u.destination_id AND o.checksum = u.checksum AND o.verification ${VERIFIED_THERE}))
  OR EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id AND ${FILE_MISSED})`

// What protects a take: a tag, a part of it that is already nowhere but at a destination, or perhaps there, an unfinished upload, a job, chunks that are not joined yet
// (docs/contract/recordings.md: Retention).
const WANTED = `(@uploadedOnly = 1 AND (r.status <> 'uploaded' OR ${UNPROVEN}))
  OR (@tagged = 1 AND EXISTS (SELECT 1 FROM recording_tags t WHERE t.recording_id = r.id))
  OR (EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id AND f.local = 0) AND NOT (${HELD}))
  OR EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id AND ${FILE_DOUBTED})
  OR EXISTS (SELECT 1 FROM upload_queue u WHERE u.recording_id = r.id AND u.status IN ('queued', 'retrying', 'failed'))
  OR EXISTS (SELECT 1 FROM recording_jobs j WHERE j.recording_id = r.id AND j.status IN ('queued', 'running', 'stop_requested'))
  OR EXISTS (SELECT 1 FROM chunked_recordings c WHERE c.recording_id = r.id AND c.whole_at IS NULL
    AND (c.join_at IS NOT NULL OR c.primary_joined IS NOT c.primary_revision))`
const STORED = `r.local = 1 AND r.status IN ('cached', 'uploaded')`
const MAY_GO = `r.retention_policy_id = @policyId AND ${STORED} AND NOT (${WANTED})`

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
      WHERE r.id = @id AND ${MAY_GO}`,
  )
  const free = db.stmt<Asked & { id: string }>(
    `UPDATE recording_files SET local = 0 WHERE recording_id = @id AND local = 1
        AND EXISTS (SELECT 1 FROM recordings r WHERE r.id = @id AND ${MAY_GO} AND ${HELD})`,
  )
  const released = db.stmt<{ id: string; now: string }>(
    `UPDATE chunked_recordings SET released_at = coalesce(released_at, @now) WHERE recording_id = @id`,
  )
  const held = db.stmt<{ id: string }, { held: number }>(`SELECT ${HELD} AS held FROM recordings r WHERE r.id = @id`)
  const paths = db.stmt<{ id: string }, { path: string; bytes: number }>(
    `SELECT path, size_bytes AS bytes FROM recording_files WHERE recording_id = @id AND local = 1
     UNION ALL SELECT path, size_bytes FROM recording_chunk_files WHERE recording_id = @id`,
  )
  const forgetFiles = db.stmt<{ id: string }>(`DELETE FROM recording_files WHERE recording_id = @id`)
  const forgetChunks = db.stmt<{ id: string }>(`DELETE FROM recording_chunk_files WHERE recording_id = @id`)
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
    /** Whether a destination that keeps the library holds the take, as it was seen last. */
    held: (id: string): boolean => held.get({ id })?.held === 1,
    /**
     * Frees the files of a take that a destination holds: their rows stay. Otherwise removes the rows, if it may still be
     * deleted; undefined when it may not. Delete the files after the commit: a crash in between leaves a file without a row,
     * never a row without its file.
     */
    clear(policy: Which, id: string, now: string): Cleared | undefined {
      const files = paths.all({ id })
      if (files.length === 0) return undefined
      const freed = free.run({ ...asked(policy), id }) > 0
      if (!freed && clear.run({ ...asked(policy), id, now }) !== 1) return undefined
      if (freed) released.run({ id, now })
      else forgetFiles.run({ id })
      forgetChunks.run({ id })
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
      return { bytes, freed, paths: files.map((file) => file.path) }
    },
  }
}
export type RetentionStore = ReturnType<typeof retentionStore>
