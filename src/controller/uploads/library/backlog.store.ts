import { KEEPS_LIBRARY } from '../../recordings/library/held.rules.ts'
import type { Db, Params } from '../../store/db.ts'

interface Walk {
  destinationId: string
  seq: number
}

/** A recording with files that a destination does not have, and the policy that sends it there. */
interface Behind {
  policyId: string
  recordingId: string
}

/** Destinations that keep the library, but not yet all that they would have been sent as such (sql/0028_library.sql). */
export function backlogStore(db: Db) {
  const next = db.stmt<object, Walk>(
    `SELECT w.destination_id AS destinationId, w.seq FROM library_walks w
       JOIN upload_destinations d ON d.id = w.destination_id AND ${KEEPS_LIBRARY} LIMIT 1`,
  )
  const slice = 'SELECT id, seq, cached FROM recordings WHERE seq > @seq ORDER BY seq LIMIT @limit'
  const end = db.stmt<Params, { seq: number | null }>(`SELECT max(seq) AS seq FROM (${slice})`)
  const behind = db.stmt<Params, Behind>(
    `SELECT r.id AS recordingId, max(q.upload_policy_id) AS policyId FROM (${slice}) r
       JOIN upload_queue q ON q.recording_id = r.id AND q.destination_id = @destinationId AND q.status = 'succeeded'
       JOIN upload_policies p ON p.id = q.upload_policy_id AND p.destination_id = @destinationId AND p.enabled = 1
      WHERE r.cached = 1 AND EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id AND NOT EXISTS (
        SELECT 1 FROM remote_copies c WHERE c.recording_id = f.recording_id AND c.checksum = f.checksum
          AND c.destination_id = @destinationId AND c.damaged_at IS NULL))
      GROUP BY r.id, r.seq ORDER BY r.seq`,
  )
  const move = db.stmt<Params>('UPDATE library_walks SET seq = @seq WHERE destination_id = @destinationId')
  const drop = db.stmt<Params>('DELETE FROM library_walks WHERE destination_id = @destinationId')
  return {
    /** A walk that is not over. */
    next: (): Walk | undefined => next.get({}),
    /** Which of the next `limit` recordings are behind; the walk goes on behind them. Call it inside a transaction. */
    step({ destinationId, seq }: Walk, limit: number): Behind[] {
      const to = end.get({ limit, seq })?.seq ?? undefined
      const found = to === undefined ? [] : behind.all({ destinationId, limit, seq })
      if (to === undefined) drop.run({ destinationId })
      else move.run({ destinationId, seq: to })
      return found
    },
  }
}
export type BacklogStore = ReturnType<typeof backlogStore>
