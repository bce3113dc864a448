// The interface of a destination driver.
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

/** Where an object is, and which one. */
export interface ObjectAt {
  /** Names this content and no other; null where the store names none. */
  etag: string | null
  key: string
}

/** What became of a delivery; `object` where single bytes of it can be read again. */
export interface Delivered {
  object?: ObjectAt
  verification: ChecksumVerification
}

export interface Watch {
  /** Parts are about to be sent that stay at the store when nobody completes or takes back the upload. */
  inParts?(): void
  /** Reports progress, which keeps the attempt alive; `sent`: bytes of the file that are on their way, where they are known. */
  progress(sent?: number): void
  /** Aborted when the attempt has to end; the driver must then leave nothing running. */
  signal: AbortSignal
}

export interface Driver {
  /**
   * Resolves only when the destination is known to hold the take: by its own checksum, or by reading the bytes back.
   * @throws DriverError with a reason for `lastError`, such as `checksum_mismatch`; the signal's reason when aborted.
   */
  deliver(delivery: Delivery, watch: Watch): Promise<Delivered>
  /**
   * Passes the file at `remote` to `take`; false when there is none, even if `take` was called.
   * @throws DriverError when the destination cannot be reached; whatever `take` throws.
   */
  fetch(remote: readonly string[], take: (body: Readable) => Promise<void>, signal: AbortSignal): Promise<boolean>
}

/** A failed upload: a reason code and, where it helps, a detail for people. Never contains a secret. */
export class DriverError extends Error {
  readonly reason: string

  constructor(reason: string, detail?: string) {
    super(detail ? `${reason}: ${detail}` : reason)
    this.reason = reason
  }
}

const LONGEST = 300

/** A foreign server's message made safe to store and show: one line, cut to length, `secrets` masked. */
export function cleanText(text: string, secrets: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const line = text.replace(/[\u0000-\u001f\u007f\s]+/g, ' ').trim()
  const clean = secrets.filter((s) => s.length > 0).reduce((all, secret) => all.replaceAll(secret, '***'), line)
  return clean.slice(0, LONGEST)
}
