import type { Severity } from '../../wire/health.ts'
import type { MyNotifications, MyNotificationsPatch } from '../../wire/notifications.ts'
import type { Db } from '../store/db.ts'
import type { Subject } from './subjects.store.ts'

interface Row {
  enabled: number
  minSeverity: Severity
}

interface Wanting {
  email: string
  minSeverity: Severity
  since: string
  userId: string
}

interface Fanout {
  afterUser: string
  content: string
  eventId: string
  kind: 'event' | 'resolved'
  seq: number
  severity: Severity
}

/** People told in one step. */
const SLICE = 20

/** What people want to hear of by their own mail, and the events they are still to be told of. */
export function peopleStore(db: Db) {
  const one = db.stmt<{ id: string }, Row>(
    `SELECT enabled, min_severity AS minSeverity FROM notification_people WHERE user_id = @id`,
  )
  const put = db.stmt<{ enabled: number; id: string; minSeverity: Severity; now: string }>(
    `INSERT INTO notification_people (user_id, enabled, min_severity, since) VALUES (@id, @enabled, @minSeverity, @now)
     ON CONFLICT (user_id) DO UPDATE SET enabled = excluded.enabled, min_severity = excluded.min_severity,
       since = CASE WHEN notification_people.enabled = 1 THEN notification_people.since ELSE excluded.since END`,
  )
  const anyone = db.stmt<object>(`SELECT 1 FROM notification_people WHERE enabled = 1 LIMIT 1`)
  const next = db.stmt<{ after: string }, Wanting>(
    `SELECT p.user_id AS userId, p.min_severity AS minSeverity, p.since, u.email FROM notification_people p
       JOIN users u ON u.id = p.user_id
      WHERE p.enabled = 1 AND p.user_id > @after AND u.disabled_at IS NULL ORDER BY p.user_id LIMIT ${SLICE}`,
  )
  const announce = db.stmt<{ content: string; eventId: string; kind: string; now: string; severity: Severity }>(
    `INSERT INTO notification_fanouts (health_event_id, kind, severity, content, created_at)
     VALUES (@eventId, @kind, @severity, @content, @now)`,
  )
  const announced = db.stmt<{ eventId: string }>(`SELECT 1 FROM notification_fanouts WHERE health_event_id = @eventId`)
  const first = db.stmt<object, Fanout>(
    `SELECT seq, health_event_id AS eventId, kind, severity, content, after_user AS afterUser FROM notification_fanouts
      ORDER BY seq LIMIT 1`,
  )
  const advance = db.stmt<{ after: string; seq: number }>(
    `UPDATE notification_fanouts SET after_user = @after WHERE seq = @seq`,
  )
  const finish = db.stmt<{ seq: number }>(`DELETE FROM notification_fanouts WHERE seq = @seq`)
  const get = (id: string): MyNotifications['email'] => {
    const row = one.get({ id })
    return { enabled: row?.enabled === 1, minSeverity: row?.minSeverity ?? 'critical' }
  }
  return {
    /** Nothing, until somebody asks for it. */
    get,
    put(id: string, { email }: MyNotificationsPatch, now: string): { before: object; after: object } {
      const before = get(id)
      const { enabled, minSeverity } = { ...before, ...email }
      put.run({ enabled: Number(enabled), id, minSeverity, now })
      return { before, after: get(id) }
    },
    /** Whether anybody wants mail at all. */
    isAnyone: (): boolean => anyone.get({}) !== undefined,
    /** People are to be told, soon and outside of this transaction. */
    announce({ event }: Subject, kind: Fanout['kind'], content: object, now: string): void {
      const { id: eventId, severity } = event
      announce.run({ content: JSON.stringify(content), eventId, kind, now, severity })
    },
    /** Whether people are still being told of an event. */
    isAnnounced: (eventId: string): boolean => announced.get({ eventId }) !== undefined,
    /** The oldest announcement, and who is to hear of it next. */
    next(): { fanout: Fanout; people: Wanting[] } | undefined {
      const fanout = first.get({})
      return fanout && { fanout, people: next.all({ after: fanout.afterUser }) }
    },
    skip(): void {
      const fanout = first.get({})
      if (fanout) finish.run({ seq: fanout.seq })
    },
    /** These have heard of it; without any it is done. */
    advance({ seq }: Fanout, people: readonly Wanting[]): void {
      const last = people.at(-1)
      if (last && people.length === SLICE) advance.run({ after: last.userId, seq })
      else finish.run({ seq })
    },
  }
}
export type PeopleStore = ReturnType<typeof peopleStore>
