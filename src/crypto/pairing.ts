import { createHmac, randomInt } from 'node:crypto'
import { PAIRING_ALPHABET, PAIRING_LENGTH } from '../kernel/pairing.ts'

// A key of its own, so that a code's hash says nothing about what else the secret protects.
const PURPOSE = 'roomtone/pairing/v1'

/** A new code, every one equally likely: 39 bits. */
export const mintPairingCode = (): string =>
  Array.from({ length: PAIRING_LENGTH }, () => PAIRING_ALPHABET[randomInt(PAIRING_ALPHABET.length)]).join('')

/** What is stored in place of a code. A plain hash of so few characters could be tried out by whoever gets a backup. */
export function hashPairingCode(secret: Uint8Array, code: string): string {
  const key = createHmac('sha256', secret).update(PURPOSE).digest()
  return createHmac('sha256', key).update(code).digest('hex')
}
