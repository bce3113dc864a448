// The credential that a request carries: a bearer token, a ticket in the address of audio, or the cookie of the console.
import type { Context } from 'hono'
import { isCookieToken, isTicket } from '../../crypto/token.ts'
import { Fail } from '../../kernel/fail.ts'
import type { SessionCookie } from './cookie.ts'
import { headerOf } from './incoming.ts'
import type { AnyRoute } from './route.ts'

interface Credential {
  /** Its token; empty for a stranger. */
  bearer: string
  /** A browser sent the console's cookie, good or spoiled, and nothing beside it. */
  byCookie: boolean
  /** Why a route that needs a session refuses it, whatever the token is worth; others go on without the cookie. */
  fault?: Fail | undefined
}

/** Scheme compared without case, token = second word (docs/contract/api.md: Transport). */
export function bearerOf(c: Context): string {
  const [scheme = '', token = ''] = (headerOf(c, 'authorization') ?? '').split(' ')
  return scheme.toLowerCase() === 'bearer' && !isTicket(token) && !isCookieToken(token) ? token : ''
}

/** `header`: the bearer token, which has chosen the record `r`. */
export function credentialOf(cookie: SessionCookie, r: AnyRoute, c: Context, header: string): Credential {
  const jar = r.auth === 'display' ? cookie.display : cookie
  const isSent = takesCookie(r) && jar.isSent(c)
  const byCookie = isSent && headerOf(c, 'authorization') === undefined
  const token = byCookie ? jar.tokenOf(c) : ''
  if (token !== '' && !cookie.isSameOrigin(c)) return { bearer: ticketOf(r, c), byCookie, fault: crossOrigin() }
  if (r.auth === 'display') return { bearer: token, byCookie }
  const bearer = header || ticketOf(r, c) || token
  return { bearer, byCookie, fault: isSent && header !== '' ? ambiguous() : undefined }
}

// A cookie stands for a person, or for a screen on a wall: machines have tokens.
const takesCookie = ({ auth }: AnyRoute): boolean => auth === 'user' || auth === 'none' || auth === 'display'

// A browser's player sends no header: on routes that send audio, and only there, its ticket may be in the URL.
function ticketOf(r: AnyRoute, c: Context): string {
  if (r.method !== 'GET' || r.kind !== 'stream' || !sendsAudio(r.permission)) return ''
  const ticket = c.req.query('ticket') ?? ''
  return isTicket(ticket) ? ticket : ''
}

const sendsAudio = (permission: AnyRoute['permission']): boolean =>
  permission === 'recording:playback' || permission === 'recording:download'

const ambiguous = (): Fail =>
  new Fail(400, 'ambiguous_credentials', 'Send the session cookie or a bearer token, not both', { outcome: 'denied' })

export const crossOrigin = (): Fail =>
  new Fail(403, 'cross_origin', 'Another site made this request: open the console at its own address', {
    outcome: 'denied',
  })
