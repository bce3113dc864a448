import type { DenoiserName } from '../enhance/denoiser.rules.ts'
import type { DeepModel } from '../enhance/model.rules.ts'
import type { Cut } from './pieces.rules.ts'

/** What the denoising thread is started with. */
export interface DenoiseSetup {
  model: DeepModel
}

/** One stretch of audio without holes. */
export interface Run {
  /** Index of its first sample, at the live rate. */
  index: number
  /** Length of a piece, samples at the live rate. */
  pieceSamples: number
}

/** To the thread: samples at the denoiser's rate; `begin`: they are the first of a new run. */
export interface DenoiseBlock {
  begin?: Run
  samples: Float32Array
}

/** So many samples are done, and with them these pieces of the run with that number, counted from 1. */
export interface DenoiseDone {
  cuts: Cut[]
  done: number
  run: number
}

/** From the thread: what it does, that its engine is loaded (`refused`: why not the deep one), or that none can be. */
export type DenoiseNews = DenoiseDone | { engine: DenoiserName; refused?: string } | { failed: string }
