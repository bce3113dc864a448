// Short-time spectra with half overlap and the Vorbis window, as the deep models use them.
import { createRealFft } from './fft.rules.ts'

/** Samples a spectrum goes on by. */
export const HOP = 480
const SIZE = 2 * HOP
export const BINS = HOP + 1

/** Vorbis I specification, 1.3.2. */
const vorbisWindow = (): Float64Array =>
  Float64Array.from({ length: SIZE }, (_, i) => Math.sin((Math.PI / 2) * Math.sin((Math.PI * (i + 0.5)) / SIZE) ** 2))

interface Spectrum {
  /** The next `HOP` samples to the spectrum of the last two hops: real and imaginary parts of `BINS`, interleaved. */
  analyse(hop: Float32Array): Float32Array
  /** A spectrum to the next `HOP` samples, one hop late. */
  synthesise(bins: Float32Array): Float32Array
}

export function createSpectrum(): Spectrum {
  const fft = createRealFft(SIZE)
  const window = vorbisWindow()
  const heard = new Float64Array(SIZE)
  const windowed = new Float64Array(SIZE)
  const tail = new Float64Array(HOP)
  const bins = new Float64Array(2 * BINS)
  return {
    analyse: (hop) => {
      heard.copyWithin(0, HOP)
      heard.set(hop, HOP)
      for (let i = 0; i < SIZE; i++) windowed[i] = heard[i]! * window[i]!
      fft.forward(windowed, bins)
      return Float32Array.from(bins)
    },
    synthesise: (spectrum) => {
      bins.set(spectrum)
      // The first and last bin of a real signal have no imaginary part, but a network may output one.
      bins[1] = bins[2 * BINS - 1] = 0
      fft.inverse(bins, windowed)
      const hop = new Float32Array(HOP)
      for (let i = 0; i < HOP; i++) {
        hop[i] = tail[i]! + windowed[i]! * window[i]!
        tail[i] = windowed[HOP + i]! * window[HOP + i]!
      }
      return hop
    },
  }
}
