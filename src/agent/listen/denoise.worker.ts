// The thread that denoises live audio. It runs only while a listener asks for denoised audio.
import { parentPort, workerData } from 'node:worker_threads'
import { DENOISE_RATE, type Denoiser } from '../enhance/denoiser.rules.ts'
import { loadDenoiser } from '../enhance/engines.ts'
import { DenoiseStream } from '../enhance/stream.ts'
import type { DenoiseBlock, DenoiseNews, DenoiseSetup, Run } from './messages.ts'
import { type Cut, type Cutter, createCutter, LIVE_RATE } from './pieces.rules.ts'
import { createResampler, type Resampler } from './resampler.rules.ts'

const { model } = workerData as DenoiseSetup
const port = parentPort!
const tell = (news: DenoiseNews): void => port.postMessage(news)
const text = (e: unknown): string => (e instanceof Error ? e.message : String(e))

/** The deep engine, or the recurrent one if the model is unusable. */
async function load(): Promise<{ denoiser: Denoiser; refused?: string }> {
  try {
    return { denoiser: await loadDenoiser('deepfilternet3', model) }
  } catch (e) {
    return { denoiser: await loadDenoiser('rnnoise', model), refused: text(e) }
  }
}

async function work(): Promise<void> {
  const { denoiser, refused } = await load()
  const denoising = createDenoising(denoiser)
  // One block after the other: the denoiser answers one frame at a time.
  let working: Promise<void> = Promise.resolve()
  let run = 0
  const one = async ({ begin, samples }: DenoiseBlock): Promise<void> => {
    if (begin) {
      run++
      denoising.begin(begin)
    }
    tell({ cuts: await denoising.push(samples), done: samples.length, run })
  }
  port.on('message', (block: DenoiseBlock) => {
    working = working.then(() => one(block)).catch(failed)
  })
  tell({ engine: denoiser.name, ...(refused === undefined ? {} : { refused }) })
}

const failed = (e: unknown): void => tell({ failed: text(e) })

work().catch(failed)

// Denoises live audio. Called by the worker thread.

interface Running {
  cutter: Cutter
  down: Resampler
  stream: DenoiseStream
}

/** The denoiser keeps its state across runs; a new run only starts a new piece. */
interface Denoising {
  /** Index of the next sample; pieces start at multiples of their length. */
  begin(run: Run): void
  /** Takes mono at the denoiser's rate; returns what is ready at the live rate, without a delay in time. */
  push(samples: Float32Array): Promise<Cut[]>
}

function createDenoising(denoiser: Denoiser): Denoising {
  let run: Running | undefined
  return {
    begin: ({ index, pieceSamples }) => {
      run = {
        cutter: createCutter(pieceSamples, index),
        down: createResampler(DENOISE_RATE, LIVE_RATE),
        stream: new DenoiseStream(denoiser),
      }
    },
    push: async (samples) => {
      if (!run) return []
      const { cutter, down, stream } = run
      return cutter.push(down.push(await stream.push(samples)))
    },
  }
}
