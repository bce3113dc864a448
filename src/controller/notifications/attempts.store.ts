import type { DeliveryKind, DeliveryStatus } from '../../wire/notifications.ts'
import type { Db, Params } from '../store/db.ts'

/** A message in the queue, as a transport is to send it. */
export interface Waiting {
  acknowledgeHash: string | null
  attempts: number
  batch: string | null
  channelId: string
  content: string
  conversation: string | null
  createdAt: string
  id: string
  kind: DeliveryKind
  nextAttemptAt: string
  ruleId: string | null
  dueAt: string
  userId: string | null
}

/** The first of a recipient's queue, without what it says. */
export type Head = Pick<Waiting, 'batch' | 'channelId' | 'id' | 'kind' | 'nextAttemptAt' | 'userId'>

const HEAD = `q.id, q.channel_id AS channelId, q.user_id AS userId, q.kind, q.batch, q.next_attempt_at AS nextAttemptAt`
const COLUMNS = `q.id, q.channel_id AS channelId, q.rule_id AS ruleId, q.user_id AS userId, q.kind, q.attempts, q.batch,
  q.content, q.conversation, q.created_at AS createdAt, q.next_attempt_at AS nextAttemptAt, q.due_at AS dueAt,
  q.acknowledge_hash AS acknowledgeHash`
/** Messages of one digest. */
const MOST_IN_DIGEST = 500

/** What the runner asks, and notes of its attempts. Call every write inside a transaction. */
export function attemptStore(db: Db) {
  const channels = db.stmt<object, { id: string; releasedAt: string | null }>(
    `SELECT c.id, (SELECT min(next_attempt_at) FROM notifications q
        WHERE q.channel_id = c.id AND q.status = 'queued' AND q.held > 0) AS releasedAt
       FROM notification_channels c WHERE c.enabled = 1
        AND EXISTS (SELECT 1 FROM notifications q WHERE q.channel_id = c.id AND q.status = 'queued')`,
  )
  const heads = db.stmt<{ channelId: string; now: string }, Head>(
    `SELECT ${HEAD} FROM notifications q WHERE q.seq IN (
       SELECT min(seq) FROM notifications
        WHERE channel_id = @channelId AND status = 'queued' AND (held = 0 OR next_attempt_at <= @now) GROUP BY user_id)
      ORDER BY q.seq`,
  )
  const sentSince = db.stmt<
    { channelId: string; now: string; since: string; userId: string | null },
    { digestAt: string | null; messages: number }
  >(
    `SELECT count(DISTINCT coalesce(batch, id)) AS messages, max(CASE WHEN batch IS NOT NULL THEN sent_at END) AS digestAt
       FROM notifications WHERE channel_id = @channelId AND user_id IS @userId AND status = 'sent' AND sent_at > @since AND sent_at <= @now`,
  )
  const gather = db.stmt<{ batch: string; channelId: string; now: string; userId: string | null }>(
    `UPDATE notifications SET batch = @batch WHERE seq IN (
       SELECT seq FROM notifications WHERE channel_id = @channelId AND user_id IS @userId AND status = 'queued'
         AND batch IS NULL AND kind IN ('event', 'resolved', 'escalation') AND next_attempt_at <= @now
        ORDER BY seq LIMIT ${MOST_IN_DIGEST})`,
  )
  const drop = db.stmt<{ id: string }>(`DELETE FROM notifications WHERE id = @id AND status = 'queued'`)
  const one = db.stmt<{ id: string }, Waiting>(
    `SELECT ${COLUMNS} FROM notifications q WHERE q.id = @id AND q.status = 'queued'`,
  )
  const ofBatch = db.stmt<{ batch: string }, Waiting>(
    `SELECT ${COLUMNS} FROM notifications q WHERE q.batch = @batch AND q.status = 'queued' ORDER BY q.seq`,
  )
  const mark = db.stmt<Params>(
    `UPDATE notifications SET status = @status, attempts = attempts + @attempted, last_error = @error, next_attempt_at = @nextAt,
       held = 0,
       sent_at = CASE WHEN @status = 'sent' THEN @now END WHERE id = @id AND status = @from`,
  )
  return {
    ...upkeep(db),
    /** Channels in use with something in their queue, and when the first of what is held back may go. */
    waiting: () => channels.all({}),
    /** What comes first for each person of a channel; without people, the first. */
    heads: (channelId: string, now: string): Head[] => heads.all({ channelId, now }),
    /** Messages that went to a recipient since, and when the last digest did. */
    sentSince: ({ channelId, userId }: Head, since: string, now: string) =>
      sentSince.get({ channelId, now, since, userId }) as { digestAt: string | null; messages: number },
    /** Makes one digest of everything that is due. */
    gather: (batch: string, { channelId, userId }: Head, now: string): void =>
      void gather.run({ batch, channelId, now, userId }),
    /** It may not be told any more. */
    drop: (id: string): void => void drop.run({ id }),
    /** One message, or all of a digest. */
    whole: (id: string): Waiting[] => [one.get({ id })].filter((row) => row !== undefined),
    ofBatch: (batch: string): Waiting[] => ofBatch.all({ batch }),
    /** Begins an attempt; false when it is not queued any more. */
    begin: ({ id, nextAttemptAt }: Waiting, now: string): boolean =>
      mark.run({ attempted: 1, error: null, from: 'queued', id, nextAt: nextAttemptAt, now, status: 'sending' }) === 1,
    /** Ends an attempt; false when it was deleted meanwhile. */
    end: (id: string, status: DeliveryStatus, error: string | null, nextAt: string, now: string): boolean =>
      mark.run({ attempted: 0, error, from: 'sending', id, nextAt, now, status }) === 1,
  }
}
export type AttemptStore = ReturnType<typeof attemptStore>

