import type { Permission } from '../../wire/permissions.ts'
import type { Db } from '../store/db.ts'
import type { Pair, UserPrincipal } from './principal.ts'

const SCREEN = `
  SELECT s.id AS sessionId, s.last_seen_at AS lastSeenAt, l.id, l.name, l.site FROM display_screens s
    JOIN display_links l ON l.id = s.link_id
    JOIN users u ON u.id = l.maker_id AND u.disabled_at IS NULL
  WHERE s.token_hash = @hash AND (l.expires_at IS NULL OR l.expires_at > @now)`
const SCREEN_BY_ID = SCREEN.replace('s.token_hash = @hash', 's.id = @id')

interface ScreenRow {
  id: string
  lastSeenAt: string
  name: string
  sessionId: string
  site: string | null
}

/** A screen sees the nodes of its site or its rooms, but for what is denied to everybody. */
function screensOf(db: Db): (row: ScreenRow) => UserPrincipal {
  const rooms = db.stmt<{ id: string }, { id: string }>(
    `SELECT room_id AS id FROM display_link_rooms WHERE link_id = @id`,
  )
  const denied = db.stmt<object, Pair>(
    `SELECT resource_type AS type, resource_id AS id FROM access_policies WHERE effect = 'deny' AND subject_type = 'everyone'`,
  )
  return ({ id, name, sessionId, site }) => ({
    kind: 'user',
    allow: [
      ...(site === null ? [] : [{ id: site, type: 'site' }]),
      ...rooms.all({ id }).map((room) => ({ id: room.id, type: 'room' })),
    ],
    deny: denied.all({}),
    display: true,
    email: '',
    id,
    name,
    permissions: new Set<Permission>(['node:read']),
    roles: [],
    rooms: new Map(),
    sessionId,
  })
}

/** Screens on walls, as callers. */
export function screenStore(db: Db) {
  const byToken = db.stmt<{ hash: string; now: string }, ScreenRow>(SCREEN)
  const byId = db.stmt<{ id: string; now: string }, ScreenRow>(SCREEN_BY_ID)
  const touchScreen = db.stmt<{ id: string; now: string }>(
    `UPDATE display_screens SET last_seen_at = @now WHERE id = @id`,
  )
  const touchLink = db.stmt<{ id: string; now: string }>(`UPDATE display_links SET last_used_at = @now WHERE id = @id`)
  const principalOf = screensOf(db)
  return {
    find(hash: string, now: string): { lastSeenAt: string; principal: UserPrincipal } | undefined {
      const row = byToken.get({ hash, now })
      return row && { lastSeenAt: row.lastSeenAt, principal: principalOf(row) }
    },
    reload(id: string, now: string): UserPrincipal | undefined {
      const row = byId.get({ id, now })
      return row && principalOf(row)
    },
    touch({ id, sessionId }: UserPrincipal, now: string): void {
      touchScreen.run({ id: sessionId, now })
      touchLink.run({ id, now })
    },
  }
}
