import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { isDiskFull } from '../../kernel/durable.ts'
import { errorFields } from '../../kernel/log.ts'
import { readWav } from '../audio/wav.ts'
import type { Output } from '../spool/state.ts'
import type { JobEvent } from './job.rules.ts'
import { aborted, type Making, makePart, makingOf, TAKE } from './make.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import { masterOfAccepted, nextToSend, partOf } from './parts.rules.ts'
import { reclaimSpace } from './reclaim.ts'
import { FEW_TRIES, pauseUntilOver } from './retry.ts'
import { type Refusal, sendOutput } from './send.ts'

/**
 * Delivers one take to the controller, already while it is captured: makes one part after another and sends one file after
 * another. Progress is kept in the job's state, so that another process continues exactly there.
 */
export class Delivery {
  readonly #cancel = new AbortController()
  readonly #ctx: JobContext
  readonly #job: OwnedJob
  readonly #over = new AbortController()
  readonly #signal: AbortSignal
  #allMade = false
  #news = Promise.withResolvers<void>()
  /** Bytes at the start of the take's file whose blocks were given back to the disk. */
  #reclaimed = 0
  #refusal: Refusal | undefined
  #running: Promise<unknown> | undefined

  constructor(ctx: JobContext, job: OwnedJob) {
    this.#ctx = ctx
    this.#job = job
    this.#signal = AbortSignal.any([ctx.signal, this.#cancel.signal])
  }

