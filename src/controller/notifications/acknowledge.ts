import { derivedToken } from '../../crypto/derived.ts'
import { hashToken } from '../../crypto/token.ts'
import type { Db } from '../store/db.ts'
import type { Recipient } from './queue.store.ts'

const PURPOSE = 'roomtone/acknowledge/v1'
const GOOD_FOR_MS = 48 * 3_600_000

interface Link extends Recipient {
  eventId: string
  id: string
  since: string
}

/**
 * Links in messages that acknowledge an event. The token follows from the id of its message: every attempt to send it carries
 * the same one, and only its hash is stored.
 */
export function acknowledgeLinks(db: Db, secret: Uint8Array) {
  const tokenOf = (id: string): string => derivedToken(secret, PURPOSE, id)
  const find = db.stmt<{ hash: string }, Link>(
    `SELECT id, health_event_id AS eventId, rule_id AS ruleId, user_id AS userId, coalesce(sent_at, created_at) AS since
       FROM notifications WHERE acknowledge_hash = @hash AND health_event_id IS NOT NULL
        AND (rule_id IS NULL OR EXISTS (SELECT 1 FROM notification_rules r WHERE r.id = rule_id))`,
  )
  const spend = db.stmt<{ id: string }>(
    `UPDATE notifications SET acknowledge_hash = NULL WHERE id = @id AND acknowledge_hash IS NOT NULL`,
  )
  return {
    tokenOf,
    hashOf: (id: string): string => hashToken(tokenOf(id)),
    /** What a link is good for; undefined when it is unknown, used or too old. */
    find(token: string, now: number): Link | undefined {
      const link = find.get({ hash: hashToken(token) })
      return link && Date.parse(link.since) + GOOD_FOR_MS > now ? link : undefined
    },
    /** A link is good once. */
    spend: (id: string): void => void spend.run({ id }),
  }
}
export type AcknowledgeLinks = ReturnType<typeof acknowledgeLinks>
