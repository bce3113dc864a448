// Owns the analyst's thread, which runs while a device is open and is restarted when it dies.
import type { Worker } from 'node:worker_threads'
import type { Opening } from '../capture/bus.ts'
import type { Slice } from '../ear/slices.rules.ts'
import type { Report } from '../health/report.ts'
import { backoffMs } from '../proc/bell.ts'
import type { Measurement, MeterOptions } from './accumulator.ts'
import type { FromAnalyst, ToAnalyst } from './analyst.worker.ts'
import { Batches } from './batches.ts'

interface AnalysisDeps {
  measured: (opening: Opening, measurement: Measurement) => void
  options: MeterOptions
  report: Report
  /** Gets the slices, while they are wanted. Default: nobody. */
  sliced?: (opening: Opening, slice: Slice) => void
  start: () => Worker
}

interface Feed {
  batches: Batches
  /** New for every analyst, so that answers of a former one are ignored. */
  id: number
  lagging: boolean
}

const RESTART_MAX_MS = 30_000

const text = (e: unknown): string => (e instanceof Error ? e.message : String(e))

/** Measures open devices off the main thread. Never waits, and nothing grows when the thread is slow. */
export class Analysis {
  readonly #deps: AnalysisDeps
  readonly #feeds = new Map<Opening, Feed>()
  #deaths = 0
  #ending: Promise<unknown> = Promise.resolve()
  #ids = 0
  #listening = false
  #quickPerSecond = 0
  #restart: NodeJS.Timeout | undefined
  #worker: Worker | undefined

  constructor(deps: AnalysisDeps) {
    this.#deps = deps
  }

  /** Whether the thread runs. */
  get running(): boolean {
    return this.#worker !== undefined
  }

  open(opening: Opening): void {
    const feed = { batches: new Batches(opening.format), id: 0, lagging: false }
    this.#feeds.set(opening, feed)
    if (this.#worker) this.#introduce(opening, feed)
    else if (!this.#restart) this.#begin()
  }

  /** Copies what it needs. Without a thread, or beyond its backlog, the audio is not measured. */
  add(opening: Opening, frames: Buffer, capturedAt: number): void {
    const feed = this.#feeds.get(opening)
    if (!feed || !this.#worker) return
    const { batches, id } = feed
    batches.add(frames, capturedAt, (batch) => this.#tell({ id, kind: 'sound', ...batch }, [batch.memory]))
    if (batches.dropped > 0 && !feed.lagging) this.#lags(opening, feed)
  }

  close(opening: Opening): void {
    const feed = this.#feeds.get(opening)
    this.#feeds.delete(opening)
    if (this.#feeds.size === 0) this.#end()
    else if (feed) this.#tell({ id: feed.id, kind: 'close' })
  }

  /** Quick measurements beside the whole ones, so many a second; 0 for none. */
  pace(perSecond: number): void {
    if (perSecond === this.#quickPerSecond) return
    this.#quickPerSecond = perSecond
    for (const { id } of this.#feeds.values()) this.#tell({ id, kind: 'pace', perSecond })
  }

  /** Slices beside the measurements, from now on or no more. */
  listen(on: boolean): void {
    if (on === this.#listening) return
    this.#listening = on
    for (const { id } of this.#feeds.values()) this.#tell({ id, kind: 'listen', on })
  }

  /** Resolves when the thread is gone. */
  async stop(): Promise<void> {
    this.#feeds.clear()
    this.#end()
    await this.#ending
  }

  #end(): void {
    clearTimeout(this.#restart)
    this.#restart = undefined
    if (this.#worker) this.#ending = Promise.all([this.#ending, this.#worker.terminate()])
    this.#worker = undefined
  }

  #begin(): void {
    this.#restart = undefined
    try {
      this.#worker = this.#listenTo(this.#deps.start())
    } catch (e) {
      // A failure of the meters must not reach the capture.
      this.#died(text(e))
      return
    }
    for (const [opening, feed] of this.#feeds) this.#introduce(opening, feed)
  }

  #listenTo(worker: Worker): Worker {
    let error: string | undefined
    worker.on('message', (message: FromAnalyst) => this.#answered(message))
    worker.on('error', (e) => {
      error = text(e)
    })
    // After every `error`, and when it ends without one.
    worker.on('exit', (code) => worker === this.#worker && this.#died(error ?? `the thread ended with ${code}`))
    return worker
  }

  #introduce(opening: Opening, feed: Feed): void {
    feed.id = ++this.#ids
    feed.batches.forget()
    this.#tell({ format: opening.format, id: feed.id, kind: 'open', options: this.#deps.options })
    if (this.#listening) this.#tell({ id: feed.id, kind: 'listen', on: true })
    if (this.#quickPerSecond > 0) this.#tell({ id: feed.id, kind: 'pace', perSecond: this.#quickPerSecond })
  }

  #tell(message: ToAnalyst, transfer: ArrayBuffer[] = []): void {
    this.#worker?.postMessage(message, transfer)
  }

  /** Reports the first death, and once it measures again, the number of failed restarts. */
  #died(error: string): void {
    this.#worker = undefined
    const retryMs = backoffMs(++this.#deaths, RESTART_MAX_MS)
    this.#restart = setTimeout(() => this.#begin(), retryMs)
    if (this.#deaths > 1) return
    const details = { error, openings: this.#feeds.size, retrySeconds: retryMs / 1000 }
    this.#deps.report({ details, severity: 'warning', type: 'agent.meter.analysis_failed' })
  }

  #lives(): void {
    if (this.#deaths === 0) return
    const details = { attempts: this.#deaths }
    this.#deaths = 0
    this.#deps.report({ details, severity: 'info', type: 'agent.meter.analysis_recovered' })
  }

  #answered({ id, measurements, memory, slices }: FromAnalyst): void {
    const entry = this.#feeds.entries().find(([, feed]) => feed.id === id)
    if (!entry) return
    const [opening, feed] = entry
    feed.batches.reuse(memory)
    if (feed.lagging && feed.batches.settled) this.#caughtUp(opening, feed)
    if (measurements.length > 0) this.#lives()
    for (const measurement of measurements) this.#deps.measured(opening, measurement)
    for (const slice of slices) this.#deps.sliced?.(opening, slice)
  }

  #lags({ device }: Opening, feed: Feed): void {
    feed.lagging = true
    this.#deps.report({ details: { device }, severity: 'warning', type: 'agent.meter.analysis_lagging' })
  }

  #caughtUp({ device }: Opening, feed: Feed): void {
    const unmeasuredSeconds = Math.round(feed.batches.dropped * 1000) / 1000
    feed.lagging = false
    feed.batches.dropped = 0
    const details = { device, unmeasuredSeconds }
    this.#deps.report({ details, severity: 'info', type: 'agent.meter.analysis_caught_up' })
  }
}
