// The thread that denoises live audio: started when a listener asks for it, ended when none does.
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

/** The deep engine; the recurrent one where its model is of no use. */
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

// Live audio through a denoiser: what the thread of its own does, without the thread.

interface Running {
  cutter: Cutter
  down: Resampler
  stream: DenoiseStream
}

/** The denoiser's state is kept over all that is pushed; a new run only begins a new piece. */
interface Denoising {
  /** What comes next is its first sample; at a multiple of a piece's length a whole piece begins. */
  begin(run: Run): void
  /** Mono at the denoiser's rate. What can be told by now, at the live rate, each sample at the time it was captured. */
  push(samples: Float32Array): Promise<Cut[]>
}

export function createDenoising(denoiser: Denoiser): Denoising {
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
