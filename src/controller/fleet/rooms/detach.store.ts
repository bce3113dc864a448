import { conflict } from '../../../kernel/fail.ts'
import { inBatches } from '../../http/batches.ts'
import type { Db } from '../../store/db.ts'

/** Recordings detached in one statement: each also updates the counts of the library. */
const BATCH = 100

/** A deletion that was begun. Its row goes with the room or schedule, so that nothing comes back to another of the same id. */
interface Detachment {
  detachment: number
  owner: string
}

type Row = { recording: string }

/**
 * Deletes a room or schedule that has many recordings. The foreign key would detach all of them in a single long statement;
 * here they are detached in batches before it, and come back if the deletion is refused or interrupted.
 */
export function detachStore(db: Db) {
  const rooms = ofKind(db, 'room')
  const schedules = ofKind(db, 'schedule')
  const orphans = db.stmt<{ limit: number }, { detachment: number } & Row>(
    `SELECT detachment_id AS detachment, recording_id AS recording FROM detached_recordings
      WHERE detachment_id NOT IN (SELECT id FROM detachments) LIMIT @limit`,
  )
  const forget = forgetting(db)
  return {
    fromRoom: rooms.around,
    fromSchedule: schedules.around,
    /** Finishes what an interrupted deletion left behind. */
    async recover(): Promise<void> {
      await rooms.recover()
      await schedules.recover()
      await inBatches(() => db.tx(() => orphans.all({ limit: BATCH }).map(forget.run).length === BATCH))
    },
  }
}
export type DetachStore = ReturnType<typeof detachStore>

const forgetting = (db: Db) =>
  db.stmt<{ detachment: number } & Row>(
    `DELETE FROM detached_recordings WHERE detachment_id = @detachment AND recording_id = @recording`,
  )

function ofKind(db: Db, kind: 'room' | 'schedule') {
  const column = `${kind}_id`
  const begin = db.stmt<{ owner: string }, { id: number }>(
    `INSERT INTO detachments (kind, owner_id) VALUES ('${kind}', @owner) RETURNING id`,
  )
  const end = db.stmt<{ detachment: number }>(`DELETE FROM detachments WHERE id = @detachment`)
  const begun = db.stmt<object, Detachment>(
    `SELECT id AS detachment, owner_id AS owner FROM detachments WHERE kind = '${kind}'`,
  )
  const attached = db.stmt<{ limit: number; owner: string }, Row>(
    `SELECT id AS recording FROM recordings WHERE ${column} = @owner LIMIT @limit`,
  )
  const detached = db.stmt<{ detachment: number; limit: number }, Row>(
    `SELECT recording_id AS recording FROM detached_recordings WHERE detachment_id = @detachment LIMIT @limit`,
  )
  const note = db.stmt<{ detachment: number } & Row>(
    `INSERT INTO detached_recordings (detachment_id, recording_id) VALUES (@detachment, @recording)`,
  )
  const forget = forgetting(db)
  const detach = db.stmt<Row>(`UPDATE recordings SET ${column} = NULL WHERE id = @recording`)
  const restore = db.stmt<Detachment & Row>(
    `UPDATE recordings SET ${column} = @owner
      WHERE id = @recording AND ${column} IS NULL AND EXISTS (SELECT 1 FROM detachments WHERE id = @detachment)`,
  )
  /** One batch; returns whether there may be more. */
  const batch = (rows: () => Row[], move: (row: Row) => void): boolean =>
    db.tx(() => {
      const found = rows()
      for (const row of found) move(row)
      return found.length === BATCH
    })
  const prepare = ({ detachment, owner }: Detachment): Promise<void> =>
    inBatches(() =>
      batch(
        () => attached.all({ limit: BATCH, owner }),
        ({ recording }) => {
          note.run({ detachment, recording })
          detach.run({ recording })
        },
      ),
    )
  /** Gives the recordings back to an owner that is still there; of one that is gone only the notes go. */
  const settle = async ({ detachment, owner }: Detachment): Promise<void> => {
    await inBatches(() =>
      batch(
        () => detached.all({ detachment, limit: BATCH }),
        ({ recording }) => {
          restore.run({ detachment, owner, recording })
          forget.run({ detachment, recording })
        },
      ),
    )
    end.run({ detachment })
  }
  const denied = db.stmt<{ owner: string }, object>(
    `SELECT 1 FROM access_policies WHERE effect = 'deny' AND resource_type = '${kind}' AND resource_id = @owner`,
  )
  /** A rule that denies it denies its recordings too, and would not hold for them without it. */
  const mustNotBeDenied = (owner: string): void => {
    if (denied.get({ owner }))
      throw conflict('denied_by_rule', `An access rule denies this ${kind} to somebody: remove the rule first`)
  }
  return {
    /** @throws Fail 409 `denied_by_rule`, and what `remove` throws. */
    async around<T>(owner: string, remove: () => T): Promise<T> {
      mustNotBeDenied(owner)
      const own = { detachment: begin.get({ owner })!.id, owner }
      const removed = await prepare(own)
        .then(() => mustNotBeDenied(owner))
        .then(remove)
        .catch(async (e) => {
          await settle(own)
          throw e
        })
      // It is removed, whatever becomes of the notes: those that stay go at the next start.
      await settle(own).catch(() => undefined)
      return removed
    },
    async recover(): Promise<void> {
      for (const one of begun.all({})) await settle(one)
    },
  }
}
