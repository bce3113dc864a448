import { offlineBefore, STATUS } from '../../fleet/nodes/status.rules.ts'
import type { Db } from '../../store/db.ts'
import type { StuckUploads } from './controller.rules.ts'
import type { FailingChannel, Told } from './notifications.rules.ts'

const RULES = `SELECT json_extract(r.choice, '$.types') AS types FROM notification_rules r
  JOIN notification_channels c ON c.id = r.channel_id WHERE r.enabled = 1 AND c.enabled = 1`

/** Who wants mail of their own, where a channel sends it. */
const PEOPLE = `SELECT count(*) AS n FROM notification_people p JOIN users u ON u.id = p.user_id
  WHERE p.enabled = 1 AND u.disabled_at IS NULL
    AND EXISTS (SELECT 1 FROM notification_channels WHERE for_people = 1 AND enabled = 1)`

/** One that was switched off counts while a rule relies on it: a receiver that is gone (410) switches its channel off. */
const FAILING = `SELECT c.name, c.last_error AS error, c.enabled FROM notification_channels c
  WHERE c.last_error IS NOT NULL AND (c.enabled = 1 OR EXISTS (SELECT 1 FROM notification_rules r
    WHERE r.enabled = 1 AND (r.channel_id = c.id OR r.escalate_channel_id = c.id)))
  ORDER BY c.name COLLATE NOCASE, c.id LIMIT 20`

/** What the database of a controller says of how it does. */
export const doctorFacts = (db: Db) => ({
  nodes: (now: string, offlineAfterSeconds: number) => ({
    all: db.stmt<object, { n: number }>(`SELECT count(*) AS n FROM nodes WHERE status <> 'retired'`).get({})?.n ?? 0,
    offline: db
      .stmt<{ offlineBefore: string }, { alias: string; id: string }>(
        `SELECT n.id, n.alias FROM nodes n WHERE (${STATUS}) = 'offline' ORDER BY n.alias, n.id`,
      )
      .all({ offlineBefore: offlineBefore(now, offlineAfterSeconds) }),
  }),
  /** Whether any destination is a share that is in use. */
  sharesInUse: (): boolean =>
    db
      .stmt<object, { n: number }>(`SELECT 1 AS n FROM upload_destinations WHERE kind = 'smb' AND enabled = 1 LIMIT 1`)
      .get({}) !== undefined,
  /** Who is told of alerts, and what keeps them from it. */
  told: (): Told => ({
    channels: db.stmt<object, FailingChannel>(FAILING).all({}),
    people: db.stmt<object, { n: number }>(PEOPLE).get({})?.n ?? 0,
    rules: db
      .stmt<object, { types: string }>(RULES)
      .all({})
      .map(({ types }) => JSON.parse(types)),
  }),
  uploads: (before: string): StuckUploads =>
    db
      .stmt<{ before: string }, StuckUploads>(
        `SELECT count(*) FILTER (WHERE status = 'failed') AS failed,
                count(*) FILTER (WHERE status = 'retrying' AND created_at < @before) AS old,
                (SELECT last_error FROM upload_queue WHERE status IN ('failed', 'retrying') AND last_error IS NOT NULL
                  ORDER BY updated_at DESC LIMIT 1) AS error
           FROM upload_queue WHERE status IN ('failed', 'retrying')`,
      )
      .get({ before }) as StuckUploads,
})
