import { CAPABILITIES, type Capability } from '../../../wire/permissions.ts'
import type { RosterEntry, RosterUpdate } from '../../../wire/rooms.ts'
import type { Db, Params } from '../../store/db.ts'
import { ASSIGNED } from './places.rules.ts'

interface Row {
  capability: Capability
  scheduleId: string
  source: RosterEntry['source']
  subjectId: string
  subjectName: string | null
  subjectType: RosterEntry['subjectType']
}

// A one-time schedule that has run (or was skipped, missed, or disabled when it was due), with no running take: its assignment
// has ended.
const OVER = `json_extract(s.recurrence, '$.mode') = 'once'
  AND (s.next_run_at IS NULL OR (s.enabled = 0 AND s.next_run_at <= @now)) AND NOT EXISTS (
  SELECT 1 FROM schedule_runs x LEFT JOIN recordings r ON r.id = x.recording_id
   WHERE x.schedule_id = s.id AND x.outcome = 'started' AND (x.ends_at > @now OR r.status = 'recording'))`

/** Who may do what in a room: manual rows and those of schedules. */
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
     SELECT @room, @type, value, @capability, 'calendar', @scheduleId FROM json_each(@subjects)
      WHERE NOT EXISTS (SELECT 1 FROM schedules s WHERE s.id = @scheduleId AND ${OVER})`,
  )
  const over = db.stmt<{ now: string }, { name: string; roomId: string | null; scheduleId: string }>(
    `SELECT s.id AS scheduleId, s.name, s.room_id AS roomId
       FROM (SELECT DISTINCT schedule_id AS id FROM room_roster WHERE source = 'calendar') held
       CROSS JOIN schedules s ON s.id = held.id WHERE ${OVER}`,
  )
  const end = db.stmt<{ id: string; now: string }>(
    `DELETE FROM room_roster WHERE schedule_id = @id AND source = 'calendar'
        AND EXISTS (SELECT 1 FROM schedules s WHERE s.id = @id AND ${OVER})`,
  )
  const manual = db.stmt<{ id: string }, { capability: Capability; room: string }>(
    `SELECT room_id AS room, capability FROM room_roster
      WHERE source = 'manual' AND (subject_type = 'user' AND subject_id = @id OR subject_type = 'group'
        AND subject_id IN (SELECT group_id FROM group_members WHERE user_id = @id))`,
  )
  const list = (room: string): RosterEntry[] => entries(rows.all({ room }))

  return {
    /** Manual entries first, people before groups. */
    list,
    /** The capabilities of a user by room id, from manual rows only. */
    manual(userId: string): Map<string, Set<Capability>> {
      const held = new Map<string, Set<Capability>>()
      for (const { capability, room } of manual.all({ id: userId }))
        held.set(room, (held.get(room) ?? new Set()).add(capability))
      return held
    },
    /**
     * Replaces the manual rows; those of schedules stay. Entries of one subject are merged, entries without capabilities are
     * dropped, unknown subjects are kept until they appear.
     */
    replace(room: string, update: RosterUpdate['entries']): { before: RosterEntry[]; after: RosterEntry[] } {
      const before = list(room)
      clear.run({ room })
      for (const { capabilities, subjectId, subjectType } of update)
        for (const capability of capabilities) insert.run({ room, type: subjectType, id: subjectId, capability })
      return { before, after: list(room) }
    },
    /**
     * Rewrites the rows of a schedule: its people and groups may view and operate its room (docs/contract/access.md: Room
     * capabilities), with a one-time schedule until it has run.
     */
    assign(scheduleId: string, room: string | undefined, users: string[], groups: string[], now: string): void {
      clearCalendar.run({ id: scheduleId })
      for (const capability of room ? ASSIGNED : [])
        for (const [type, subjects] of [
          ['user', users],
          ['group', groups],
        ] as const)
          insertCalendar.run({
            ...{ capability, now, scheduleId, subjects: JSON.stringify(subjects), type },
            room: room as string,
          })
    },
    /** Schedules that are over but still have rows. */
    over: (now: string) => over.all({ now }),
    /** Removes the rows of a schedule that is over; false when there are none, or when it got a new date. */
    end: (scheduleId: string, now: string): boolean => end.run({ id: scheduleId, now }) > 0,
    /** Removes the rows of a schedule. */
    unassign: (scheduleId: string): void => void clearCalendar.run({ id: scheduleId }),
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
