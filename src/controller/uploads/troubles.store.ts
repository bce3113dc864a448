import type { UploadPolicy } from '../../wire/uploads.ts'
import type { Db } from '../store/db.ts'
import type { DestinationStore } from './destinations.store.ts'

/** A failure longer ago says nothing of the next upload: nothing was sent since. ms */
const COUNTS_MS = 86_400_000

/** Why takes under an upload policy would not be sent. */
interface Trouble {
  destinationId: string
  destinationName: string
  reason: string
}

/** What stands against uploads: destinations that cannot be used, or whose last attempt failed. */
export function troubleStore(db: Db, destinations: Pick<DestinationStore, 'find'>) {
  const note = db.stmt<{ error: string; id: string; now: string }>(
    `INSERT INTO upload_troubles (destination_id, error, failed_at) SELECT id, @error, @now FROM upload_destinations WHERE id = @id
     ON CONFLICT (destination_id) DO UPDATE SET error = excluded.error, failed_at = excluded.failed_at`,
  )
  const clear = db.stmt<{ id: string }>(`DELETE FROM upload_troubles WHERE destination_id = @id`)
  const failing = db.stmt<{ since: string }, { error: string; id: string }>(
    `SELECT destination_id AS id, error FROM upload_troubles WHERE failed_at > @since`,
  )
  const automatic = db.stmt<object, Pick<UploadPolicy, 'id'> & { destinationId: string }>(
    `SELECT id, destination_id AS destinationId FROM upload_policies
      WHERE enabled = 1 AND trigger_kind = 'on_recording_cached' AND destination_id IS NOT NULL`,
  )
  return {
    /** An attempt failed. */
    note: (id: string, error: string, now: string): void => void note.run({ error, id, now }),
    /** An attempt succeeded, or the destination was changed. */
    clear: (id: string): void => void clear.run({ id }),
    /** By the policies that send by themselves; `now`: ISO. */
    byPolicy(now: string): Map<string, Trouble> {
      const errors = new Map(
        failing.all({ since: new Date(Date.parse(now) - COUNTS_MS).toISOString() }).map(({ error, id }) => [id, error]),
      )
      const found = automatic.all({}).flatMap(({ destinationId, id }) => {
        const destination = destinations.find(destinationId)
        const unusable = destination?.status === 'ready' ? undefined : (destination?.reason ?? destination?.status)
        const reason = unusable ?? errors.get(destinationId)
        if (!destination || reason === undefined) return []
        return [[id, { destinationId, destinationName: destination.displayName, reason }] as const]
      })
      return new Map(found)
    },
  }
}
export type TroubleStore = ReturnType<typeof troubleStore>
