// The code a person types at a box: how it looks, and how it is read.

/** Capital letters and digits, without those that are taken for one another (I, L and 1, O and 0), and without U. */
export const PAIRING_ALPHABET = 'ABCDEFGHJKMNPQRSTVWXYZ23456789'
export const PAIRING_LENGTH = 8

const CODE = new RegExp(`^[${PAIRING_ALPHABET}]{${PAIRING_LENGTH}}$`)

/** A code as it was typed, without dashes and spaces, in capitals; undefined for what is no code. */
export function pairingCodeOf(typed: string): string | undefined {
  const code = typed.replace(/[\s-]/g, '').toUpperCase()
  return CODE.test(code) ? code : undefined
}

/** As people are shown it: `K7QM-3XPD`. */
export const shownPairingCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`
