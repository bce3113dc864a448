// OpenSSH's own containers (PROTOCOL.key, RFC 4253, RFC 5656, RFC 8709): node:crypto makes the keys but cannot write them.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'

const MAGIC = Buffer.from('openssh-key-v1\0', 'latin1')
const BEGIN = '-----BEGIN OPENSSH PRIVATE KEY-----'
const END = '-----END OPENSSH PRIVATE KEY-----'
// DER of a PKCS#8 Ed25519 private key up to its 32-byte seed (RFC 8410)
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex')
const CURVES: Record<string, { jwk: string; bytes: number }> = {
  nistp256: { jwk: 'P-256', bytes: 32 },
  nistp384: { jwk: 'P-384', bytes: 48 },
  nistp521: { jwk: 'P-521', bytes: 66 },
}

/** A fresh Ed25519 key: unencrypted OpenSSH private key (with its final newline) and the one-line public key. */
export function generateSshKey(comment: string): { privateKey: string; publicKey: string } {
  if (!/^[\x20-\x7e]*$/.test(comment)) throw new Error('An SSH key comment is one line of printable ASCII.')
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as { x: string; d: string }
  const point = Buffer.from(x, 'base64url')
  const blob = ed25519Blob(point)
  return {
    privateKey: privateContainer(blob, point, Buffer.from(d, 'base64url'), comment),
    publicKey: `ssh-ed25519 ${blob.toString('base64')} ${comment}`.trimEnd(),
  }
}

/**
 * `SHA256:<unpadded base64>` of the key blob of a public key line, as `ssh-keygen -l` prints it.
 * @throws Error when the line is not `type base64 [comment]` or its blob is not a well-formed key of that type.
 */
export const fingerprint = (publicKeyLine: string): string =>
  `SHA256:${createHash('sha256').update(publicBlob(publicKeyLine)).digest('base64').replace(/=+$/, '')}`

/** As `fingerprint`, for any line of the form `type base64`: names the key a node reported, whatever is in it. */
export const blobFingerprint = (publicKeyLine: string): string =>
  `SHA256:${createHash('sha256')
    .update(Buffer.from(publicKeyLine.split(' ')[1] ?? '', 'base64'))
    .digest('base64')
    .replace(/=+$/, '')}`

/**
 * Whether an OpenSSH Ed25519 private key belongs to the public key line.
 * `undefined` when the private half cannot be read that far: another format or type, or encrypted.
 * @throws Error as `fingerprint` does for the public half.
 */
export function matches(privateKey: string, publicKeyLine: string): boolean | undefined {
  const blob = publicBlob(publicKeyLine)
  const seed = ed25519Seed(privateKey)
  if (!seed) return undefined
  const der = Buffer.concat([PKCS8_ED25519, seed])
  const { x } = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({ format: 'jwk' })
  return ed25519Blob(Buffer.from(x as string, 'base64url')).equals(blob)
}

function publicBlob(line: string): Buffer {
  const [, type = '', base64 = ''] = /^([a-z0-9-]+) ([A-Za-z0-9+/]+={0,2})(?: [^\r\n]*)?\n?$/.exec(line) ?? []
  const blob = Buffer.from(base64, 'base64')
  if (blob.toString('base64') !== base64 || !wellFormed(type, blob))
    throw new Error('This is not an OpenSSH public key.')
  return blob
}

function wellFormed(type: string, blob: Buffer): boolean {
  const read = reader(blob)
  if (read.string()?.toString('latin1') !== type) return false
  if (type === 'ssh-ed25519') return read.string()?.length === 32 && read.done()
  if (type === 'ssh-rsa') return mpintBits(read.string()) > 1 && rsaSize(mpintBits(read.string())) && read.done()
  const curve = /^ecdsa-sha2-(nistp\d+)$/.exec(type)?.[1]
  if (!curve || read.string()?.toString('latin1') !== curve) return false
  return onCurve(curve, read.string()) && read.done()
}

const rsaSize = (bits: number): boolean => bits >= 1024 && bits <= 16384

/** Length in bits of a positive, minimally encoded SSH mpint; 0 when it is anything else. */
function mpintBits(value: Buffer | undefined): number {
  const [first = 0, second = 0] = value ?? []
  if (!value?.length || first >= 0x80) return 0
  if (first === 0) return second >= 0x80 ? (value.length - 1) * 8 : 0
  return value.length * 8 - Math.clz32(first) + 24
}

function onCurve(name: string, point: Buffer | undefined): boolean {
  const curve = CURVES[name]
  if (!curve || point?.length !== 1 + 2 * curve.bytes || point[0] !== 4) return false
  const [x, y] = [point.subarray(1, 1 + curve.bytes), point.subarray(1 + curve.bytes)]
  try {
    const jwk = { kty: 'EC', crv: curve.jwk, x: x.toString('base64url'), y: y.toString('base64url') }
    createPublicKey({ key: jwk, format: 'jwk' })
    return true
  } catch {
    return false // that is how node:crypto says that a point is not on its curve
  }
}

function privateContainer(blob: Buffer, point: Buffer, seed: Buffer, comment: string): string {
  const check = randomBytes(4) // twice: how a reader sees that decryption worked
  const secret = [
    check,
    check,
    string('ssh-ed25519'),
    string(point),
    string(Buffer.concat([seed, point])),
    string(comment),
  ]
  const length = secret.reduce((sum, part) => sum + part.length, 0)
  const padding = Buffer.from(Array.from({ length: (8 - (length % 8)) % 8 }, (_, i) => i + 1))
  const body = [MAGIC, string('none'), string('none'), string(''), uint32(1), string(blob)]
  const bytes = Buffer.concat([...body, string(Buffer.concat([...secret, padding]))])
  return `${[BEGIN, ...(bytes.toString('base64').match(/.{1,70}/g) ?? []), END].join('\n')}\n`
}

function ed25519Seed(privateKey: string): Buffer | undefined {
  const lines = privateKey.trim().split(/\r?\n/)
  if (lines.shift() !== BEGIN || lines.pop() !== END) return undefined
  const bytes = Buffer.from(lines.join(''), 'base64')
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined
  const outer = reader(bytes.subarray(MAGIC.length))
  const plain = outer.string()?.toString() === 'none' && outer.string()?.toString() === 'none'
  if (!plain || outer.string()?.length !== 0 || outer.uint32() !== 1 || !outer.string()) return undefined
  const inner = reader(outer.string() ?? Buffer.alloc(0))
  const checks = [inner.uint32(), inner.uint32()]
  if (checks[0] !== checks[1] || inner.string()?.toString() !== 'ssh-ed25519') return undefined
  const [point, pair] = [inner.string(), inner.string()]
  return point?.length === 32 && pair?.length === 64 ? pair.subarray(0, 32) : undefined
}

const ed25519Blob = (point: Buffer): Buffer => Buffer.concat([string('ssh-ed25519'), string(point)])

function uint32(value: number): Buffer {
  const out = Buffer.alloc(4)
  out.writeUInt32BE(value)
  return out
}

/** SSH's length-prefixed string. */
function string(value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'latin1') : value
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** Walks an SSH buffer; every read past its end is `undefined`. */
function reader(bytes: Buffer) {
  let at = 0
  const take = (length: number): Buffer | undefined => {
    if (at + length > bytes.length) return undefined
    at += length
    return bytes.subarray(at - length, at)
  }
  const uint = (): number | undefined => take(4)?.readUInt32BE()
  return {
    uint32: uint,
    string: (): Buffer | undefined => take(uint() ?? Number.POSITIVE_INFINITY),
    done: (): boolean => at === bytes.length,
  }
}
