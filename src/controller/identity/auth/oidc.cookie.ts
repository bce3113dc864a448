import { randomBytes } from 'node:crypto'
import { open, SealError, seal } from '../../../crypto/seal.ts'
import { hashToken, sameSecret } from '../../../crypto/token.ts'
import { cookieValues } from '../../http/cookie.ts'
import type { Attempt } from './oidc.openid.ts'

const STATE_COOKIE = 'svc_oidc_state'
const PATH = '/api/v1/auth/oidc/callback'
const SECONDS = 600
const PLACE = 'oidc/attempt/cookie'

/** What whoever began the login wants at its end. */
export interface Wanted {
  /** A session of the console. */
  byCookie: boolean
  /** A path of the console, or for others an address. */
  returnTo: string
}

interface Carried extends Attempt, Wanted {
  /** By the monotonic clock of this process, whose key seals it; ms. */
  expiresAt: number
}

/**
 * The browser carries its own attempt, sealed with a key of this process: a flood of unfinished logins costs no memory and
 * no rows. A used state is remembered until it would have expired, so that each works once.
 */
export function stateCookies(secure: boolean) {
  const key = new Uint8Array(randomBytes(32))
  const used = new Map<string, number>()
  const header = (value: string, seconds: number): string =>
    `${STATE_COOKIE}=${value}; HttpOnly; SameSite=Lax; Path=${PATH}; Max-Age=${seconds}${secure ? '; Secure' : ''}`

  return {
    clear: (): string => header('', 0),
    make(attempt: Attempt, wanted: Wanted, now: number): string {
      const carried: Carried = { ...attempt, ...wanted, expiresAt: now + SECONDS * 1000 }
      return header(Buffer.from(seal(key, PLACE, JSON.stringify(carried))).toString('base64url'), SECONDS)
    },
    /** The attempt a callback belongs to; undefined for a state that is not this browser's, has expired or was used. */
    take(cookies: string | undefined, state: string | undefined, now: number): Carried | undefined {
      const carried = opened(key, cookieValues(cookies, STATE_COOKIE)[0] ?? '')
      if (!carried || !state || !sameSecret(state, carried.state) || carried.expiresAt <= now) return undefined
      for (const [old, until] of used) if (until <= now) used.delete(old)
      const name = hashToken(state)
      if (used.has(name)) return undefined
      used.set(name, carried.expiresAt)
      return carried
    },
  }
}
export type StateCookies = ReturnType<typeof stateCookies>

function opened(key: Uint8Array, value: string): Carried | undefined {
  try {
    const text = Buffer.from(value, 'base64url').toString()
    return JSON.parse(Buffer.from(open(key, PLACE, text)).toString()) as Carried
  } catch (e) {
    // A cookie that we did not seal is not an attempt.
    if (e instanceof SealError) return undefined
    throw e
  }
}