/** At the start, and now and then. */
function upkeep(db: Db) {
  const interrupted = db.stmt<{ underWay: string }>(
    `UPDATE notifications SET status = 'queued'
      WHERE status = 'sending' AND channel_id NOT IN (SELECT value FROM json_each(@underWay))`,
  )
  const stale = db.stmt<{ before: string }>(
    `UPDATE notifications SET status = 'failed', last_error = 'not sent within a day: its channel was disabled or deleted'
      WHERE seq IN (SELECT seq FROM notifications WHERE status = 'queued' AND next_attempt_at < @before
          AND channel_id NOT IN (SELECT id FROM notification_channels WHERE enabled = 1)
        ORDER BY next_attempt_at LIMIT 500)`,
  )
  const outlived = db.stmt<{ before: string }>(
    `UPDATE notifications SET status = 'failed', last_error = 'not sent within a day: notifications were switched off'
      WHERE status = 'queued' AND attempts = 0 AND next_attempt_at < @before`,
  )
  const orphaned = db.stmt<{ channelId: string }>(
    `UPDATE notifications SET status = 'failed', last_error = 'its channel was deleted'
      WHERE channel_id = @channelId AND status IN ('queued', 'sending')`,
  )
  const prune = db.stmt<{ before: string }>(
    `DELETE FROM notifications WHERE seq IN (SELECT seq FROM notifications
      WHERE status IN ('sent', 'failed') AND created_at < @before ORDER BY created_at LIMIT 500)`,
  )
  return {
    /** What was under way when the controller ended, or could not note how it ended, is sent again. */
    resume: (underWay: Iterable<string>): number => interrupted.run({ underWay: JSON.stringify([...underWay]) }),
    /** Gives up, at the start, what nobody needs to hear after so long. */
    outlived: (before: string): void => void outlived.run({ before }),
    /** A channel is deleted: nothing is left that waits for it. */
    orphan: (channelId: string): void => void orphaned.run({ channelId }),
    /** Gives up what could not go because its channel rests. */
    expire: (before: string): number => stale.run({ before }),
    /** Forgets old history, a batch at a time. */
    prune: (before: string): number => prune.run({ before }),
  }
}
