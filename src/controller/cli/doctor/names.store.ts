import type { Db } from '../../store/db.ts'

/** A name somebody gave, and whose it is. */
export interface NameRow {
  id: string | null
  kind: 'host' | 'name' | 'person' | 'place' | 'recorder' | 'recording' | 'room' | 'schedule' | 'site'
  name: string
}

const MOST = 200_000

// What comes first gives the word that stands for a name that several things have.
const NAMES = [
  `SELECT 'person' AS kind, id, name FROM users`,
  `SELECT 'person' AS kind, actor_id AS id, name FROM audit_actors WHERE roles <> '[]'`,
  `SELECT 'person' AS kind, target_id AS id, name FROM audit_targets WHERE type = 'user'`,
  `SELECT 'person' AS kind, NULL AS id, username AS name FROM switchers`,
  `SELECT 'recorder' AS kind, id, alias AS name FROM nodes`,
  `SELECT 'recorder' AS kind, target_id AS id, name FROM audit_targets WHERE type = 'node'`,
  `SELECT 'recorder' AS kind, node_id AS id, node_alias AS name FROM node_lifecycle_jobs`,
  `SELECT 'host' AS kind, id, hostname AS name FROM nodes`,
  `SELECT 'room' AS kind, id, name FROM rooms`,
  `SELECT 'room' AS kind, target_id AS id, name FROM audit_targets WHERE type = 'room'`,
  `SELECT 'room' AS kind, NULL AS id, room AS name FROM nodes`,
  `SELECT 'site' AS kind, NULL AS id, site AS name FROM nodes`,
  `SELECT 'site' AS kind, NULL AS id, site AS name FROM rooms`,
  `SELECT 'site' AS kind, NULL AS id, site_name AS name FROM controller_settings`,
  `SELECT 'place' AS kind, NULL AS id, building AS name FROM nodes`,
  `SELECT 'place' AS kind, NULL AS id, floor AS name FROM nodes`,
  `SELECT 'place' AS kind, NULL AS id, building AS name FROM rooms`,
  `SELECT 'place' AS kind, NULL AS id, floor AS name FROM rooms`,
  `SELECT 'schedule' AS kind, id, name FROM schedules`,
  `SELECT 'schedule' AS kind, target_id AS id, name FROM audit_targets WHERE type = 'schedule'`,
  `SELECT 'name' AS kind, id, name FROM access_groups`,
  `SELECT 'name' AS kind, NULL AS id, controller_name AS name FROM controller_settings`,
  `SELECT 'name' AS kind, id, name FROM display_links`,
  `SELECT 'name' AS kind, id, display_name AS name FROM upload_destinations`,
  `SELECT 'name' AS kind, NULL AS id, json_extract(smb, '$.username') AS name FROM upload_destinations`,
  `SELECT 'name' AS kind, id, display_name AS name FROM switchers`,
  `SELECT 'name' AS kind, id, name FROM notification_channels`,
  `SELECT 'name' AS kind, NULL AS id, o.value AS name FROM notification_channels c, json_each(c.options) o WHERE o.key IN ('topic', 'url', 'username')`,
  `SELECT 'name' AS kind, id, name FROM notification_rules`,
  `SELECT 'name' AS kind, NULL AS id, alias AS name FROM interfaces WHERE labelled = 1`,
  `SELECT 'name' AS kind, NULL AS id, c.alias AS name FROM channels c JOIN interfaces i ON i.id = c.interface_id WHERE i.labelled = 1`,
  `SELECT 'recording' AS kind, id, name FROM recordings`,
  `SELECT 'recording' AS kind, NULL AS id, folder AS name FROM recordings`,
  `SELECT 'recording' AS kind, recording_id AS id, file_name AS name FROM upload_queue`,
]

/**
 * Names in the database of a controller that are nobody else's business; at most 200,000 of a kind. A damaged database may
 * keep some for itself: `whole` is false then.
 */
export function namesIn(db: Db): { names: NameRow[]; whole: boolean } {
  const read = NAMES.map((query) => {
    try {
      return db
        .stmt<{ most: number }, NameRow>(
          `SELECT DISTINCT kind, id, name FROM (${query}) WHERE name IS NOT NULL AND trim(name) <> '' LIMIT @most`,
        )
        .all({ most: MOST })
    } catch {
      // Damaged; what is left is still worth hiding.
      return undefined
    }
  })
  return { names: read.flatMap((rows) => rows ?? []), whole: read.every((rows) => rows !== undefined) }
}
