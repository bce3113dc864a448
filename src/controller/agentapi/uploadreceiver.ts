import { createHash, type Hash } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { sizeOf } from '../../kernel/durable.ts'
import { conflict, Fail, invalid } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'
import type { DiskSpace } from '../http/diskspace.ts'
import { checkSize } from './cachefile.rules.ts'

/** Bytes per write: large enough to make the thread pool's overhead small, small enough to stay flat in memory. */
const BATCH = 1024 * 1024
/** Written bytes are synced in steps while more arrive, so that the last sync is short. */
const SYNC_EVERY = 64 * 1024 * 1024

export interface Received {
  /** SHA-256 of the whole file, hex. */
  sha256: string
  size: number
}

/** The bytes a sender must deliver within a time of waiting for it. */
interface MinimumRate {
  bytes: number
  ms: number
}

/**
 * A quarter of a kilobyte a second, over two minutes: a recorder on the slowest line is faster, and one that is cut off
 * resumes. Only a sender that deliberately holds the connection is slower.
 */
const MINIMUM_RATE: MinimumRate = { bytes: 32 * 1024, ms: 120_000 }

interface Reception {
  body: AsyncIterable<Uint8Array>
  /** Aborted when a newer sender of the same upload takes over. */
  cancelled: AbortSignal
  file: string
  minimumRate?: MinimumRate
  /** Largest size of the whole file, bytes. */
  maxBytes: number
  /** Bytes that are already there and stay. */
  offset: number
  disk: Pick<DiskSpace, 'reserve'>
}

/**
 * Streams a body into `file` from `offset` on and hashes the whole; memory stays flat whatever the size. The bytes
 * are on disk when it resolves. What arrived before an error stays in the file.
 * @throws Fail 413 above `maxBytes`, 408 for a sender slower than `floor`, 503 when the disk refuses, 507 when it is full.
 */
export async function receive({
  body,
  cancelled,
  file,
  minimumRate: floor = MINIMUM_RATE,
  maxBytes: most,
  offset,
  disk: diskSpace,
}: Reception): Promise<Received> {
  const hash = createHash('sha256')
  if (offset > 0) await hashFile(file, hash)
  const handle = await fs.open(file, offset > 0 ? 'r+' : 'w')
  try {
    const size = await writeBody(
      withinDiskSpace(withMinimumRate(body, cancelled, floor), diskSpace),
      handle,
      hash,
      offset,
      most,
    )
    await handle.sync()
    return { sha256: hash.digest('hex'), size }
  } finally {
    await handle.close()
  }
}

async function writeBody(
  body: AsyncIterable<Uint8Array>,
  handle: fs.FileHandle,
  hash: Hash,
  offset: number,
  most: number,
) {
  const sink = batchWriter(handle, offset)
  let size = offset
  try {
    for await (const chunk of body) {
      size += chunk.length
      checkSize(size, most)
      hash.update(chunk)
      await sink.take(chunk)
    }
  } finally {
    // Also for a body that broke off: on a line that drops before a batch is full, an upload would never progress.
    await sink.flush()
  }
  return size
}

/**
 * The body, until it is `cancelled` (a silent sender must not block the one that took over) or slower than `floor`; our own
 * time for writing does not count. Each step has its own promise: `Promise.race` with one that never settles would keep
 * every chunk in memory until the end.
 */
async function* withMinimumRate(
  body: AsyncIterable<Uint8Array>,
  cancelled: AbortSignal,
  floor: MinimumRate,
): AsyncIterable<Uint8Array> {
  let cancel: (why: unknown) => void = () => {}
  let [brought, left] = [0, floor.ms]
  const stop = () => cancel(cancelled.reason)
  cancelled.addEventListener('abort', stop, { once: true })
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const step = Promise.withResolvers<IteratorResult<Uint8Array>>()
      cancel = step.reject
      if (cancelled.aborted) stop()
      const asked = performance.now()
      const late = setTimeout(() => step.reject(tooSlow(floor)), left)
      chunks.next().catch(broken).then(step.resolve, step.reject)
      const { done, value } = await step.promise.finally(() => clearTimeout(late))
      if (done) return
      brought += value.length
      left -= performance.now() - asked
      if (brought >= floor.bytes) [brought, left] = [0, floor.ms]
      yield value
    }
  } finally {
    cancelled.removeEventListener('abort', stop)
  }
}

async function* withinDiskSpace(
  body: AsyncIterable<Uint8Array>,
  diskSpace: Pick<DiskSpace, 'reserve'>,
): AsyncIterable<Uint8Array> {
  for await (const chunk of body) {
    await diskSpace.reserve(chunk.length)
    yield chunk
  }
}

