import { derivedToken, hashToken } from '../../crypto/token.ts'
import type { Db } from '../store/db.ts'
import type { Recipient } from './queue.store.ts'
import type { Subject } from './subjects.store.ts'

const PURPOSE = 'roomtone/acknowledge/v1'
const GOOD_FOR_MS = 48 * 3_600_000

export interface Link extends Recipient {
  /** Name of the channel its message went through. */
  channel: string
  eventId: string
  id: string
  since: string
  /** What its message told. */
  subject: Subject
}

/**
 * Links in messages that acknowledge an event. The token follows from the id of its message: every attempt to send it carries
 * the same one, and only its hash is stored.
 */
export function acknowledgeLinks(db: Db, secret: Uint8Array) {
  const tokenOf = (id: string): string => derivedToken(secret, PURPOSE, id)
  const find = db.stmt<{ hash: string }, Omit<Link, 'subject'> & { content: string }>(
    `SELECT n.id, c.name AS channel, n.health_event_id AS eventId, n.rule_id AS ruleId, n.user_id AS userId, n.content,
        coalesce(n.sent_at, n.created_at) AS since
       FROM notifications n JOIN notification_channels c ON c.id = n.channel_id
      WHERE n.acknowledge_hash = @hash AND n.health_event_id IS NOT NULL
        AND (n.rule_id IS NULL OR EXISTS (SELECT 1 FROM notification_rules r WHERE r.id = n.rule_id))`,
  )
  const spend = db.stmt<{ id: string }>(
    `UPDATE notifications SET acknowledge_hash = NULL WHERE id = @id AND acknowledge_hash IS NOT NULL`,
  )
  return {
    tokenOf,
    hashOf: (id: string): string => hashToken(tokenOf(id)),
    /** What a link is good for; undefined when it is unknown, used or too old. */
    find(token: string, now: number): Link | undefined {
      const row = find.get({ hash: hashToken(token) })
      if (!row || Date.parse(row.since) + GOOD_FOR_MS <= now) return undefined
      const { content, ...link } = row
      return { ...link, subject: JSON.parse(content) as Subject }
    },
    /** A link is good once. */
    spend: (id: string): void => void spend.run({ id }),
  }
}
export type AcknowledgeLinks = ReturnType<typeof acknowledgeLinks>
