import { hashToken } from '../../../crypto/token.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { Fail, invalid } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { DisplayLinkInput, DisplaySession } from '../../../wire/displays.ts'
import type { SessionCookie } from '../../http/cookie.ts'
import { crossOrigin } from '../../http/credentials.ts'
import type { Limiter } from '../../http/limiter.ts'
import type { Pair, UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import { inScope, type Scope } from '../../http/scope.ts'
import { MANAGE } from '../access/access.rules.ts'
import type { DisplayStore } from './links.store.ts'

interface Parts {
  addresses: Limiter
  clock: Clock
  cookie: SessionCookie
  displays: DisplayStore
  ids: Ids
  /** Of each link. */
  openings: Limiter
  scope: Scope
}

const manage = { auth: 'user', permission: MANAGE } as const
/** A browser keeps no cookie longer than 400 days. */
const KEPT_SECONDS = 400 * 86_400

/** Links that open the wall on a screen nobody signs in at (docs/contract/access.md: Displays). */
export const displayRoutes = ({ addresses, clock, cookie, displays, ids, openings, scope }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/auth/display-links',
    ...manage,
    action: 'auth.display_links.read',
    target: () => ({ type: 'display_link_collection' }),
    run: () => ({ data: displays.list() }),
  }),
  route({
    method: 'POST',
    path: '/auth/display-links',
    ...manage,
    action: 'auth.display_links.create',
    target: () => ({ type: 'display_link_collection' }),
    body: DisplayLinkInput,
    status: 201,
    run: ({ body, now, principal }) => {
      if (body.expiresAt !== undefined && body.expiresAt <= now)
        throw invalid('The link would have expired already', ['expiresAt'], 'expected a time to come')
      checkPlaces(scope, principal, body)
      const { link, token } = displays.create({ ...body, createdBy: principal, id: ids.uuid() }, now)
      return { data: { ...link, token }, after: link, target: { type: 'display_link', id: link.id, name: link.name } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/auth/display-links/:id',
    ...manage,
    action: 'auth.display_links.revoke',
    // Without an id: who manages access manages all of them.
    target: () => ({ type: 'display_link' }),
    status: 204,
    run: ({ params }) => {
      const before = displays.find(params.id)
      displays.remove(params.id)
      return { data: null, before, target: { type: 'display_link', id: before.id, name: before.name } }
    },
  }),
  route({
    method: 'POST',
    path: '/auth/display-session',
    auth: 'none',
    permission: null,
    signsIn: true,
    action: 'auth.display_session.open',
    target: () => ({ type: 'display_link' }),
    body: DisplaySession,
    run: ({ body, now, request }) => {
      // Another site could show its own wall here in place of this one.
      if (!request.sameOrigin()) throw crossOrigin()
      const at = clock.monotonic()
      // By the link as well: whoever holds a good one would leave rows without end.
      const wait = addresses.blocked(request.network, at) ?? openings.blocked(hashToken(body.token), at)
      if (wait !== undefined)
        throw new Fail(429, 'rate_limited', 'Too many attempts, try again later', {
          headers: { 'retry-after': String(wait) },
        })
      const opened = displays.openScreen(body.token, ids.uuid(), now)
      if (!opened) {
        addresses.count(request.network, at)
        throw new Fail(401, 'invalid_display_link', 'This link is invalid, expired, or revoked: ask for a new one', {
          outcome: 'denied',
        })
      }
      openings.count(hashToken(body.token), at)
      const { link, token } = opened
      return {
        actor: { id: link.id, name: link.name, roles: [], type: 'system' },
        data: { name: link.name },
        headers: { 'Set-Cookie': cookie.display.make(token, KEPT_SECONDS, request) },
        target: { type: 'display_link', ...link },
      }
    },
  }),
]

/** A link shows no more than whoever makes it may see, now. @throws Fail 400 for a room that there is not, 403 */
function checkPlaces(scope: Scope, principal: UserPrincipal, { roomIds = [], site }: DisplayLinkInput): void {
  const places: Pair[] = [
    ...(site === undefined ? [] : [{ id: site, type: 'site' }]),
    ...roomIds.map((id) => ({ id, type: 'room' })),
  ]
  for (const place of places) {
    const pairs = scope.expand(place)
    // A room brings its site along.
    if (place.type === 'room' && !pairs.some(({ type }) => type === 'site'))
      throw invalid(`Room ${place.id} not found`, ['roomIds'], 'no such room', 'room_not_found')
    if (!inScope(principal, pairs))
      throw new Fail(403, 'missing_resource_scope', 'This place is not in your scope', { outcome: 'denied' })
  }
  // The wall shows everything in its places: who is denied a part of one cannot show it to others.
  const isIn = (pair: Pair): boolean => places.some(({ id, type }) => pair.type === type && pair.id === id)
  if (principal.deny.some((denied) => SHOWN.has(denied.type) && scope.expand(denied).some(isIn)))
    throw new Fail(403, 'access_policy_denied', 'A part of this place is denied to you', { outcome: 'denied' })
}

const SHOWN = new Set(['site', 'room', 'node', 'interface', 'channel'])
