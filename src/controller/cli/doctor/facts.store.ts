import { offlineBefore, STATUS } from '../../fleet/nodes/status.rules.ts'
import type { Db } from '../../store/db.ts'
import type { StuckUploads } from './controller.rules.ts'

/** A sealed value, and the place it is bound to. */
export interface Sealed {
  /** Which of the two keys seals it. */
  key: 'node' | 'settings'
  place: string
  sealed: string
}

const SEALED = `
  SELECT 'node' AS key, 'ssh_credentials/' || id || '/sealed_key' AS place, sealed_key AS sealed
    FROM ssh_credentials WHERE sealed_key IS NOT NULL
  UNION ALL SELECT 'settings', 'upload_destinations/' || id || '/smb_password', smb_password
    FROM upload_destinations WHERE smb_password IS NOT NULL
  UNION ALL SELECT 'settings', 'upload_destinations/' || id || '/s3_secret', s3_secret
    FROM upload_destinations WHERE s3_secret IS NOT NULL
  UNION ALL SELECT 'settings', 'switchers/' || id || '/sealed_password', sealed_password
    FROM switchers WHERE sealed_password IS NOT NULL
  UNION ALL SELECT 'settings', 'notification_channels/' || id || '/secret', secret
    FROM notification_channels WHERE secret IS NOT NULL`

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
  /** Everything that a key opens: as many as there are recorders and destinations. */
  sealed: (): Sealed[] => db.stmt<object, Sealed>(SEALED).all({}),
  /** Whether any destination is a share that is in use. */
  sharesInUse: (): boolean =>
    db
      .stmt<object, { n: number }>(`SELECT 1 AS n FROM upload_destinations WHERE kind = 'smb' AND enabled = 1 LIMIT 1`)
      .get({}) !== undefined,
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
