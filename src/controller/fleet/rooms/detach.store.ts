import { inBatches } from '../../http/batches.ts'
import type { Db } from '../../store/db.ts'

/** Recordings detached in one statement: each also updates the counts of the library. */
const BATCH = 100

/**
 * Deletes a room or schedule that has many recordings. The foreign key would detach all of them in a single long statement;
 * here they are detached in batches before it, and come back if the deletion is refused or interrupted.
 */
export function detachStore(db: Db) {
  const rooms = ofKind(db, 'room')
  const schedules = ofKind(db, 'schedule')
  return {
    fromRoom: rooms.around,
    fromSchedule: schedules.around,
    /** Finishes what an interrupted deletion left behind. */
    async recover(): Promise<void> {
      await rooms.recover()
      await schedules.recover()
    },
  }
}
export type DetachStore = ReturnType<typeof detachStore>

function ofKind(db: Db, kind: 'room' | 'schedule') {
  const column = `${kind}_id`
  type Row = { recording: string }
  const attached = db.stmt<{ id: string; limit: number }, Row>(
    `SELECT id AS recording FROM recordings WHERE ${column} = @id LIMIT @limit`,
  )
  const detached = db.stmt<{ id: string; limit: number }, Row>(
    `SELECT recording_id AS recording FROM detached_recordings WHERE kind = '${kind}' AND owner_id = @id LIMIT @limit`,
  )
  const note = db.stmt<{ id: string; recording: string }>(
    `INSERT INTO detached_recordings (kind, owner_id, recording_id) VALUES ('${kind}', @id, @recording)`,
  )
  const forget = db.stmt<{ id: string; recording: string }>(
    `DELETE FROM detached_recordings WHERE kind = '${kind}' AND owner_id = @id AND recording_id = @recording`,
  )
  const detach = db.stmt<{ recording: string }>(`UPDATE recordings SET ${column} = NULL WHERE id = @recording`)
  const restore = db.stmt<{ id: string; recording: string }>(
    `UPDATE recordings SET ${column} = @id
      WHERE id = @recording AND ${column} IS NULL AND EXISTS (SELECT 1 FROM ${kind}s WHERE id = @id)`,
  )
  const owners = db.stmt<object, { id: string }>(
    `SELECT DISTINCT owner_id AS id FROM detached_recordings WHERE kind = '${kind}'`,
  )
  /** One batch; returns whether there may be more. */
  const batch = (from: typeof attached, id: string, move: (row: { id: string; recording: string }) => void): boolean =>
    db.tx(() => {
      const rows = from.all({ id, limit: BATCH })
      for (const { recording } of rows) move({ id, recording })
      return rows.length === BATCH
    })
  /** Gives the recordings back to an owner that is still there; of one that is gone only the notes go. */
  const settle = (id: string): Promise<void> =>
    inBatches(() =>
      batch(detached, id, (row) => {
        restore.run(row)
        forget.run(row)
      }),
    )
  const prepare = (id: string): Promise<void> =>
    inBatches(() =>
      batch(attached, id, (row) => {
        note.run(row)
        detach.run(row)
      }),
    )
  return {
    async around<T>(id: string, remove: () => T): Promise<T> {
      const removed = await prepare(id)
        .then(remove)
        .catch(async (e) => {
          await settle(id)
          throw e
        })
      // It is removed, whatever becomes of the notes: those that stay go at the next start.
      await settle(id).catch(() => undefined)
      return removed
    },
    async recover(): Promise<void> {
      for (const { id } of owners.all({})) await settle(id)
    },
  }
}
