import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

interface Stored {
  cost: { N: number; r: number; p: number }
  salt: Buffer
  hash: Buffer
}

const COST = { N: 16384, r: 8, p: 1 }
const HASH_BYTES = 64
const SALT_BYTES = 16
const FORM = /^scrypt\$(\d{1,6})\$(\d{1,2})\$(\d{1,2})\$([\w-]{22,86})\$([\w-]{86})$/

/**
 * Stored in place of the hash of an account that does not exist or has no password: verifying against it
 * costs the same one scrypt and no password fits (that would take a preimage of 64 zero bytes).
 */
export const DECOY_HASH = text({ cost: COST, salt: Buffer.alloc(SALT_BYTES), hash: Buffer.alloc(HASH_BYTES) })

/** `scrypt$N$r$p$salt$hash`, base64url; runs on the thread pool, about 40 ms. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  return text({ cost: COST, salt, hash: await derive(password, salt, COST) })
}

/** Always exactly one scrypt; a stored text that is not ours verifies false after the same work. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const known = parse(stored)
  const { cost, salt, hash } = known ?? (parse(DECOY_HASH) as Stored)
  const same = timingSafeEqual(await derive(password, salt, cost), hash)
  return known !== undefined && same
}

function text({ cost, salt, hash }: Stored): string {
  return `scrypt$${cost.N}$${cost.r}$${cost.p}$${salt.toString('base64url')}$${hash.toString('base64url')}`
}

// Accepts other costs than today's, within bounds: a forged row must not turn a login into a minute of work.
function parse(stored: string): Stored | undefined {
  const [, N = '', r = '', p = '', salt = '', hash = ''] = FORM.exec(stored) ?? []
  const cost = { N: Number(N), r: Number(r), p: Number(p) }
  const powerOfTwo = cost.N >= 1024 && cost.N <= 131072 && (cost.N & (cost.N - 1)) === 0
  if (!powerOfTwo || cost.r < 1 || cost.r > 16 || cost.p < 1 || cost.p > 4) return undefined
  return { cost, salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hash, 'base64url') }
}

function derive(password: string, salt: Buffer, cost: Stored['cost']): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, { ...cost, maxmem: 256 * cost.N * cost.r + 2 ** 20 }, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
