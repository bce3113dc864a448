import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { backoff } from '../../../kernel/backoff.ts'
import type { ByteRange } from '../../http/files.ts'
import { NotTheObject } from './objects.s3.ts'

// A connection that breaks again before it brought anything.
const MAX_TRIES = 5
const LONGEST_PAUSE_SECONDS = 4

/**
 * The bytes of a range from `first`, which is open already, and from where it broke off by `reopen`.
 * @throws what ended the last of several tries in a row without a byte; at once when `signal` aborts.
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
        at += piece.length
        yield piece
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
