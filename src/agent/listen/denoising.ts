// Live audio through a denoiser: what the thread of its own does, without the thread.
import type { Denoiser } from '../enhance/denoiser.ts'
import { DENOISE_FRAME, DENOISE_RATE } from '../enhance/engine.rules.ts'
import type { Run } from './messages.ts'
import { type Cut, type Cutter, createCutter, LIVE_RATE } from './pieces.rules.ts'
import { createResampler, type Resampler } from './resampler.rules.ts'

interface Running {
  cutter: Cutter
  down: Resampler
  /** Samples of the denoiser's answer that belong to the time before the run. */
  early: number
  frame: Float32Array
  filled: number
}

/** The denoiser's state is kept over all that is pushed; a new run only begins a new piece. */
export interface Denoising {
  /** What comes next is its first sample; at a multiple of a piece's length a whole piece begins. */
  begin(run: Run): void
  /** Mono at the denoiser's rate. What can be told by now, at the live rate, each sample at the time it was captured. */
  push(samples: Float32Array): Promise<Cut[]>
}

export function createDenoising(denoiser: Denoiser): Denoising {
  let run: Running | undefined

  const answered = (run: Running, answer: Float32Array): Cut[] => {
    const early = Math.min(run.early, answer.length)
    run.early -= early
    return run.cutter.push(run.down.push(answer.subarray(early)))
  }
  return {
    begin: ({ index, pieceSamples }) => {
      run = {
        cutter: createCutter(pieceSamples, index),
        down: createResampler(DENOISE_RATE, LIVE_RATE),
        early: denoiser.lagSamples,
        frame: new Float32Array(DENOISE_FRAME),
        filled: 0,
      }
    },
    push: async (samples) => {
      const cuts: Cut[] = []
      if (!run) return cuts
      for (let at = 0; at < samples.length; ) {
        const part = samples.subarray(at, at + DENOISE_FRAME - run.filled)
        run.frame.set(part, run.filled)
        run.filled += part.length
        at += part.length
        if (run.filled < DENOISE_FRAME) continue
        run.filled = 0
        cuts.push(...answered(run, await denoiser.process(run.frame)))
      }
      return cuts
    },
  }
}
