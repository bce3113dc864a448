// The session of the console: a cookie no script can read, and the rule that keeps other sites from using it (ADR-0005).
import type { Context } from 'hono'
import { isCookieToken } from '../../crypto/token.ts'
import { headerOf } from './incoming.ts'

const NAME = { plain: 'svc_session', secure: '__Host-svc_session' } as const

interface Reached {
  SVC_PUBLIC_URL?: string | undefined
  tls?: object | undefined
}

/** Of HTTPS, which this controller serves or its public address names, the cookie goes nowhere else. */
export function sessionCookie({ SVC_PUBLIC_URL, tls }: Reached) {
  const secure = tls !== undefined || SVC_PUBLIC_URL?.startsWith('https:') === true
  const name = secure ? NAME.secure : NAME.plain
  const header = (value: string, seconds: number): string =>
    `${name}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${secure ? '; Secure' : ''}`
  return {
    clear: (): string => header('', 0),
    make: header,
    /** The token a browser sent; empty for none, and for two, of which nobody knows the right one. */
    tokenOf(c: Context): string {
      const values = (headerOf(c, 'cookie') ?? '')
        .split(';')
        .map((one) => one.trim())
        .filter((one) => one.startsWith(`${name}=`))
        .map((one) => one.slice(name.length + 1))
      const [token = ''] = values
      return values.length === 1 && isCookieToken(token) ? token : ''
    },
  }
}
export type SessionCookie = ReturnType<typeof sessionCookie>

/**
 * Whether a request that a cookie vouches for comes from a page of this origin. Browsers say so in `Sec-Fetch-Site`, but
 * not over plain HTTP: there a write has to name its own host as `Origin`, and a read may name no other.
 */
export function isSameOrigin(c: Context): boolean {
  const site = headerOf(c, 'sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  const origin = headerOf(c, 'origin')
  if (origin === undefined) return c.req.method === 'GET' || c.req.method === 'HEAD'
  return URL.canParse(origin) && new URL(origin).host === headerOf(c, 'host')?.toLowerCase()
}
