import { conflict, found } from '../../kernel/fail.ts'
import type { Severity } from '../../wire/health.ts'
import type { Delivery, DeliveryFilters, DeliveryKind, DeliveryStatus } from '../../wire/notifications.ts'
import type { Visibility } from '../http/visibility.ts'
import type { Db, Params } from '../store/db.ts'
import { Lister, present, when } from '../store/filter.ts'
import type { Covering } from './rules.rules.ts'

/** A message to be queued. */
interface Queued {
  acknowledgeHash?: string | undefined
  channelId: string
  content: object
  conversation?: string | undefined
  /** When it may go, ISO. */
  dueAt: string
  /** It waits for a time of day, not for a while. */
  untilTimeOfDay?: boolean | undefined
  eventId?: string | undefined
  id: string
  kind: DeliveryKind
  ruleId?: string | undefined
  severity?: Severity | undefined
  topic?: string | undefined
  userId?: string | undefined
}

/** Who is told: a rule or a person. */
export interface Recipient {
  ruleId: string | null
  userId: string | null
}

/** Who reads the history. */
interface Reader {
  manages: boolean
  userId: string
  visible: Visibility
}

const OWN = 'q.health_event_id IS NOT NULL AND (q.user_id IS NULL OR q.user_id = @userId)'
const LISTED = `q.id, q.channel_id AS channelId, q.rule_id AS ruleId, q.user_id AS userId, q.health_event_id AS healthEventId,
  json_extract(q.content, '$.event.type') AS eventType, q.severity, q.kind, q.status, q.attempts, q.last_error AS lastError, q.created_at AS createdAt, q.sent_at AS sentAt,
  CASE WHEN q.status IN ('queued', 'sending') THEN q.next_attempt_at END AS nextAttemptAt`

/** The queue of messages and their history. Call every write inside a transaction. */
export function queueStore(db: Db) {
  const list = new Lister<Delivery>(db, {
    columns: LISTED,
    from: 'notifications q LEFT JOIN health_events h ON h.id = q.health_event_id',
  })
  const byId = db.stmt<{ id: string }, Delivery>(`SELECT ${LISTED} FROM notifications q WHERE q.id = @id`)
  const retry = db.stmt<{ id: string; now: string }>(
    `UPDATE notifications SET status = 'queued', attempts = 0, next_attempt_at = @now, due_at = @now, held = 0, batch = NULL
      WHERE id = @id AND status = 'failed'
        AND EXISTS (SELECT 1 FROM notification_channels c WHERE c.id = channel_id AND c.enabled = 1)
        AND (kind NOT IN ('event', 'escalation')
          OR EXISTS (SELECT 1 FROM health_events h WHERE h.id = health_event_id AND h.status <> 'resolved'))`,
  )
  const get = (id: string): Delivery => present(found(byId.get({ id }), 'Notification'))
  return {
    get,
    /**
     * Newest first; only those whose event the caller may read. Who does not manage them sees neither what people get of their own nor
     * what receivers said: both hold addresses.
     */
    page(
      f: DeliveryFilters,
      { manages, userId, visible }: Reader,
      limit: number,
      offset: number,
    ): { rows: Delivery[]; total: number } {
      const conditions = [
        ...when(f.channelId, 'q.channel_id = @channelId', (channelId) => ({ channelId })),
        ...when(f.healthEventId, 'q.health_event_id = @eventId', (eventId) => ({ eventId })),
        ...when(f.ruleId, 'q.rule_id = @ruleId', (ruleId) => ({ ruleId })),
        ...when(f.status, 'q.status = @status', (status: DeliveryStatus) => ({ status })),
        ...visible.healthEvents().map(({ params, sql }) => ({ params, sql: `q.health_event_id IS NULL OR (${sql})` })),
        ...(manages ? [] : [{ params: { userId }, sql: OWN }]),
      ]
      const { rows, total } = list.page(conditions, 'q.seq DESC', limit, offset)
      const shown = ({ lastError, ...row }: Delivery): Delivery =>
        present(manages || row.userId === userId ? { ...row, lastError } : row) as Delivery
      return { rows: rows.map(shown), total }
    },
    /** @throws Fail 404, or 409 for one that has not failed or whose channel cannot send. */
    retry(id: string, now: string): { before: Delivery; after: Delivery } {
      const before = get(id)
      if (retry.run({ id, now }) !== 1)
        throw conflict(
          'notification_not_retryable',
          before.status === 'failed'
            ? 'The channel of this message is gone or disabled, or what it tells of is over'
            : 'Only a message that failed is sent again',
        )
      return { before, after: get(id) }
    },
    ...queueing(db),
    ...standingEvents(db),
  }
}
export type QueueStore = ReturnType<typeof queueStore>

