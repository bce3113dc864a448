// Exports, and lists that are given whole: so many at once, ended when nobody reads them any more, or nobody may.
import { Fail } from '../../kernel/fail.ts'
import { ConcurrencyLimit } from './concurrency.ts'

const MAX_PER_USER = 16
const CHECK_MS = 5000
const UNREAD_MS = 60_000

/** Who reads an export. */
export interface Reader {
  /** The key their exports are counted under. */
  caller: string
  /** Aborts when their connection has closed. */
  gone: AbortSignal
  /** Whether they may still have it; asked every few seconds while they read. */
  mayGoOn(): boolean
}

/** Every export under way; `close` ends them all. */
export class Exports {
  private readonly monotonic: () => number
  private readonly places = new ConcurrencyLimit(MAX_PER_USER)
  private readonly open = new Set<ExportStream>()

  constructor(monotonic: () => number) {
    this.monotonic = monotonic
  }

  /** The answer, bounded; its rows are generated as they are read. @throws Fail 429 when the reader has too many open. */
  async bounded(response: Response, reader: Reader): Promise<Response> {
    const rows = response.body
    if (!rows) return response
    if (this.places.full(reader.caller)) {
      await rows.cancel()
      throw new Fail(
        429,
        'too_many_exports',
        `${MAX_PER_USER} exports or whole lists of yours are under way: wait until one has ended`,
        { headers: { 'retry-after': '5' } },
      )
    }
    const leave = this.places.take(reader.caller)
    const one: ExportStream = new ExportStream(rows, reader, this.monotonic, () => {
      leave()
      this.open.delete(one)
    })
    this.open.add(one)
    return new Response(new ReadableStream(one, { highWaterMark: 0 }), response)
  }

  close(): void {
    for (const one of this.open) one.end('the controller is stopping')
  }
}

class ExportStream {
  private readonly reader: Reader
  private readonly rows: ReadableStreamDefaultReader<Uint8Array>
  private readonly monotonic: () => number
  private readonly leave: () => void
  private checkedAt: number
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private unread: NodeJS.Timeout

  constructor(rows: ReadableStream<Uint8Array>, reader: Reader, monotonic: () => number, leave: () => void) {
    this.rows = rows.getReader()
    this.reader = reader
    this.monotonic = monotonic
    this.leave = leave
    this.checkedAt = monotonic()
    this.unread = this.watched()
    reader.gone.addEventListener('abort', () => this.finish(), { once: true })
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.controller = controller
    if (this.reader.gone.aborted) this.finish()
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    clearTimeout(this.unread)
    if (this.controller && !this.allowed()) return this.end('the reader is no longer allowed to have it')
    const { done, value } = await this.rows.read()
    if (!this.controller) return
    if (done) {
      this.finish()
      controller.close()
      return
    }
    controller.enqueue(value)
    this.unread = this.watched()
  }

  cancel(): void {
    this.finish()
  }

  /** Aborts the export: the connection closes, so that nobody mistakes a part for the whole. */
  end(why: string): void {
    const controller = this.controller
    this.finish()
    controller?.error(new Error(`the export was broken off: ${why}`))
  }

  private finish(): void {
    clearTimeout(this.unread)
    this.controller = undefined
    this.leave()
    this.rows.cancel().catch(() => undefined) // its source may have failed already
  }

  private allowed(): boolean {
    const now = this.monotonic()
    if (now - this.checkedAt < CHECK_MS) return true
    this.checkedAt = now
    return this.reader.mayGoOn()
  }

  private watched(): NodeJS.Timeout {
    return setTimeout(() => this.end('the client stopped reading'), UNREAD_MS).unref()
  }
}
