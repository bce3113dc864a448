import { COUNTS, KEEPS_LIBRARY } from '../recordings/library/held.rules.ts'
import type { Db, Params } from '../store/db.ts'
import type { ObjectAt } from './driver.ts'

/** A file of a take. */
export interface FileId {
  checksum: string
  recordingId: string
}

/** A file of a take as a destination holds it. */
export interface Copy extends FileId, ObjectAt {
  /** Since when it is known to be lost or another object. */
  damagedAt: string | null
  destinationId: string
  /** It was seen at a former place of its destination, and not yet at this one. */
  doubted: number
  /** Of its destination, when this was asked: it counts up with each move. */
  place: number
}

/** A copy that was just verified. */
export type Kept = Omit<Copy, 'damagedAt' | 'doubted' | 'place'>

/** The columns of a `Copy`, of `remote_copies c` at `upload_destinations d`. */
export const COPY_COLUMNS = `c.recording_id AS recordingId, c.checksum, c.destination_id AS destinationId, c.object_key AS key, c.etag,
  c.damaged_at AS damagedAt, c.place <> d.place AS doubted, d.place`

/** What destinations hold of takes (docs/contract/recordings.md: Beyond the disk). Call every write inside a transaction. */
export function copyStore(db: Db) {
  const keep = db.stmt<Params>(
    `INSERT INTO remote_copies (recording_id, checksum, destination_id, object_key, etag, verified_at, place)
     SELECT @recordingId, @checksum, id, @key, @etag, @now, place FROM upload_destinations WHERE id = @destinationId
     ON CONFLICT DO UPDATE SET object_key = excluded.object_key, etag = excluded.etag, verified_at = excluded.verified_at,
       place = excluded.place, damaged_at = NULL`,
  )
  // Sound ones first.
  const readable = db.stmt<FileId & Params, Copy>(
    `SELECT ${COPY_COLUMNS} FROM remote_copies c JOIN upload_destinations d ON d.id = c.destination_id AND ${KEEPS_LIBRARY}
      WHERE c.recording_id = @recordingId AND c.checksum = @checksum ORDER BY c.damaged_at IS NOT NULL, c.place <> d.place, c.verified_at DESC`,
  )
  const damage = db.stmt<Params>(
    `UPDATE remote_copies SET damaged_at = @now WHERE recording_id = @recordingId AND checksum = @checksum AND damaged_at IS NULL
        AND destination_id = (SELECT id FROM upload_destinations WHERE id = @destinationId AND place = @place)`,
  )
  const heal = db.stmt<Params>(
    `UPDATE remote_copies SET damaged_at = NULL, verified_at = @now, place = @place WHERE recording_id = @recordingId
        AND checksum = @checksum AND destination_id = @destinationId AND damaged_at IS NOT NULL`,
  )
  // What was sent is due again, and no longer counts as verified.
  const reopen = db.stmt<Params>(
    `UPDATE upload_queue SET status = 'retrying', attempt_count = 0, claim = NULL, verification = NULL, next_attempt_at = @now,
       last_error = 'remote_copy_damaged', updated_at = @now
      WHERE id = (SELECT id FROM upload_queue WHERE recording_id = @recordingId AND checksum = @checksum
        AND destination_id = @destinationId AND status = 'succeeded' ORDER BY updated_at DESC LIMIT 1)`,
  )
  const left = db.stmt<FileId & Params, { n: number }>(
    `SELECT (SELECT count(*) FROM remote_copies c JOIN upload_destinations d ON d.id = c.destination_id AND ${KEEPS_LIBRARY}
        WHERE c.recording_id = @recordingId AND c.checksum = @checksum AND ${COUNTS})
      + (SELECT count(*) FROM recording_files WHERE recording_id = @recordingId AND checksum = @checksum AND local = 1) AS n`,
  )
  const faults = db.stmt<Params, { n: number }>(
    `SELECT count(*) AS n FROM remote_copies c WHERE c.recording_id = @recordingId AND c.damaged_at IS NOT NULL
      AND EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = c.recording_id AND f.checksum = c.checksum)`,
  )
  const lies = db.stmt<Params>(
    `UPDATE recording_files SET local = @local WHERE recording_id = @recordingId AND checksum = @checksum AND local <> @local`,
  )
  return {
    /** The destination was seen to hold the file. */
    keep: ({ checksum, destinationId, etag, key, recordingId }: Kept, now: string): void =>
      void keep.run({ checksum, destinationId, etag, key, recordingId, now }),
    /** Where a file can be read, sound copies first. */
    readable: ({ checksum, recordingId }: FileId): Copy[] => readable.all({ checksum, recordingId }),
    /** False when that was known, or the destination has become another place since it was asked. */
    damage: ({ checksum, destinationId, place, recordingId }: Copy, now: string): boolean =>
      damage.run({ checksum, destinationId, now, place, recordingId }) === 1,
    /** It is there after all. False when nothing else was known. */
    heal: ({ checksum, destinationId, place, recordingId }: Copy, now: string): boolean =>
      heal.run({ checksum, destinationId, now, place, recordingId }) === 1,
    /** Uploads a damaged copy again. False when nothing says how it got there. */
    reopen: ({ checksum, destinationId, recordingId }: Copy, now: string): boolean =>
      reopen.run({ checksum, destinationId, recordingId, now }) === 1,
    /** How many sound copies there are, here and elsewhere. */
    left: ({ checksum, recordingId }: FileId): number => left.get({ checksum, recordingId })?.n ?? 0,
    /** How many of a take's copies are damaged. */
    faults: (recordingId: string): number => faults.get({ recordingId })?.n ?? 0,
    /** The file is on this disk. */
    here: ({ checksum, recordingId }: FileId): void => void lies.run({ checksum, local: 1, recordingId }),
    /** The file is not on this disk, as it was believed to be. */
    notHere: ({ checksum, recordingId }: FileId): void => void lies.run({ checksum, local: 0, recordingId }),
  }
}
export type CopyStore = ReturnType<typeof copyStore>
