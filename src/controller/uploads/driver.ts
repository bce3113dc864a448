// What every driver of a destination is given, and what it answers.
import type { Readable } from 'node:stream'
import type { ChecksumVerification } from '../../wire/uploads.ts'

/** One file to deliver. `sha256` is hex and was computed from this very file just before. */
export interface Delivery {
  /** Absolute path. */
  file: string
  itemId: string
  recordingId: string
  /** Folders and file name at the destination. */
  remote: readonly string[]
  sha256: string
  size: number
}

export interface Watch {
  /** Something moved: keeps the attempt alive. */
  progress(): void
  /** Aborted when the attempt has to end; the driver then leaves nothing running. */
  signal: AbortSignal
}

export interface Driver {
  /**
   * Resolves only when the destination holds the take: by its own checksum, or by its bytes, read back.
   * @throws DriverError with a reason fit for `lastError`, `checksum_mismatch` among them; whatever the signal aborts with.
   */
  deliver(delivery: Delivery, watch: Watch): Promise<ChecksumVerification>
  /**
   * Hands what lies at a place to `take`; false when nothing does, whatever `take` has got until then.
   * @throws DriverError when the destination cannot be asked; whatever `take` throws.
   */
  fetch(remote: readonly string[], take: (body: Readable) => Promise<void>, signal: AbortSignal): Promise<boolean>
}

/** An upload that failed: a reason for programs and, where there is more to say, words for people. Never a secret. */
export class DriverError extends Error {
  readonly reason: string

  constructor(reason: string, detail?: string) {
    super(detail ? `${reason}: ${detail}` : reason)
    this.reason = reason
  }
}

// Words of a stranger: one line, not too long.
const LONGEST = 300

/** What a foreign server said, fit to be stored and shown; `secrets` are blotted out wherever it quotes them. */
export function words(text: string, secrets: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const line = text.replace(/[\u0000-\u001f\u007f\s]+/g, ' ').trim()
  const clean = secrets.filter((s) => s.length > 0).reduce((all, secret) => all.replaceAll(secret, '***'), line)
  return clean.slice(0, LONGEST)
}