const tooSlow = ({ bytes, ms }: MinimumRate): Fail =>
  new Fail(
    408,
    'upload_too_slow',
    `Less than ${bytes} bytes arrived within ${ms / 1000} s; a resumable upload goes on later`,
  )

const broken = (e: Error): never => {
  throw new Fail(400, 'upload_interrupted', `The upload ended early: ${e.message}`)
}

/** Collects chunks and writes one batch while the next one arrives. */
function batchWriter(handle: fs.FileHandle, start: number) {
  let batch: Uint8Array[] = []
  let held = 0
  let position = start
  let unsynced = 0
  let writing: Promise<unknown> = Promise.resolve()
  let syncing: Promise<unknown> = Promise.resolve()

  const write = async () => {
    await writing
    const [chunks, at] = [batch, position]
    position += held
    unsynced += held
    batch = []
    held = 0
    writing = writeAll(handle, chunks, at)
    // Awaited at the next step; a rejection before that must not count as unhandled.
    writing.catch(() => {})
    if (unsynced < SYNC_EVERY) return
    unsynced = 0
    await syncing
    syncing = handle.datasync()
    syncing.catch(() => {})
  }
  return {
    async take(chunk: Uint8Array): Promise<void> {
      batch.push(chunk)
      held += chunk.length
      if (held >= BATCH) await write()
    },
    async flush(): Promise<void> {
      if (held > 0) await write()
      await writing
      await syncing
    },
  }
}

/** `writev` instead of one concatenated buffer: a copy of every batch would be garbage as large as the take. */
async function writeAll(handle: fs.FileHandle, chunks: Uint8Array[], position: number): Promise<void> {
  let left = chunks
  let at = position
  try {
    while (left.length > 0) {
      const { bytesWritten } = await handle.writev(left, at)
      at += bytesWritten
      left = remaining(left, bytesWritten)
    }
    release(chunks)
  } catch (e) {
    throw new Fail(503, 'cache_write_failed', `The take could not be stored: ${faultWords(e)}`)
  }
}

/**
 * Frees the memory of written chunks now: it is outside of the heap, and the garbage collector, which sees only the small
 * wrapper objects, would let a hundred megabytes accumulate. A chunk that is part of a larger buffer is left to it.
 */
function release(chunks: Uint8Array[]): void {
  for (const { buffer, byteLength } of chunks)
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** What remains of the chunks after a write that may have ended within one of them. */
function remaining(chunks: Uint8Array[], written: number): Uint8Array[] {
  let first = 0
  let skip = written
  for (let chunk = chunks[0]; chunk && skip >= chunk.length; chunk = chunks[++first]) skip -= chunk.length
  const [head, ...rest] = chunks.slice(first)
  return head ? [head.subarray(skip), ...rest] : []
}

async function hashFile(file: string, hash: Hash): Promise<void> {
  const handle = await fs.open(file)
  for await (const chunk of handle.createReadStream({ highWaterMark: BATCH })) hash.update(chunk as Buffer)
}

/** @throws Fail 400 for an empty file or one that is not what the sender announced. */
export function checkReceived(got: Received, digest: string | undefined, total: number | undefined): void {
  if (got.size === 0) throw new Fail(400, 'empty_file', 'Recording cache file cannot be empty')
  if (total !== undefined && got.size !== total)
    throw invalid(
      'The file is not as long as announced',
      ['upload-length'],
      `${got.size} of ${total} bytes arrived`,
      'incomplete_file',
    )
  if (digest !== undefined && Buffer.from(got.sha256, 'hex').toString('base64') !== digest)
    throw invalid(
      'The file is not what its digest says',
      ['content-digest'],
      'SHA-256 differs: send it again',
      'digest_mismatch',
    )
}

/** Size of a kept part, bytes; 0 when there is none. */
export const partSize = async (file: string): Promise<number> => (await sizeOf(file)) ?? 0

/** One upload per key at a time; a resumable sender that comes back takes over from its own broken connection. */
export class KeyedLock {
  private readonly inside = new Map<string, { abort: AbortController; left: Promise<void> }>()

  /** @throws Fail 409 `upload_in_progress` when the key is locked and `takeOver` is false. */
  async enter(key: string, takeOver: boolean): Promise<{ cancelled: AbortSignal; leave: () => void }> {
    for (let other = this.inside.get(key); other; other = this.inside.get(key)) {
      if (!takeOver) throw conflict('upload_in_progress', 'Another upload of this file is under way')
      other.abort.abort(conflict('upload_taken_over', 'The sender restarted this upload'))
      await other.left
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const abort = new AbortController()
    this.inside.set(key, { abort, left: promise })
    const leave = () => {
      this.inside.delete(key)
      resolve()
    }
    return { cancelled: abort.signal, leave }
  }
}
