import type { UploadItem } from '../../../wire/uploads.ts'
import type { Db } from '../../store/db.ts'

interface Begun {
  destinationId: string
  key: string
}

/** Uploads in parts that may have left parts at a store, which charges for them and shows them to nobody. */
export function multipartStore(db: Db) {
  const begun = db.stmt<Begun & { itemId: string; now: string }>(
    `INSERT INTO multipart_uploads (destination_id, object_key, item_id, begun_at)
     SELECT id, @key, @itemId, @now FROM upload_destinations WHERE id = @destinationId
     ON CONFLICT DO UPDATE SET item_id = excluded.item_id, begun_at = excluded.begun_at`,
  )
  // Under way: the item's attempt has a claim.
  const old = db.stmt<{ before: string; limit: number }, Begun>(
    `SELECT m.destination_id AS destinationId, m.object_key AS key FROM multipart_uploads m
      WHERE m.begun_at < @before AND NOT EXISTS (SELECT 1 FROM upload_queue q WHERE q.id = m.item_id AND q.claim IS NOT NULL)
      ORDER BY m.begun_at LIMIT @limit`,
  )
  const drop = db.stmt<Begun>(
    `DELETE FROM multipart_uploads WHERE destination_id = @destinationId AND object_key = @key`,
  )
  const later = db.stmt<Begun & { now: string }>(
    `UPDATE multipart_uploads SET begun_at = @now WHERE destination_id = @destinationId AND object_key = @key`,
  )
  return {
    /** Call it before the store is asked, outside of transactions. */
    begun: ({ destinationId = '', id }: UploadItem, remote: readonly string[], now: string): void =>
      void db.tx(() => begun.run({ destinationId, itemId: id, key: remote.join('/'), now })),
    /** Keys whose last upload began before `before` and that nobody is sending now, oldest first. */
    old: (before: string, limit: number): Begun[] => old.all({ before, limit }),
    /** Nothing of it is left at the store. */
    done: ({ destinationId, key }: Begun): void => void db.tx(() => drop.run({ destinationId, key }), false),
    /** The store could not be asked: the key is due again in as long a time. */
    later: ({ destinationId, key }: Begun, now: string): void =>
      void db.tx(() => later.run({ destinationId, key, now }), false),
  }
}
export type MultipartStore = ReturnType<typeof multipartStore>
