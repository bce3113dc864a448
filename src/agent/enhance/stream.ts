import { DENOISE_FRAME, type Denoiser } from './denoiser.rules.ts'

/** Denoises blocks of any size; in total returns as many samples as it was given, aligned with them. */
export class DenoiseStream {
  readonly #denoiser: Denoiser
  readonly #frame = new Float32Array(DENOISE_FRAME)
  /** Samples waiting in the frame. */
  #filled = 0
  /** Samples given and not yet returned. */
  #owed = 0
  /** Samples still to come that are older than the sound. */
  #early: number

  constructor(denoiser: Denoiser) {
    this.#denoiser = denoiser
    this.#early = denoiser.lagSamples
  }

  /** Samples of 48 kHz mono, -1..1; answers with what is ready, in memory of the caller's own. */
  async push(samples: Float32Array): Promise<Float32Array<ArrayBuffer>> {
    this.#owed += samples.length
    const ready = await this.#feed(samples)
    this.#owed -= ready.length
    return ready
  }

  /** Ends the stream and returns the rest. */
  async end(): Promise<Float32Array<ArrayBuffer>> {
    const silence = new Float32Array(this.#denoiser.lagSamples + DENOISE_FRAME)
    return (await this.#feed(silence)).subarray(0, this.#owed)
  }

  async #feed(samples: Float32Array): Promise<Float32Array<ArrayBuffer>> {
    const frames = Math.floor((this.#filled + samples.length) / DENOISE_FRAME)
    const out = new Float32Array(frames * DENOISE_FRAME)
    let used = 0
    for (let i = 0; i < frames; i++) {
      const more = samples.subarray(used, used + DENOISE_FRAME - this.#filled)
      this.#frame.set(more, this.#filled)
      used += more.length
      this.#filled = 0
      out.set(await this.#denoiser.process(this.#frame), i * DENOISE_FRAME)
    }
    this.#frame.set(samples.subarray(used), this.#filled)
    this.#filled += samples.length - used
    const early = Math.min(this.#early, out.length)
    this.#early -= early
    return out.subarray(early)
  }
}