  /** Begins with the part of the take that exists, and continues as it grows. */
  start(): void {
    if (this.#running) return
    this.#signal.addEventListener('abort', () => this.#wake(), { once: true })
    this.#running = both(this.#makeAll(), this.#sendAll())
    // Errors surface in `finish`; until then the take is being captured, and nothing here may end that.
    this.#running.catch(() => undefined)
  }

  /**
   * Call once the take has ended and its state says so. Resolves when the controller has all of it, or with the reason why
   * some of it will never be accepted; throws only the abort.
   */
  async finish(): Promise<Refusal | undefined> {
    this.#job.watermark.end(this.#job.state.toFrame!)
    this.#over.abort()
    this.start()
    await this.#running
    await this.cancel()
    // Including refusals seen by an earlier process: what the controller does not have is never deleted.
    const reason = this.#job.state.outputs.find((output) => output.refused !== undefined)?.refused
    return this.#refusal ?? (reason === undefined ? undefined : { reason, status: undefined })
  }

  /** Abandons the delivery. Resolves when no work on it is left. */
  async cancel(): Promise<void> {
    this.#cancel.abort()
    await this.#running?.catch(() => undefined)
  }

  async #makeAll(): Promise<void> {
    try {
      await this.#begun()
      const making = await this.#insist((over) => this.#making(over))
      while (making && (await this.#insist(() => this.#makeNext(making)))) this.#wake()
      this.#allMade = true
      this.#progress(0)
      await this.#job.advance({ type: 'all_made' })
    } finally {
      this.#allMade = true
      this.#wake()
    }
  }

  /** Waits until the state says where the take begins: a late member does not start at the file's first frame. */
  async #begun(): Promise<void> {
    const { watermark } = this.#job
    for (let seen = 0; this.#job.state.status === 'claimed' && !watermark.ended; seen = watermark.frames)
      await watermark.beyond(seen, this.#signal)
    if (watermark.ended) await aborted(this.#over.signal, this.#signal)
  }

  async #making(over: AbortSignal): Promise<Making> {
    const job = this.#job
    const layout = await readWav(job.takeFile)
    if (!layout) throw new Error('take is not readable')
    const { outputs, partSeconds, partsMade } = job.state
    const first = outputs.length === 0 && partsMade === 0
    const wished = job.command.chunkSeconds ?? (this.#ctx.settings.chunkSeconds || undefined)
    // Fixed by the first part: all parts have the same length, even if the settings change later, or all are made anew.
    const making = { partSeconds: first ? (partSeconds ?? wished) : partSeconds, ...makingOf(job, layout) }
    if (first) this.#announce(making)
    return { ...making, ctx: this.#ctx, job, over, signal: this.#signal }
  }

  #announce({ partSeconds, plan }: Pick<Making, 'partSeconds' | 'plan'>): void {
    const { outputChannels, mixes, sources } = plan
    if (mixes) this.#job.tell('info', 'channel_map_applied', { outputChannels, sources })
    if (partSeconds !== undefined) this.#job.tell('info', 'chunked_started', { chunkSeconds: partSeconds })
  }

  /** Makes the next part. False when there is none. */
  async #makeNext(making: Making): Promise<boolean> {
    const { state } = this.#job
    const part = partOf({ ...state, partSeconds: making.partSeconds }, making.layout.rate, state.partsMade)
    if (this.#over.signal.aborted && part.from >= state.toFrame!) return false
    return makePart(making, part)
  }

  /**
   * Retries while the take is being captured or the disk is full (others may free space), then a few more times. Undefined
   * when it gives up.
   */
  async #insist<T>(work: (over: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const { signal: over } = this.#over
    for (let attempt = 1, late = 0; ; attempt++) {
      try {
        return await work(over)
      } catch (e) {
        this.#signal.throwIfAborted()
        this.#ctx.log[over.aborted ? 'error' : 'warn']('take not prepared', { jobId: this.#job.id, ...errorFields(e) })
        if (over.aborted && !isDiskFull(e) && ++late >= FEW_TRIES) {
          this.#refusal ??= { reason: 'take_not_prepared', status: undefined }
          return undefined
        }
        await pauseUntilOver(this.#ctx, attempt, over, this.#signal)
      }
    }
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      const news = this.#news.promise
      this.#signal.throwIfAborted()
      const output = nextToSend(this.#job.state)
      if (output) await this.#send(output)
      else if (this.#allMade) return
      else await news
    }
  }

  async #send(output: Output): Promise<void> {
    const job = this.#job
    const onProgress = (part: number) => this.#progress(part)
    const refusal = await sendOutput({ ctx: this.#ctx, job, onProgress, output, signal: this.#signal })
    if (refusal?.status === 404 && masterOfAccepted(job.state, output)) return this.#forget(output)
    this.#refusal ??= refusal
    if (refusal) return this.#settle({ type: 'refused', file: output.file, reason: refusal.reason })
    if (output.chunk !== undefined) {
      const { chunk: chunkIndex, durationSeconds, rendition = null } = output
      job.tell('info', 'chunk_uploaded', { chunkIndex, durationSeconds, rendition })
    }
    await this.#settle({ type: 'accepted', file: output.file })
  }

  /** The recording was deleted after its audio was accepted: its master is not wanted either. */
  async #forget(output: Output): Promise<void> {
    const { rendition = null } = output
    this.#job.tell('info', 'recording_deleted', { fileName: output.fileName, rendition })
    await this.#settle({ type: 'accepted', file: output.file })
  }

  /** Records what became of a file. Files no longer listed are with the controller and are deleted here. */
  async #settle(event: Extract<JobEvent, { type: 'accepted' | 'refused' }>): Promise<void> {
    const before = this.#job.state.outputs
    const written = this.#job.advance(event)
    const gone = before.filter(({ file }) => !this.#job.state.outputs.some((output) => output.file === file))
    // Deleted only once the state on disk no longer lists them.
    if (!(await written) || gone.length === 0) return
    const dir = this.#ctx.spool.dir(this.#job.id)
    for (const { file } of gone) if (file !== TAKE) await fs.rm(path.join(dir, file), { force: true })
    if (!this.#over.signal.aborted) this.#reclaimed = await reclaimSpace(this.#ctx, this.#job, this.#reclaimed)
  }

  #progress(part: number): void {
    const { outputs } = this.#job.state
    const done = outputs.filter((o) => o.uploaded || o.refused !== undefined).length
    if (this.#allMade) this.#job.progress.at('uploading', (100 * (done + part)) / Math.max(1, outputs.length))
  }

  #wake(): void {
    this.#news.resolve()
    this.#news = Promise.withResolvers()
  }
}

/** Waits for both to end, then rejects with the first failure, if any. */
async function both(...work: Promise<void>[]): Promise<void> {
  for (const end of await Promise.allSettled(work)) if (end.status === 'rejected') throw end.reason
}
