import { COUNTS, KEEPS_LIBRARY } from '../../recordings/library/held.rules.ts'
import type { Db, Params } from '../../store/db.ts'
import type { Copy, FileId } from '../copies.store.ts'

/** A destination that has become another place, and the last copy that was looked for there. */
interface Move extends FileId {
  destinationId: string
  place: number
}

/** A copy that was seen at a former place of its destination. */
export interface Sought extends Copy {
  /** Whether it is still to be seen at this one. */
  doubted: number
  sizeBytes: number | null
}

/** Destinations that have become another place, until each of their copies was looked for there (sql/0032_moved_libraries.sql). */
export function moveStore(db: Db) {
  const all = db.stmt<object, Move>(
    `SELECT m.destination_id AS destinationId, m.place, m.recording_id AS recordingId, m.checksum FROM library_moves m
       JOIN upload_destinations d ON d.id = m.destination_id AND ${KEEPS_LIBRARY}`,
  )
  const slice = db.stmt<Params, Sought>(
    `SELECT c.recording_id AS recordingId, c.checksum, c.destination_id AS destinationId, c.object_key AS key, c.etag,
       c.damaged_at AS damagedAt, c.damaged_at IS NULL AND NOT (${COUNTS}) AS doubted, d.place,
       (SELECT max(f.size_bytes) FROM recording_files f WHERE f.recording_id = c.recording_id AND f.checksum = c.checksum) AS sizeBytes
       FROM remote_copies c JOIN upload_destinations d ON d.id = c.destination_id
      WHERE c.destination_id = @destinationId AND (c.recording_id, c.checksum) > (@recordingId, @checksum)
      ORDER BY c.recording_id, c.checksum LIMIT @limit`,
  )
  const seen = db.stmt<Params>(
    `UPDATE remote_copies SET verified_at = @now, place = @place
      WHERE recording_id = @recordingId AND checksum = @checksum AND destination_id = @destinationId AND damaged_at IS NULL`,
  )
  const forget = db.stmt<Params>(
    `DELETE FROM remote_copies
      WHERE recording_id = @recordingId AND checksum = @checksum AND destination_id = @destinationId AND place < @place`,
  )
  const goOn = db.stmt<Params>(
    `UPDATE library_moves SET recording_id = @recordingId, checksum = @checksum
      WHERE destination_id = @destinationId AND place = @place`,
  )
  const end = db.stmt<Params>('DELETE FROM library_moves WHERE destination_id = @destinationId AND place = @place')
  const params = ({ checksum, destinationId, place, recordingId }: Move): Params => ({
    ...{ checksum, destinationId, place, recordingId },
  })
  return {
    /** The moves that are not over. */
    all: (): Move[] => all.all({}),
    /** The next `limit` copies of one; fewer are the last. */
    next: (move: Move, limit: number): Sought[] => slice.all({ ...params(move), limit }),
    /** A copy is at the new place, too. */
    seen: (copy: Sought, now: string): void => void seen.run({ ...params(copy), now }),
    /** A copy is at the former place alone. False when it was sent meanwhile. */
    forget: (copy: Sought): boolean => forget.run(params(copy)) === 1,
    /** Everything up to this copy was looked for. */
    goOn: (copy: Move): void => void goOn.run(params(copy)),
    /** All of them were. */
    end: (move: Move): void => void end.run(params(move)),
  }
}
export type MoveStore = ReturnType<typeof moveStore>
