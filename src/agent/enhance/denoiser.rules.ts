// What takes noise out of speech, whichever network it is: frames of 480 samples at 48 kHz mono, in and out.
import type { Denoiser as About } from '../../wire/nodes.ts'
import type { DENOISERS } from '../../wire/profiles.ts'

export type DenoiserName = (typeof DENOISERS)[number]

/** Hz; both engines know no other. */
export const DENOISE_RATE = 48_000
/** Samples of a frame: 10 ms. */
export const DENOISE_FRAME = 480

/** One stream of sound: the network's memory goes from frame to frame. Not to be called again before it answered. */
export interface Denoiser {
  /** What the details of a rendition say about it. */
  readonly about: About
  /** Samples the answer is behind what was given: drop as many at the beginning, feed as much silence at the end. */
  readonly lagSamples: number
  readonly name: DenoiserName
  /** `frame`: 480 samples, -1..1, 48 kHz mono, left as it is. The answer is the caller's to keep. */
  process(frame: Float32Array): Float32Array | Promise<Float32Array>
  close(): void
}