/** Of an event: what was queued for each recipient, and what is to be dropped. */
function queueing(db: Db) {
  const insert = db.stmt<Params>(
    `INSERT INTO notifications (id, channel_id, rule_id, user_id, health_event_id, kind, status, held, next_attempt_at, due_at,
       severity, topic, conversation, content, acknowledge_hash, created_at)
     VALUES (@id, @channelId, @ruleId, @userId, @eventId, @kind, 'queued', @held, @dueAt, @dueAt, @severity, @topic,
       @conversation, @content, @acknowledgeHash, @now)`,
  )
  const tested = db.stmt<Params>(
    `INSERT INTO notifications (id, channel_id, kind, status, attempts, next_attempt_at, due_at, content, last_error, created_at, sent_at)
     VALUES (@id, @channelId, 'test', @status, 1, @now, @now, '{}', @error, @now, @sentAt)`,
  )
  const drop = db.stmt<{ eventId: string }>(
    `DELETE FROM notifications WHERE health_event_id = @eventId AND status = 'queued' AND held > 0 AND kind <> 'resolved'`,
  )
  const dropEnd = db.stmt<{ eventId: string }>(
    `DELETE FROM notifications WHERE health_event_id = @eventId AND status = 'queued' AND held > 0 AND kind = 'resolved'`,
  )
  const ofEvent = db.stmt<
    Recipient & { eventId: string },
    { channelId: string; conversation: string; kind: DeliveryKind; severity: Severity }
  >(
    `SELECT channel_id AS channelId, coalesce(conversation, id) AS conversation, kind, severity FROM notifications
      WHERE health_event_id = @eventId AND rule_id IS @ruleId AND user_id IS @userId AND status <> 'failed' ORDER BY seq`,
  )
  const told = db.stmt<{ eventId: string }, Recipient & { channelId: string; conversation: string }>(
    `SELECT channel_id AS channelId, rule_id AS ruleId, user_id AS userId, min(coalesce(conversation, id)) AS conversation
       FROM notifications n
      WHERE health_event_id = @eventId AND kind IN ('event', 'escalation') AND status <> 'failed' AND held = 0
        AND seq > coalesce((SELECT max(seq) FROM notifications o WHERE o.health_event_id = n.health_event_id
          AND o.kind = 'resolved' AND o.channel_id = n.channel_id AND o.rule_id IS n.rule_id AND o.user_id IS n.user_id), 0)
      GROUP BY channel_id, rule_id, user_id ORDER BY min(seq)`,
  )
  // What quiet hours hold has not been told; what a clock that was wrong dated ahead says nothing.
  const lastOn = db.stmt<Recipient & { now: string; topic: string }, { at: string; severity: Severity }>(
    `SELECT due_at AS at, severity FROM notifications
      WHERE topic = @topic AND rule_id IS @ruleId AND user_id IS @userId AND held < 2 AND created_at <= @now
      ORDER BY seq DESC LIMIT 1`,
  )
  const dropOf = db.stmt<Recipient & { eventId: string }>(
    `DELETE FROM notifications WHERE health_event_id = @eventId AND rule_id IS @ruleId AND user_id IS @userId
        AND status = 'queued' AND held > 0 AND kind <> 'resolved'`,
  )
  return {
    queue({ content, dueAt, untilTimeOfDay, ...message }: Queued, now: string): void {
      const { acknowledgeHash = null, conversation = null, eventId = null, severity = null, topic = null } = message
      const { channelId, id, kind, ruleId = null, userId = null } = message
      const which = { acknowledgeHash, channelId, conversation, eventId, id, kind, ruleId, severity, topic, userId }
      insert.run({
        ...which,
        content: JSON.stringify(content),
        dueAt,
        held: dueAt <= now ? 0 : untilTimeOfDay ? 2 : 1,
        now,
      })
    },
    /** A test has a row of its own, though it never waits. */
    tested(
      { channelId, error, id, ok }: { channelId: string; error?: string | undefined; id: string; ok: boolean },
      now: string,
    ): void {
      const status = ok ? 'sent' : 'failed'
      tested.run({ channelId, error: error ?? null, id, now, sentAt: ok ? now : null, status })
    },
    /** Somebody has taken care of it, or it is over: what waited to be told is not told any more. */
    dropHeld: (eventId: string): void => void drop.run({ eventId }),
    /** It is not over after all. */
    dropHeldEnd: (eventId: string): void => void dropEnd.run({ eventId }),
    /** What this recipient was told of the event, oldest first. */
    ofEvent: (eventId: string, { ruleId, userId }: Recipient) => ofEvent.all({ eventId, ruleId, userId }),
    /** Who was told of the event, and has not heard of its end. */
    told: (eventId: string) => told.all({ eventId }),
    /** It became more severe: what waits to be told to this recipient is said anew. */
    dropHeldOf: (eventId: string, { ruleId, userId }: Recipient): void => void dropOf.run({ eventId, ruleId, userId }),
    /** When this recipient was last told on a topic, or will be; ISO. */
    lastOn: (topic: string, { ruleId, userId }: Recipient, now: string) => lastOn.get({ now, ruleId, topic, userId }),
  }
}

/** Events that stand at a recorder, and who was told of them. */
function standingEvents(db: Db) {
  const covering = db.stmt<Recipient & { nodeId: string; types: string }, Covering>(
    `SELECT h.type, n.severity, n.content ->> '$.event.details.nextStart' AS nextStart
      FROM health_events h INDEXED BY health_standing JOIN notifications n ON n.health_event_id = h.id
      WHERE h.node_id = @nodeId AND h.type IN (SELECT value FROM json_each(@types)) AND h.status <> 'resolved'
        AND n.kind = 'event' AND n.status <> 'failed' AND n.held < 2 AND n.rule_id IS @ruleId AND n.user_id IS @userId`,
  )
  // The index asks for what is not resolved; of that, what somebody takes care of needs no telling.
  const unhandled = db.stmt<{ nodeId: string; types: string }, { id: string }>(
    `SELECT h.id FROM health_events h INDEXED BY health_standing
      WHERE h.node_id = @nodeId AND h.type IN (SELECT value FROM json_each(@types)) AND h.status <> 'resolved' AND h.status = 'open'`,
  )
  return {
    /** What this recipient was told of standing events of a recorder, of these types. */
    covering: (nodeId: string, types: readonly string[], { ruleId, userId }: Recipient): Covering[] =>
      covering.all({ nodeId, ruleId, types: JSON.stringify(types), userId }),
    /** Ids of open events of a recorder, of these types. */
    unhandled: (nodeId: string, types: readonly string[]): string[] =>
      unhandled.all({ nodeId, types: JSON.stringify(types) }).map(({ id }) => id),
  }
}
