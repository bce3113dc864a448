import type { Worker } from 'node:worker_threads'
import { startWorker } from '../../kernel/assets.ts'
import type { Denoiser, DenoiserName } from './denoiser.rules.ts'
import { type DeepModel, ModelUnusable } from './model.rules.ts'

/** What a thread runs. */
interface Engine {
  engine: DenoiserName
  model: DeepModel
}

/** workerData of the thread. */
export interface Task extends Engine {
  /** Shared by both sides, for samples both ways: hours of audio leave nothing to collect. */
  block: Float32Array
}

/** To the thread: how many samples are in the block; none at the end of the stream. */
export interface Order {
  count?: number
}

/** From the thread: first what it runs or why it cannot, then how many samples are in the block, once per order. */
export interface Answer {
  about?: Denoiser['about']
  count?: number
  unusable?: string
}

/** Samples of a block at most: a third of a second. */
export const BLOCK = 16_384
/** More may come than was given: what waited for a full frame, or for the end. */
const SLACK = 4096

/** A stream being denoised in a thread of its own. One call at a time. */
export interface DenoiseThread {
  readonly about: Denoiser['about']
  /**
   * At most `BLOCK` samples of 48 kHz mono to as many as are ready; after the last ones, undefined for the rest. The
   * answer is good until the next call.
   */
  denoise(samples: Float32Array | undefined): Promise<Float32Array>
  /** Ends the thread, whatever it is doing. */
  close(): Promise<void>
}

/**
 * Frees the memory of a block at once: the garbage collector would let tens of megabytes of dead blocks accumulate, which
 * is much for a recorder.
 */
export function release({ buffer, byteLength }: NodeJS.TypedArray): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** The next message of a thread; rejects when it ends without one. */
function nextAnswer(worker: Worker): Promise<Answer> {
  const { promise, reject, resolve } = Promise.withResolvers<Answer>()
  const ended = () => reject(new Error('the denoiser ended unexpectedly'))
  worker.once('message', resolve).once('error', reject).once('exit', ended)
  return promise.finally(() => worker.off('message', resolve).off('error', reject).off('exit', ended))
}

/** Starts a thread and waits for its engine. An abort ends it. @throws ModelUnusable, the signal's reason */
export async function openDenoiser(engine: Engine, signal: AbortSignal): Promise<DenoiseThread> {
  signal.throwIfAborted()
  const block = new Float32Array(new SharedArrayBuffer(4 * (BLOCK + SLACK)))
  const task: Task = { ...engine, block }
  const worker = startWorker('agent/enhance/denoise', { workerData: task })
  // Between two calls nobody waits for it; the next call rejects with what killed it.
  let fault: Error | undefined
  worker.on('error', (e) => {
    fault ??= e instanceof Error ? e : new Error(String(e))
  })
  const end = () => void worker.terminate()
  signal.addEventListener('abort', end, { once: true })
  const close = async () => {
    signal.removeEventListener('abort', end)
    await worker.terminate()
  }
  const ask = async (answer: Promise<Answer>): Promise<Answer> => {
    try {
      return await answer
    } catch (e) {
      signal.throwIfAborted()
      throw fault ?? e
    }
  }
  try {
    const { about, unusable } = await ask(nextAnswer(worker))
    if (!about) throw new ModelUnusable(unusable ?? 'the denoiser did not name its model')
    const denoise = async (samples: Float32Array | undefined) => {
      signal.throwIfAborted()
      if (fault) throw fault
      if (samples) block.set(samples)
      const order: Order = samples ? { count: samples.length } : {}
      const answer = ask(nextAnswer(worker))
      worker.postMessage(order)
      return block.subarray(0, (await answer).count)
    }
    return { about, close, denoise }
  } catch (e) {
    await close()
    throw e
  }
}
