import { createHmac, type Hmac, hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { PAIRING_ALPHABET, PAIRING_LENGTH } from '../kernel/pairing.ts'

type TokenKind = 'session' | 'cookie' | 'node' | 'bootstrap' | 'ticket' | 'link' | 'display' | 'screen'

const PREFIX: Record<TokenKind, string> = {
  session: 'svc_',
  cookie: 'svc_cookie_',
  node: 'svc_node_',
  bootstrap: 'svc_bs_',
  ticket: 'svc_ticket_',
  link: 'svc_link_',
  display: 'svc_display_',
  screen: 'svc_screen_',
}
const SHOWN = 24

/** Whether a token is a ticket: it comes in the address of a media request, never as a bearer. */
export const isTicket = (token: string): boolean => token.startsWith(PREFIX.ticket)

/** Whether a token is a session of the console: it comes in a cookie, never as a bearer. */
export const isCookieToken = (token: string): boolean => token.startsWith(PREFIX.cookie) && token.length <= SHOWN * 4

/** Whether a token is that of a screen on a wall: it comes in a cookie of its own. */
export const isScreenToken = (token: string): boolean => token.startsWith(PREFIX.screen) && token.length <= SHOWN * 4

/** A bearer token of 256 random bits: `svc_<43 base64url>`, `svc_node_...`, `svc_bs_...`. */
export const mintToken = (kind: TokenKind): string => PREFIX[kind] + randomBytes(32).toString('base64url')

/** SHA-256 in hex: what is stored in place of a token. Node's one-shot, because every request of every agent takes it. */
export const hashToken = (token: string): string => hash('sha256', token, 'hex')

/** What people may see of a node or bootstrap token to tell it from others; at least 168 bits stay hidden. */
export const tokenPrefix = (token: string): string => token.slice(0, SHOWN)

/** Compares two secrets in a time that depends on neither: equal-length digests first. */
export const sameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(sha256(utf8ToBytes(a)), sha256(utf8ToBytes(b)))

/** Each purpose has a key of its own: what one value is worth says nothing about what else the installation's secret protects. */
const keyed = (secret: Uint8Array, purpose: string, text: string): Hmac =>
  createHmac('sha256', createHmac('sha256', secret).update(purpose).digest()).update(text)

/** A token of 256 bits that follows from the installation's secret, so that it can be told again and is stored nowhere. */
export const derivedToken = (secret: Uint8Array, purpose: string, name: string): string =>
  keyed(secret, purpose, name).digest('base64url')

/** A new code, every one equally likely: 39 bits. */
export const mintPairingCode = (): string =>
  Array.from({ length: PAIRING_LENGTH }, () => PAIRING_ALPHABET[randomInt(PAIRING_ALPHABET.length)]).join('')

/** What is stored in place of a code. A plain hash of so few characters could be tried out by whoever gets a backup. */
export const hashPairingCode = (secret: Uint8Array, code: string): string =>
  keyed(secret, 'roomtone/pairing/v1', code).digest('hex')
