import { hashToken, mintToken } from '../../../crypto/token.ts'
import { iso } from '../../../kernel/clock.ts'
import { conflict, found } from '../../../kernel/fail.ts'
import type { DisplayLink, DisplayLinkInput } from '../../../wire/displays.ts'
import type { Db, Params } from '../../store/db.ts'
import { present } from '../../store/filter.ts'

type Row = { [K in keyof Required<Omit<DisplayLink, 'roomIds'>>]: DisplayLink[K] | null } & { roomIds: string }

/** Screens of one link. */
const MAX_SCREENS = 50
/** A screen that was not seen for so long makes room for another one, ms. */
const UNUSED_MS = 3_600_000
const MOST_LINKS = 1000

interface NewLink extends DisplayLinkInput {
  createdBy: { email: string; id: string }
  id: string
}

/** Links that open the wall, and the screens they have opened. Call every write inside a transaction. */
export function displayStore(db: Db) {
  const columns = `l.id, l.name, l.site, l.expires_at AS expiresAt, l.created_at AS createdAt, l.created_by AS createdBy,
    l.last_used_at AS lastUsedAt, (SELECT count(*) FROM display_screens s WHERE s.link_id = l.id) AS screens,
    (SELECT json_group_array(r.room_id) FROM display_link_rooms r WHERE r.link_id = l.id) AS roomIds`
  const all = db.stmt<object, Row>(
    `SELECT ${columns} FROM display_links l ORDER BY l.created_at DESC, l.id LIMIT ${MOST_LINKS}`,
  )
  const one = db.stmt<{ id: string }, Row>(`SELECT ${columns} FROM display_links l WHERE l.id = @id`)
  const insert = db.stmt<Params>(
    `INSERT INTO display_links (id, name, token_hash, site, expires_at, created_at, created_by, maker_id)
     VALUES (@id, @name, @hash, @site, @expiresAt, @now, @createdBy, @makerId)`,
  )
  const addRoom = db.stmt<Params>(`INSERT INTO display_link_rooms (link_id, room_id) VALUES (@id, @roomId)`)
  const remove = db.stmt<{ id: string }>(`DELETE FROM display_links WHERE id = @id`)
  const linkOf = db.stmt<{ hash: string; now: string }, { id: string; name: string }>(
    `SELECT l.id, l.name FROM display_links l JOIN users u ON u.id = l.maker_id AND u.disabled_at IS NULL
      WHERE l.token_hash = @hash AND (l.expires_at IS NULL OR l.expires_at > @now)`,
  )
  const open = db.stmt<Params>(
    `INSERT INTO display_screens (id, link_id, token_hash, created_at, last_seen_at) VALUES (@id, @linkId, @hash, @now, @now)`,
  )
  const trim = db.stmt<{ linkId: string; unused: string }>(
    `DELETE FROM display_screens WHERE last_seen_at < @unused AND id IN (
       SELECT id FROM display_screens WHERE link_id = @linkId
        ORDER BY last_seen_at DESC, id LIMIT -1 OFFSET ${MAX_SCREENS - 1})`,
  )
  const count = db.stmt<{ linkId: string }, { n: number }>(
    `SELECT count(*) AS n FROM display_screens WHERE link_id = @linkId`,
  )
  const used = db.stmt<Params>(`UPDATE display_links SET last_used_at = @now WHERE id = @linkId`)
  const find = (id: string): DisplayLink => linkIn(found(one.get({ id }), 'Display link'))
  return {
    list: (): DisplayLink[] => all.all({}).map(linkIn),
    find,
    /** @returns the link, and its token, which is kept nowhere */
    create({ createdBy, expiresAt, id, name, roomIds = [], site }: NewLink, now: string) {
      const token = mintToken('display')
      const maker = { createdBy: createdBy.email, makerId: createdBy.id }
      insert.run({ id, name, hash: hashToken(token), site: site ?? null, expiresAt: expiresAt ?? null, now, ...maker })
      for (const roomId of roomIds) addRoom.run({ id, roomId })
      return { link: find(id), token }
    },
    remove: (id: string): void => void remove.run({ id }),
    /**
     * Opens a screen for who holds the token of a link.
     * @returns undefined for one that is unknown, revoked or expired, or whose maker is disabled
     * @throws Fail 409 `display_link_full` while all its screens are in use
     */
    openScreen(
      given: string,
      id: string,
      now: string,
    ): { link: { id: string; name: string }; token: string } | undefined {
      const link = linkOf.get({ hash: hashToken(given), now })
      if (!link) return undefined
      trim.run({ linkId: link.id, unused: iso(Date.parse(now) - UNUSED_MS) })
      if ((count.get({ linkId: link.id })?.n ?? 0) >= MAX_SCREENS)
        throw conflict('display_link_full', `This link shows ${MAX_SCREENS} screens already: make another link`)
      const token = mintToken('screen')
      open.run({ id, linkId: link.id, hash: hashToken(token), now })
      used.run({ linkId: link.id, now })
      return { link, token }
    },
  }
}
export type DisplayStore = ReturnType<typeof displayStore>

const linkIn = ({ roomIds, ...row }: Row): DisplayLink =>
  ({ ...present(row), roomIds: JSON.parse(roomIds) as string[] }) as DisplayLink
