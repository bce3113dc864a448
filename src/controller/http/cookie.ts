// The session of the console: a cookie no script can read, and the rule that keeps other sites from using it (ADR-0005).
import type { Context } from 'hono'
import { isCookieToken, isScreenToken } from '../../crypto/token.ts'
import { forwarded, headerOf } from './incoming.ts'
import type { Incoming } from './route.ts'

/** Every value a cookie header has of this name. */
export const cookieValues = (header: string | undefined, name: string): string[] =>
  (header ?? '')
    .split(';')
    .map((one) => one.trim())
    .filter((one) => one.startsWith(`${name}=`))
    .map((one) => one.slice(name.length + 1))

interface Reached {
  SVC_PUBLIC_URL?: string | undefined
  tls?: object | undefined
  trustedProxies: readonly string[]
}

/** How a request came: what decides about the cookie it is answered with. */
type Came = Pick<Incoming, 'overHttps'>

/** Of HTTPS the cookie goes nowhere else. What a trusted proxy says of a request counts, then what this controller serves. */
export function sessionCookie(reached: Reached) {
  const { SVC_PUBLIC_URL, tls } = reached
  const trusted = new Set(reached.trustedProxies)
  const usual = tls !== undefined || SVC_PUBLIC_URL?.startsWith('https:') === true
  const isSecure = (c: Context): boolean => {
    const scheme = forwarded(c, 'x-forwarded-proto', trusted)
    return scheme === 'https' || scheme === 'http' ? scheme === 'https' : usual
  }
  return {
    ...cookieNamed('svc_session', isCookieToken, isSecure),
    /** Of a screen on a wall. */
    display: cookieNamed('svc_display', isScreenToken, isSecure),
    isSameOrigin: sameOrigin(reached),
    /** Whether the client speaks HTTPS, to this controller or to a proxy before it. */
    isSecure,
  }
}
export type SessionCookie = ReturnType<typeof sessionCookie>

function cookieNamed(plain: string, isToken: (text: string) => boolean, isSecure: (c: Context) => boolean) {
  const nameOf = (secure: boolean): string => (secure ? `__Host-${plain}` : plain)
  const make = (value: string, seconds: number, { overHttps }: Came): string =>
    `${nameOf(overHttps)}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${overHttps ? '; Secure' : ''}`
  const valuesOf = (c: Context): string[] => cookieValues(headerOf(c, 'cookie'), nameOf(isSecure(c)))
  return {
    clear: (came: Came): string => make('', 0, came),
    /** Whether a browser sent one, good or spoiled. */
    isSent: (c: Context): boolean => valuesOf(c).length > 0,
    make,
    /** The token a browser sent; empty for none, and for two, of which nobody knows the right one. */
    tokenOf(c: Context): string {
      const values = valuesOf(c)
      const [token = ''] = values
      return values.length === 1 && isToken(token) ? token : ''
    },
  }
}

/**
 * Whether a request that a cookie vouches for comes from a page of this origin. Browsers say so in `Sec-Fetch-Site`, but
 * not over plain HTTP: there a write has to name its own origin, and a read may name no other.
 */
function sameOrigin({ SVC_PUBLIC_URL, tls, trustedProxies }: Reached): (c: Context) => boolean {
  const trusted = new Set(trustedProxies)
  const announced = originOf(SVC_PUBLIC_URL ?? '')
  const asked = (c: Context): string | undefined => {
    const scheme = forwarded(c, 'x-forwarded-proto', trusted) ?? (tls ? 'https' : 'http')
    const host = forwarded(c, 'x-forwarded-host', trusted) ?? headerOf(c, 'host') ?? ''
    return originOf(`${scheme}://${host}`)
  }
  return (c) => {
    const site = headerOf(c, 'sec-fetch-site')
    // An address that somebody typed, or a download: no page asks, and none gets the answer.
    if (site === 'none') return isRead(c) && headerOf(c, 'sec-fetch-mode') === 'navigate'
    if (site !== undefined) return site === 'same-origin'
    const origin = headerOf(c, 'origin')
    if (origin === undefined) return isRead(c)
    return origin !== 'null' && (origin === announced || origin === asked(c))
  }
}

const originOf = (address: string): string | undefined => (URL.canParse(address) ? new URL(address).origin : undefined)

const isRead = ({ req: { method } }: Context): boolean => method === 'GET' || method === 'HEAD'
