// Owns the denoising thread: starts it on request, feeds it, checks that it keeps up, and ends it to free its memory.
import type { Worker } from 'node:worker_threads'
import { startWorker } from '../../kernel/assets.ts'
import type { Clock } from '../../kernel/clock.ts'
import { DENOISE_RATE } from '../enhance/denoiser.rules.ts'
import type { DeepModel } from '../enhance/model.rules.ts'
import type { Report } from '../health/report.ts'
import { backoffMs } from '../proc/bell.ts'
import type { DenoiseBlock, DenoiseDone, DenoiseNews, DenoiseSetup } from './messages.ts'
import { FULL_PER_LIVE } from './monitor.ts'
import type { Cut } from './pieces.rules.ts'

export interface EnhancerDeps {
  clock: Clock
  model: DeepModel
  report: Report
  /** Starts the thread; replaced in tests. */
  startEnhancer?: (model: DeepModel) => Worker
}

/** Keeps the engine loaded for a listener who comes back. */
const LINGER_MS = 3000
/** Audio given to the thread and not yet processed. With more, the thread does not keep up. */
const MAX_BEHIND_SECONDS = 3
/** After this much audio a fault counts as a new one. */
const PROVEN_SECONDS = 10
const LOAD_MS = 30_000
const RETRY_MAX_MS = 300_000

/** Where the pieces of one stream go. */
export interface EnhancedRun {
  onCut(cut: Cut): void
  /** Samples of a piece at the live rate. */
  pieceSamples: number
}

interface Thread {
  /** Samples at the denoiser's rate. */
  done: number
  given: number
  ready: boolean
  /** Number of runs so far. */
  runs: number
  worker: Worker
}

const startThread = (model: DeepModel): Worker =>
  startWorker('agent/listen/denoise', { workerData: { model } satisfies DenoiseSetup })

export class LiveEnhancer {
  readonly #deps: EnhancerDeps
  #ending: Promise<unknown> = Promise.resolve()
  #failures = 0
  #fallen = false
  /** What the thread is being given. */
  #run: EnhancedRun | undefined
  #thread: Thread | undefined
  /** Deadline for loading the engine, for keeping it idle, or for the next attempt. */
  #timer: NodeJS.Timeout | undefined
  #wanted = false

  constructor(deps: EnhancerDeps) {
    this.#deps = deps
  }

  /** Whether anybody wants to hear it. */
  want(wanted: boolean): void {
    if (wanted === this.#wanted) return
    this.#wanted = wanted
    this.#run = undefined
    if (!wanted) this.#after(LINGER_MS, () => this.#close())
    else if (!this.#thread) this.#start()
    else if (this.#thread.ready) clearTimeout(this.#timer)
    else this.#loading()
  }

  /**
   * The next samples of a stream at the full rate, in order. Another stream starts a new run, at the first sample that
   * starts a piece.
   */
  push(run: EnhancedRun, samples: Float32Array, index: number): void {
    const thread = this.#thread
    if (!thread?.ready || !this.#wanted) return
    if (this.#run === run) this.#give(thread, { samples })
    else this.#begin(thread, run, samples, index)
  }

  /** Resolves when the thread is gone. */
  async stop(): Promise<void> {
    this.#wanted = false
    this.#close()
    await this.#ending
  }

  #begin(thread: Thread, run: EnhancedRun, samples: Float32Array, index: number): void {
    const { pieceSamples } = run
    const piece = pieceSamples * FULL_PER_LIVE
    const first = Math.ceil(index / piece) * piece
    if (first >= index + samples.length) return
    this.#run = run
    thread.runs++
    this.#give(thread, {
      begin: { index: first / FULL_PER_LIVE, pieceSamples },
      samples: samples.subarray(first - index),
    })
  }

  #give(thread: Thread, { samples, ...block }: DenoiseBlock): void {
    thread.given += samples.length
    if (thread.given - thread.done > MAX_BEHIND_SECONDS * DENOISE_RATE) {
      this.#failed('it does not keep up')
      return
    }
    // A copy to transfer: the mix itself is needed for the raw pieces.
    const own = samples.slice()
    thread.worker.postMessage({ ...block, samples: own } satisfies DenoiseBlock, [own.buffer])
  }

  #start(): void {
    const { model } = this.#deps
    const worker = (this.#deps.startEnhancer ?? startThread)(model)
    const thread: Thread = { done: 0, given: 0, ready: false, runs: 0, worker }
    this.#thread = thread
    const mine = (then: () => void) => this.#thread === thread && then()
    worker.on('message', (news: DenoiseNews) => mine(() => this.#hear(thread, news)))
    worker.on('error', (e) => mine(() => this.#failed(e.message)))
    worker.on('exit', (code) => mine(() => this.#failed(`it ended with ${code}`)))
    this.#loading()
  }

  #loading(): void {
    this.#after(LOAD_MS, () => this.#failed('the engine was not loaded in time'))
  }

  #hear(thread: Thread, news: DenoiseNews): void {
    if ('failed' in news) this.#failed(news.failed)
    else if ('engine' in news) this.#loaded(thread, news.refused)
    else this.#done(thread, news)
  }

  #done(thread: Thread, { cuts, done, run }: DenoiseDone): void {
    thread.done += done
    if (this.#failures > 0 && thread.done > PROVEN_SECONDS * DENOISE_RATE) {
      this.#failures = 0
      this.#deps.report({ severity: 'info', type: 'agent.listen_monitor.enhancement_recovered' })
    }
    // Drop what was under way when a run ended.
    if (run === thread.runs) for (const cut of cuts) this.#run?.onCut(cut)
  }

  #loaded(thread: Thread, refused: string | undefined): void {
    const { report } = this.#deps
    thread.ready = true
    clearTimeout(this.#timer)
    if (!this.#wanted) this.#after(LINGER_MS, () => this.#close())
    if (refused !== undefined && !this.#fallen) {
      const details = { engine: 'rnnoise', error: refused }
      report({ details, severity: 'warning', type: 'agent.listen_monitor.enhancement_fallback' })
    }
    this.#fallen = refused !== undefined
  }

  /** Raw audio continues. Reported once, retried with growing pauses. */
  #failed(error: string): void {
    const { report } = this.#deps
    this.#close()
    this.#failures++
    if (this.#failures === 1)
      report({ details: { error }, severity: 'warning', type: 'agent.listen_monitor.enhancement_failed' })
    if (this.#wanted) this.#after(2 * backoffMs(this.#failures, RETRY_MAX_MS / 2), () => this.#start())
  }

  #close(): void {
    clearTimeout(this.#timer)
    const thread = this.#thread
    this.#thread = undefined
    this.#run = undefined
    if (thread) this.#ending = Promise.all([this.#ending, thread.worker.terminate()])
  }

  #after(ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, ms)
  }
}
