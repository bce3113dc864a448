import type { ByteRange } from './files.ts'

// Read before the client asks, per answer.
const AHEAD_BYTES = 4 * 1024 * 1024
// Every piece of an answer costs the same, however short: short ones that are there already go together.
const PIECE_BYTES = 256 * 1024

/**
 * Reads a source up to 4 MiB ahead of its consumer, so that its delays and the client's do not add up. An error of the source
 * comes after what was read before it.
 */
class ReadAhead {
  private readonly source: AsyncIterator<Uint8Array>
  private readonly ahead: number
  private readonly queue: Uint8Array[] = []
  private bytes = 0
  private ended = false
  private fault: unknown
  private wakeReader: () => void = () => {}
  private wakeSource: () => void = () => {}

  constructor(source: AsyncIterable<Uint8Array>, ahead = AHEAD_BYTES) {
    this.source = source[Symbol.asyncIterator]()
    this.ahead = ahead
    void this.fill()
  }

  /** Undefined at the end. @throws what the source threw. */
  async next(): Promise<Uint8Array | undefined> {
    while (this.queue.length === 0 && !this.ended)
      await new Promise<void>((resolve) => {
        this.wakeReader = resolve
      })
    const piece = this.taken()
    if (piece === undefined && this.fault !== undefined) throw this.fault
    this.bytes -= piece?.length ?? 0
    this.wakeSource()
    return piece
  }

  private taken(): Uint8Array | undefined {
    let [count, bytes] = [0, 0]
    for (const { length } of this.queue) {
      if (count > 0 && bytes + length > PIECE_BYTES) break
      bytes += length
      count++
    }
    const pieces = this.queue.splice(0, count)
    return pieces.length > 1 ? Buffer.concat(pieces, bytes) : pieces[0]
  }

  /** Nobody wants the rest: ends the source. */
  close(): void {
    this.ended = true
    this.queue.length = 0
    this.wakeReader()
    this.wakeSource()
    void this.source.return?.()?.catch(() => {})
  }

  private async fill(): Promise<void> {
    try {
      while (!this.ended) {
        const { done, value } = await this.source.next()
        if (done || this.ended) break
        this.queue.push(value)
        this.bytes += value.length
        this.wakeReader()
        await this.room()
      }
    } catch (e) {
      this.fault = e
    }
    this.ended = true
    this.wakeReader()
  }

  private async room(): Promise<void> {
    while (this.bytes >= this.ahead && !this.ended)
      await new Promise<void>((resolve) => {
        this.wakeSource = resolve
      })
  }
}

interface Remote {
  /** Called when the answer is over; `whole`: all of it was passed on. */
  ended?: ((whole: boolean) => void) | undefined
  /** Called at the first byte; what it returns is called at the end. */
  hold?: (() => () => void) | undefined
  /** Asked before each piece. */
  mayGoOn?: (() => boolean) | undefined
}

/** The body of an answer whose bytes are read from elsewhere while they are sent. */
export function remoteBody(
  source: AsyncIterable<Uint8Array>,
  { start, end }: ByteRange,
  gone: AbortSignal,
  { ended, hold, mayGoOn }: Remote,
): ReadableStream<Uint8Array> {
  const ahead = new ReadAhead(source)
  const release = hold?.()
  let left = end + 1 - start
  let finished = false
  const finish = (): void => {
    if (finished) return
    finished = true
    gone.removeEventListener('abort', finish)
    // A source that is read to its end keeps its connection.
    if (left > 0) ahead.close()
    release?.()
    ended?.(left === 0)
  }
  if (gone.aborted) finish()
  gone.addEventListener('abort', finish, { once: true })
  const next = async (): Promise<Uint8Array> => {
    if (mayGoOn?.() === false) throw new Error('the caller is no longer allowed to have it')
    const piece = await ahead.next()
    if (piece === undefined || piece.length > left) throw new Error('the source has another length than it said')
    left -= piece.length
    return piece
  }
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      controller.enqueue(await next())
      if (left > 0) return
      finish()
      controller.close()
    } catch (e) {
      finish()
      throw e
    }
  }
  return new ReadableStream({ cancel: finish, pull }, { highWaterMark: 0 })
}
