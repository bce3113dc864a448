// Verifies a downloaded release: its SHA-256 is in SHA256SUMS, which must be signed where there is a release key.

import * as crypto from 'node:crypto'
import * as fs from 'node:fs'
import { sha256Of } from '../../kernel/checksum.ts'
import { parseSums, SIGNATURE, SUMS } from './release.rules.ts'

/** What came with a release. */
interface ReleaseProof {
  /** Ed25519 public key (PEM); with a key, an unsigned list is refused. */
  key?: string | undefined
  signature?: Uint8Array | undefined
  /** The exact content of SHA256SUMS, which is what was signed. */
  sums: string
}

/** SHA-256 of a file, read in pieces. Rejects when it cannot be read. */
export const digestOfFile = (file: string): Promise<string> => sha256Of(fs.createReadStream(file))

/** Ed25519 signature (64 bytes) of a list of checksums. @throws Error when the key (PEM) is not an Ed25519 private key */
export const signSums = (sums: string, privateKey: string): Uint8Array =>
  crypto.sign(null, Buffer.from(sums), ed25519(crypto.createPrivateKey(privateKey)))

/** Whether the owner of the key signed this list. @throws Error when the key (PEM) is not an Ed25519 public key */
export const isSigned = (sums: string, signature: Uint8Array, publicKey: string): boolean =>
  crypto.verify(null, Buffer.from(sums), ed25519(crypto.createPublicKey(publicKey)), signature)

function ed25519(key: crypto.KeyObject): crypto.KeyObject {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`A release key must be Ed25519, not ${key.asymmetricKeyType}.`)
  return key
}

/** Whether this is a public key (PEM) that can verify a release. */
export function isReleaseKey(publicKey: string): boolean {
  try {
    ed25519(crypto.createPublicKey(publicKey))
    return true
  } catch {
    // Not PEM, or another kind of key.
    return false
  }
}

/** Why a list of checksums cannot be trusted, in a sentence; undefined when it can. @throws Error for an unusable key */
export function sumsFault({ key, signature, sums }: ReleaseProof): string | undefined {
  if (key === undefined) return undefined
  if (!signature)
    return `The release is not signed (${SIGNATURE} is missing), and this machine requires signed releases.`
  return isSigned(sums, signature, key) ? undefined : `The signature of ${SUMS} does not match the release key.`
}

/**
 * Why `file` is not the released `name`, in a sentence; undefined when it is. Rejects when the file cannot be read, or list
 * or key are unusable.
 */
export async function releaseFault(file: string, name: string, proof: ReleaseProof): Promise<string | undefined> {
  const fault = sumsFault(proof)
  if (fault) return fault
  const expected = parseSums(proof.sums).get(name)
  if (!expected) return `${SUMS} does not list ${name}.`
  const digest = await digestOfFile(file)
  return digest === expected ? undefined : `${name} is damaged: its SHA-256 is ${digest}, it should be ${expected}.`
}
