import { CAPABILITIES, type Capability } from '../../wire/permissions.ts'
import type { RosterEntry, RosterUpdate } from '../../wire/rooms.ts'
import type { Db, Params } from '../store/db.ts'

interface Row {
  capability: Capability
  scheduleId: string
  source: RosterEntry['source']
  subjectId: string
  subjectName: string | null
  subjectType: RosterEntry['subjectType']
}

// What being assigned to a schedule allows in its room.
const ASSIGNED: readonly Capability[] = ['view', 'operate']

/** Who may do what in a room: manual rows and those a schedule made. */
export function rosterStore(db: Db) {
  const rows = db.stmt<{ room: string }, Row>(
    `SELECT r.capability, r.schedule_id AS scheduleId, r.source, r.subject_id AS subjectId, r.subject_type AS subjectType,
       CASE r.subject_type WHEN 'user' THEN (SELECT name FROM users WHERE id = r.subject_id)
                           ELSE (SELECT name FROM access_groups WHERE id = r.subject_id) END AS subjectName
     FROM room_roster r WHERE r.room_id = @room
     ORDER BY r.source DESC, r.subject_type DESC, r.subject_id, r.schedule_id`,
  )
  const clear = db.stmt<{ room: string }>(`DELETE FROM room_roster WHERE room_id = @room AND source = 'manual'`)
  const insert = db.stmt<Params>(
    `INSERT OR IGNORE INTO room_roster (room_id, subject_type, subject_id, capability, source)
     VALUES (@room, @type, @id, @capability, 'manual')`,
  )
  const clearCalendar = db.stmt<{ id: string }>(
    `DELETE FROM room_roster WHERE schedule_id = @id AND source = 'calendar'`,
  )
  const insertCalendar = db.stmt<Params>(
    `INSERT OR IGNORE INTO room_roster (room_id, subject_type, subject_id, capability, source, schedule_id)
     SELECT @room, @type, value, @capability, 'calendar', @scheduleId FROM json_each(@subjects)`,
  )
  const list = (room: string): RosterEntry[] => entries(rows.all({ room }))

  return {
    /** Manual entries first, people before groups. */
    list,
    /**
     * Replaces the manual rows; what schedules made stays. Entries of one subject are one entry with the capabilities
     * of all, an entry without any is none, unknown subjects are kept for when they appear.
     */
    replace(room: string, update: RosterUpdate['entries']): { before: RosterEntry[]; after: RosterEntry[] } {
      const before = list(room)
      clear.run({ room })
      for (const { capabilities, subjectId, subjectType } of update)
        for (const capability of capabilities) insert.run({ room, type: subjectType, id: subjectId, capability })
      return { before, after: list(room) }
    },
    /** Rewrites the rows a schedule makes: its people and groups may view and operate its room (contract B, 3). */
    assign(scheduleId: string, room: string | undefined, users: string[], groups: string[]): void {
      clearCalendar.run({ id: scheduleId })
      for (const capability of room ? ASSIGNED : [])
        for (const [type, subjects] of [
          ['user', users],
          ['group', groups],
        ] as const)
          insertCalendar.run({ scheduleId, room: room as string, type, subjects: JSON.stringify(subjects), capability })
    },
  }
}
export type RosterStore = ReturnType<typeof rosterStore>

function entries(rows: Row[]): RosterEntry[] {
  const merged = new Map<string, RosterEntry>()
  for (const { capability, scheduleId, subjectName, ...row } of rows) {
    const key = JSON.stringify([row.source, row.subjectType, row.subjectId, scheduleId])
    const held = merged.get(key)?.capabilities ?? []
    merged.set(key, {
      ...row,
      capabilities: CAPABILITIES.filter((one) => one === capability || held.includes(one)),
      ...(subjectName ? { subjectName } : {}),
      ...(scheduleId ? { sourceScheduleId: scheduleId } : {}),
    })
  }
  return [...merged.values()]
}
