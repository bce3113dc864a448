// The two networks that take noise out of speech, behind one shape: frames of 480 samples at 48 kHz mono, in and out.
import type { Denoiser as About } from '../../wire/nodes.ts'
import { loadDeep } from './deep.onnx.ts'
import type { DenoiserName } from './engine.rules.ts'
import type { DeepModel } from './model.rules.ts'
import { loadRecurrent } from './recurrent.ts'

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

/**
 * For worker threads: a frame takes up to a millisecond. The bytes of network and runtime are read in the thread itself
 * (embedded assets are there too, inside the executable); only `model`, a plain record, has to reach it by workerData.
 * @throws ModelUnusable when the deep engine's model is missing, another than expected, or does not fit
 */
export const loadDenoiser = (engine: DenoiserName, model: DeepModel): Promise<Denoiser> =>
  engine === 'rnnoise' ? loadRecurrent() : loadDeep(model)
