import { KEEPS_LIBRARY } from '../../recordings/library/held.rules.ts'
import type { Db, Params } from '../../store/db.ts'
import { COPY_COLUMNS, type Copy, type FileId } from '../copies.store.ts'

/** A destination that has become another place, and the last copy that was looked for there. */
interface Move extends FileId {
  destinationId: string
  place: number
  /** Copies on the way to it of which the store said nothing. */
  skipped: number
}

/** A copy of a file, with what tells whether it is to be looked for. */
interface Listed extends Copy {
  sizeBytes: number | null
}
export type Sought = Listed & { sizeBytes: number }

/** Destinations that have become another place, until each of their copies was looked for there (sql/0032_moved_libraries.sql). */
export function moveStore(db: Db) {
  const all = db.stmt<object, Move>(
    `SELECT m.destination_id AS destinationId, m.place, m.recording_id AS recordingId, m.checksum, m.skipped FROM library_moves m
       JOIN upload_destinations d ON d.id = m.destination_id AND ${KEEPS_LIBRARY}`,
  )
  // A file that was replaced since has no size: its copy is of no use.
  const slice = db.stmt<Params, Listed>(
    `SELECT ${COPY_COLUMNS},
       (SELECT max(f.size_bytes) FROM recording_files f WHERE f.recording_id = c.recording_id AND f.checksum = c.checksum) AS sizeBytes
       FROM remote_copies c JOIN upload_destinations d ON d.id = c.destination_id
      WHERE c.destination_id = @destinationId AND (c.recording_id, c.checksum) > (@recordingId, @checksum)
      ORDER BY c.recording_id, c.checksum LIMIT @limit`,
  )
  const seen = db.stmt<Params>(
    `UPDATE remote_copies SET verified_at = @now, damaged_at = NULL, etag = @etag, place = @place
      WHERE recording_id = @recordingId AND checksum = @checksum AND destination_id = @destinationId`,
  )
  const elsewhere = db.stmt<FileId & Params, Copy>(
    `SELECT ${COPY_COLUMNS} FROM remote_copies c JOIN upload_destinations d ON d.id = c.destination_id
      WHERE c.recording_id = @recordingId AND c.checksum = @checksum AND c.damaged_at IS NOT NULL`,
  )
  const goOn = db.stmt<Params>(
    `UPDATE library_moves SET recording_id = @recordingId, checksum = @checksum, skipped = @skipped
      WHERE destination_id = @destinationId AND place = @place`,
  )
  const end = db.stmt<Params>('DELETE FROM library_moves WHERE destination_id = @destinationId AND place = @place')
  return {
    /** The moves that are not over. */
    all: (): Move[] => all.all({}),
    /** Whether there are such. */
    isAny: (): boolean => all.get({}) !== undefined,
    /** The next `limit` copies of one; fewer are the last. */
    next: ({ checksum, destinationId, recordingId }: Move, limit: number): Listed[] =>
      slice.all({ checksum, destinationId, limit, recordingId }),
    /** A copy is at the new place, too; `etag`: as the store names it there. */
    seen: ({ checksum, destinationId, place, recordingId }: Sought, etag: string | null, now: string): void =>
      void seen.run({ checksum, destinationId, etag, now, place, recordingId }),
    /** Where else the file is known to be damaged. */
    damagedElsewhere: ({ checksum, recordingId }: FileId): Copy[] => elsewhere.all({ checksum, recordingId }),
    /** Everything up to there was looked for. */
    goOn: ({ checksum, destinationId, place, recordingId, skipped }: Move): void =>
      void goOn.run({ checksum, destinationId, place, recordingId, skipped }),
    /** All of it was. */
    end: ({ destinationId, place }: Move): void => void end.run({ destinationId, place }),
  }
}
export type MoveStore = ReturnType<typeof moveStore>
