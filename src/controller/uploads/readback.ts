// Verifies an upload by reading it back at a bounded speed, counting and hashing it on the way.

import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { checksumOf } from '../../kernel/checksum.ts'
import type { ChecksumVerification } from '../../wire/uploads.ts'
import { type Delivery, DriverError, type Watch } from './driver.ts'

// At most 32 MiB/s: recorders and listeners share this machine and its network.
const BURST = 4 * 1024 * 1024
const PAUSE_MS = 125

/** The destination holds something other than what was sent: the attempt failed. */
export const mismatch = (detail: string): DriverError => new DriverError('checksum_mismatch', detail)

/** @throws DriverError unless the destination holds as many bytes as it was given. */
export function checkSize(held: number, { size }: Pick<Delivery, 'size'>): void {
  if (held !== size) throw mismatch(`the destination holds ${held} of ${size} bytes`)
}

/**
 * Compares what the destination returns with what was sent. Memory use is constant, and no more is read than was sent.
 * @throws DriverError `checksum_mismatch`.
 */
export async function verifyByReading(
  body: AsyncIterable<Uint8Array>,
  { sha256, size }: Pick<Delivery, 'sha256' | 'size'>,
  { progress, signal }: Watch,
): Promise<ChecksumVerification> {
  const hash = createHash('sha256')
  let read = 0
  let burst = 0
  for await (const chunk of body) {
    read += chunk.length
    if (read > size) throw mismatch(`the destination holds more than the ${size} bytes it was given`)
    hash.update(chunk)
    progress()
    burst += chunk.length
    if (burst < BURST) continue
    burst = 0
    await pause(PAUSE_MS, undefined, { signal })
  }
  checkSize(read, { size })
  const [expected, observed] = [checksumOf(sha256), checksumOf(hash.digest('hex'))]
  if (observed !== expected) throw mismatch('the bytes read back from the destination are not those of the take')
  return { algorithm: 'sha256', expected, method: 'file_copy_sha256', observed, status: 'matched' }
}
