import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { backoff } from '../../../kernel/backoff.ts'
import { checksumOf } from '../../../kernel/checksum.ts'
import type { ByteRange } from '../../http/files.ts'
import { NotTheObject } from './objects.s3.ts'

// A connection that breaks again before it brought anything.
const MAX_TRIES = 5
const LONGEST_PAUSE_SECONDS = 4

/**
 * The bytes of a range from `first`, which is open already, and from where it broke off by `reopen`; never more than the range.
 * @throws what ended the last of several tries in a row without a byte; at once when `signal` aborts; NotTheObject when the
 * store sends more, before the first piece or behind the last.
 */
export async function* resumed(
  first: Readable,
  { end, start }: ByteRange,
  reopen: (rest: ByteRange) => Promise<Readable>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let [at, body, tries] = [start, first as Readable | undefined, 0]
  while (at <= end) {
    try {
      body ??= await reopen({ end, start: at })
      for await (const piece of body as AsyncIterable<Uint8Array>) {
        tries = 0
        const left = end + 1 - at
        const isLonger = piece.length > left
        if (left > 0 && !(isLonger && at === start)) yield isLonger ? piece.subarray(0, left) : piece
        if (isLonger) throw new NotTheObject('it is longer')
        at += piece.length
      }
      if (at <= end) throw new Error('the store ended too early')
    } catch (e) {
      if (signal.aborted || e instanceof NotTheObject || ++tries > MAX_TRIES) throw e
      await pause(250 * backoff(tries - 1, 1, LONGEST_PAUSE_SECONDS), undefined, { signal })
    } finally {
      body?.destroy()
      body = undefined
    }
  }
}

/**
 * The same bytes, compared before the last of them is passed on.
 * @throws NotTheObject when the `size` bytes do not have the checksum (`sha256:<hex>`).
 */
export async function* compared(
  source: AsyncIterable<Uint8Array>,
  { checksum, size }: { checksum: string; size: number },
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let left = size
  for await (const piece of source) {
    hash.update(piece)
    left -= piece.length
    if (left === 0 && checksumOf(hash.digest('hex')) !== checksum) throw new NotTheObject('it holds other bytes')
    yield piece
  }
}

/** The same source, once its first piece is there: until then another one can be asked. @throws what comes instead of it */
export async function begun(source: AsyncGenerator<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  let first: Promise<IteratorResult<Uint8Array>> | undefined = source.next()
  await first
  const next = (): Promise<IteratorResult<Uint8Array>> => {
    const piece = first ?? source.next()
    first = undefined
    return piece
  }
  return { [Symbol.asyncIterator]: () => ({ next, return: () => source.return(undefined) }) }
}
