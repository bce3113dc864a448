import type { Db } from '../../store/db.ts'

// The newest recordings of a room that are examined to find ten the caller may see.
const LOOKED_AT = 100

/** Queries of the room overview. */
export function overviewStore(db: Db) {
  const recent = db.stmt<{ roomId: string }, { id: string }>(
    `SELECT id FROM recordings WHERE room_id = @roomId ORDER BY recorded_at DESC, id DESC LIMIT ${LOOKED_AT}`,
  )
  return {
    /** Ids of the newest recordings made in a room, newest first. */
    recentIds: (roomId: string): string[] => recent.all({ roomId }).map((row) => row.id),
  }
}
export type OverviewStore = ReturnType<typeof overviewStore>
