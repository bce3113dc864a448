// Removes keys and tokens from the output of programs, also while it arrives.

const SECRETS = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\bsvc_(node|bs)_[A-Za-z0-9_-]{8,}/g,
  /\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/gi,
]

/** Removes keys, node tokens, bearer headers and the given secrets. */
export function redacted(text: string, secrets: readonly string[]): string {
  const known = secrets.filter(Boolean).reduce((out, secret) => out.replaceAll(secret, '[redacted]'), text)
  return SECRETS.reduce((out, pattern) => out.replace(pattern, '[redacted]'), known)
}

/** The end of a text, whole characters only. */
export const tail = (text: string, most: number): string => text.slice(-most).toWellFormed()

/** A longer line is not held back until its end. */
const LONGEST_LINE = 64 * 1024
const KEY_BEGINS = '-----BEGIN '
const KEY_ENDS = /-----END [A-Z ]*-----/

/**
 * Output that comes in pieces, cleaned: a secret may be cut anywhere, so that only whole lines are let go, and a key only
 * when its end has come. Keeps the last `most` characters.
 */
export class Transcript {
  readonly #most: number
  readonly #secrets: string[]
  #held = ''
  #text = ''

  constructor(most: number, secrets: readonly string[] = []) {
    this.#most = most
    this.#secrets = [...secrets]
  }

  /** The cleaned end of all that was let go. */
  get text(): string {
    return this.#text
  }

  /** Known only from here on, as a token that was just minted. */
  hide(...secrets: string[]): void {
    this.#secrets.push(...secrets)
  }

  /** Adds a piece; returns what may be passed on now. */
  add(piece: string): string {
    this.#held += piece
    return this.#release(this.#held.length > LONGEST_LINE ? this.#held.length : wholeUpTo(this.#held))
  }

  /** Ends the output; returns the rest. */
  end(): string {
    return this.#release(this.#held.length)
  }

  #release(length: number): string {
    const clean = redacted(this.#held.slice(0, length), this.#secrets)
    this.#held = this.#held.slice(length)
    this.#text = tail(this.#text + clean, this.#most)
    return clean
  }
}

/** How much of a text is whole lines, without the beginning of a key that has not ended. */
function wholeUpTo(text: string): number {
  const lines = text.lastIndexOf('\n') + 1
  const key = text.lastIndexOf(KEY_BEGINS, lines)
  return key >= 0 && !KEY_ENDS.test(text.slice(key, lines)) ? text.lastIndexOf('\n', key) + 1 : lines
}
