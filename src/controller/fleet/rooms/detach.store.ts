import type { Db } from '../../store/db.ts'

/** At most so many recordings are let go in one statement: each moves in the counts of the library. */
const BATCH = 100

/**
 * Lets recordings go of a room or a schedule that is about to be deleted, a few at a time: the foreign key would do it
 * for all of them in one statement, however many there are. Each gives whether there may be more.
 */
export function detachStore(db: Db) {
  const of = (column: 'room_id' | 'schedule_id') => {
    const some = db.stmt<{ id: string; most: number }>(
      `UPDATE recordings SET ${column} = NULL
        WHERE id IN (SELECT id FROM recordings WHERE ${column} = @id LIMIT @most)`,
    )
    return (id: string): boolean => db.tx(() => some.run({ id, most: BATCH })) === BATCH
  }
  return { fromRoom: of('room_id'), fromSchedule: of('schedule_id') }
}
export type DetachStore = ReturnType<typeof detachStore>
