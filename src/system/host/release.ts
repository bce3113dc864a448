// Whether a downloaded file is what was released: its SHA-256 stands in SHA256SUMS, and that is signed where a key asks.
import * as crypto from 'node:crypto'
import * as fs from 'node:fs'
import { parseSums, SIGNATURE, SUMS } from './release.rules.ts'

/** What came with a release. */
interface ReleaseProof {
  /** Ed25519 public key (PEM); where it is given, an unsigned list is refused. */
  key?: string | undefined
  signature?: Uint8Array | undefined
  /** The content of SHA256SUMS, byte for byte: it is what was signed. */
  sums: string
}

/** SHA-256 of what comes, lower case hex. Rejects as the stream does. */
async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = crypto.createHash('sha256')
  for await (const chunk of bytes) hash.update(chunk)
  return hash.digest('hex')
}

/** SHA-256 of a file, read in pieces. Rejects when it cannot be read. */
export const digestOfFile = (file: string): Promise<string> => digestOf(fs.createReadStream(file))

/** 64 bytes of Ed25519 over a list of checksums. @throws Error when the key (PEM) is no Ed25519 private key. */
export const signSums = (sums: string, privateKey: string): Uint8Array =>
  crypto.sign(null, Buffer.from(sums), ed25519(crypto.createPrivateKey(privateKey)))

/** Whether the owner of the key signed this list. @throws Error when the key (PEM) is no Ed25519 public key. */
export const isSigned = (sums: string, signature: Uint8Array, publicKey: string): boolean =>
  crypto.verify(null, Buffer.from(sums), ed25519(crypto.createPublicKey(publicKey)), signature)

function ed25519(key: crypto.KeyObject): crypto.KeyObject {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`A release key is Ed25519, this is ${key.asymmetricKeyType}.`)
  return key
}

/** Whether this is a public key (PEM) that a release can be proved with. */
export function isReleaseKey(publicKey: string): boolean {
  try {
    ed25519(crypto.createPublicKey(publicKey))
    return true
  } catch {
    // No PEM, or another kind of key: whoever gave it is told so.
    return false
  }
}

/** Why a list of checksums is not to be trusted, in a sentence; undefined when it is. @throws Error for an unusable key. */
export function sumsFault({ key, signature, sums }: ReleaseProof): string | undefined {
  if (key === undefined) return undefined
  if (!signature) return `The release is not signed (${SIGNATURE} is missing), and this machine asks for signed ones.`
  return isSigned(sums, signature, key) ? undefined : `The signature of ${SUMS} does not fit the release key.`
}

/**
 * Why `file` is not what was released as `name`, in a sentence; undefined when it is. Rejects when the file cannot be read,
 * the list is none, or the key is unusable.
 */
export async function releaseFault(file: string, name: string, proof: ReleaseProof): Promise<string | undefined> {
  const fault = sumsFault(proof)
  if (fault) return fault
  const expected = parseSums(proof.sums).get(name)
  if (!expected) return `${SUMS} says nothing of ${name}.`
  const digest = await digestOfFile(file)
  return digest === expected ? undefined : `${name} is damaged: its SHA-256 is ${digest}, it should be ${expected}.`
}
