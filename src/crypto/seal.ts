import { randomBytes, scryptSync } from 'node:crypto'
import { gcm } from '@noble/ciphers/aes.js'
import { utf8ToBytes } from '@noble/ciphers/utils.js'

const NONCE = 12
const TAG = 16
const SHORTEST_SECRET = 16
// A fixed salt: the key must be found again from the secret alone, and one installation has one secret.
const SALT = 'roomtone/seal/v1'
const VERSION = 'enc.v1'

/** The sealed text does not open here: another key, another place, truncated or altered. Never says more. */
export class SealError extends Error {
  readonly code = 'SEAL_MISMATCH'

  constructor() {
    super('the sealed value does not open with this key at this place')
  }
}

/**
 * 32-byte sealing key from the configured secret, about 40 ms: derive once at start and pass it on.
 * scrypt, not HKDF, because the secret may be a passphrase and the sealed values may leave in a backup.
 * @throws Error when the secret is shorter than 16 characters.
 */
export function deriveKey(secret: string): Uint8Array {
  if (secret.length < SHORTEST_SECRET)
    throw new Error(`The secret key is too short: it needs at least ${SHORTEST_SECRET} characters.`)
  return new Uint8Array(scryptSync(secret, SALT, 32, { N: 16384, r: 8, p: 1 }))
}

/**
 * AES-256-GCM with a random nonce as `enc.v1:<nonce>:<tag>:<ciphertext>` (base64).
 * @param aad where the value lives, `table/row/column`: moved to another row it does not open.
 */
export function seal(key: Uint8Array, aad: string, plain: Uint8Array | string): string {
  const nonce = randomBytes(NONCE)
  const box = gcm(key, nonce, utf8ToBytes(aad)).encrypt(typeof plain === 'string' ? utf8ToBytes(plain) : plain)
  const cut = box.length - TAG
  return [VERSION, ...[nonce, box.subarray(cut), box.subarray(0, cut)].map(toBase64)].join(':')
}

/** @throws SealError on any mismatch. */
export function open(key: Uint8Array, aad: string, sealed: string): Uint8Array {
  const [version, nonce, tag, body, ...rest] = sealed.split(':')
  if (version !== VERSION || body === undefined || rest.length > 0) throw new SealError()
  const [n, t, b] = [fromBase64(nonce), fromBase64(tag), fromBase64(body)]
  if (n.length !== NONCE || t.length !== TAG) throw new SealError()
  try {
    return gcm(key, n, utf8ToBytes(aad)).decrypt(Buffer.concat([b, t]))
  } catch {
    // The cipher's own message would reveal which part failed.
    throw new SealError()
  }
}

/** `open` for a value that was sealed from text. */
export const openText = (key: Uint8Array, aad: string, sealed: string): string =>
  new TextDecoder().decode(open(key, aad, sealed))

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

// Buffer skips what is not base64; a sealed text has one spelling only.
function fromBase64(text = ''): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw new SealError()
  return bytes
}
