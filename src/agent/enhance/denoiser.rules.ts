// A denoiser for speech, whatever its network: frames of 480 samples at 48 kHz mono, in and out.

import type { DENOISERS } from '../../wire/profiles.ts'
import type { Denoiser as About } from '../../wire/runtime.ts'

export type DenoiserName = (typeof DENOISERS)[number]

/** Hz; the only rate of both engines. */
export const DENOISE_RATE = 48_000
/** Samples of a frame: 10 ms. */
export const DENOISE_FRAME = 480

/** One stream: the network keeps state between frames. Do not call it again before it has answered. */
export interface Denoiser {
  /** For the details of a rendition. */
  readonly about: About
  /** Delay, samples: drop as many at the beginning, and feed as much silence at the end. */
  readonly lagSamples: number
  readonly name: DenoiserName
  /** `frame`: 480 samples, -1..1, 48 kHz mono, not changed. The caller may keep the answer. */
  process(frame: Float32Array): Float32Array | Promise<Float32Array>
  close(): void
}
