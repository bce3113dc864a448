import type { HealthEvent } from '../../wire/health.ts'
import type { Db } from '../store/db.ts'
import { present } from '../store/filter.ts'

interface Named {
  /** Absent for a room that is only written down at a recorder. */
  id?: string
  name: string
}

/** What a message is about, as it was when it was queued. */
export interface Subject {
  event: HealthEvent
  node?: Named
  recording?: Named
  room?: Named
  schedule?: Named
  site?: string
}

interface Row {
  node: string | null
  nodeId: string | null
  recording: string | null
  room: string | null
  roomId: string | null
  schedule: string | null
  site: string | null
}

/** Details of an event that a message repeats, characters of JSON. */
const MAX_DETAILS = 2048

/** An event with the names of what it concerns. */
export function subjectStore(db: Db) {
  // An event of a recording names its recorder through it.
  const names = db.stmt<{ nodeId: string | null; recordingId: string | null; scheduleId: string | null }, Row>(
    `SELECT n.id AS nodeId, n.alias AS node, r.name AS recording, s.name AS schedule, m.id AS roomId,
        coalesce(m.name, nullif(n.room, '')) AS room, coalesce(m.site, n.site) AS site
      FROM (SELECT 1) one
      LEFT JOIN recordings r ON r.id = @recordingId
      LEFT JOIN schedules s ON s.id = @scheduleId
      LEFT JOIN nodes n ON n.id = coalesce(@nodeId, r.node_id, s.node_id)
      LEFT JOIN rooms m ON m.id = coalesce(r.room_id, s.room_id, n.room_id)`,
  )
  return (event: HealthEvent): Subject => {
    const { nodeId = null, recordingId = null, scheduleId = null } = event
    const row = names.get({ nodeId, recordingId, scheduleId }) as Row
    return present({
      event: { ...event, details: boundedDetails(event.details) },
      node: named(row.nodeId, row.node),
      recording: named(recordingId, row.recording),
      room: row.room === null ? undefined : present({ id: row.roomId ?? undefined, name: row.room }),
      schedule: named(scheduleId, row.schedule),
      site: row.site ?? undefined,
    }) as Subject
  }
}
export type SubjectStore = ReturnType<typeof subjectStore>

const named = (id: string | null, name: string | null): Named | undefined =>
  id === null || name === null ? undefined : { id, name }

const boundedDetails = (details: Record<string, unknown>): Record<string, unknown> =>
  JSON.stringify(details).length > MAX_DETAILS ? { truncated: true } : details
