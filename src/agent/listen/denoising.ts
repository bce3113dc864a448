// Live audio through a denoiser: what the thread of its own does, without the thread.
import { DENOISE_RATE, type Denoiser } from '../enhance/denoiser.rules.ts'
import { DenoiseStream } from '../enhance/stream.ts'
import type { Run } from './messages.ts'
import { type Cut, type Cutter, createCutter, LIVE_RATE } from './pieces.rules.ts'
import { createResampler, type Resampler } from './resampler.rules.ts'

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
