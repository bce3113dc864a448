import type { DenoiserName } from '../enhance/denoiser.rules.ts'
import type { DeepModel } from '../enhance/model.rules.ts'
import type { Cut } from './pieces.rules.ts'

/** workerData of the denoising thread. */
export interface DenoiseSetup {
  model: DeepModel
}

/** A stretch of audio without gaps. */
export interface Run {
  /** Index of its first sample, at the live rate. */
  index: number
  /** Length of a piece, samples at the live rate. */
  pieceSamples: number
}

/** To the thread: samples at the denoiser's rate. `begin`: the first of a new run. */
export interface DenoiseBlock {
  begin?: Run
  samples: Float32Array
}

/** Number of samples processed, and the finished pieces of that run (counted from 1). */
export interface DenoiseDone {
  cuts: Cut[]
  done: number
  run: number
}

/** From the thread: progress, the loaded engine (`refused`: why not the deep one), or why none can be loaded. */
export type DenoiseNews = DenoiseDone | { engine: DenoiserName; refused?: string } | { failed: string }
