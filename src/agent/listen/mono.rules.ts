import { type PcmFormat, streamFrameBytes } from '../capture/format.rules.ts'

type Samples = Int16Array | Int32Array | Float32Array

/** The memory as numbers of that size; copied first when it does not lie as the processor wants it. */
function aligned(frames: Buffer, bytes: number): { buffer: ArrayBufferLike; at: number } {
  if (frames.byteOffset % bytes === 0) return { buffer: frames.buffer, at: frames.byteOffset }
  return { buffer: Uint8Array.from(frames).buffer, at: 0 }
}

function averaged(samples: Samples, channels: number, scale: number): Float32Array {
  const out = new Float32Array(samples.length / channels)
  for (let frame = 0, at = 0; frame < out.length; frame++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += samples[at++]!
    out[frame] = sum * scale
  }
  return out
}

function averagedPacked(bytes: Buffer, channels: number): Float32Array {
  const out = new Float32Array(bytes.length / (3 * channels))
  for (let frame = 0, at = 0; frame < out.length; frame++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++, at += 3)
      sum += ((bytes[at]! << 8) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 24)) >> 8
    out[frame] = sum / channels / 2 ** 23
  }
  return out
}

/** The top byte of ALSA's S24_LE is nobody's: only the low three count. */
function averagedLoose(samples: Int32Array, channels: number): Float32Array {
  const out = new Float32Array(samples.length / channels)
  for (let frame = 0, at = 0; frame < out.length; frame++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += (samples[at++]! << 8) >> 8
    out[frame] = sum / channels / 2 ** 23
  }
  return out
}

/** A single NaN of a broken driver must not sound for ever in a filter with memory. */
function finite(samples: Float32Array): Float32Array {
  for (let i = 0; i < samples.length; i++) if (!Number.isFinite(samples[i])) samples[i] = 0
  return samples
}

/** All channels averaged to one (contract, section 9). Whole interleaved frames in, -1..1 out, one sample a frame. */
export function mixedDown(frames: Buffer, f: PcmFormat): Float32Array {
  const { channels, format } = f
  const count = (frames.length / streamFrameBytes(f)) * channels
  if (format === 'S24_3LE') return averagedPacked(frames, channels)
  const { at, buffer } = aligned(frames, streamFrameBytes(f) / channels)
  if (format === 'S16_LE') return averaged(new Int16Array(buffer, at, count), channels, 1 / channels / 2 ** 15)
  if (format === 'FLOAT_LE') return finite(averaged(new Float32Array(buffer, at, count), channels, 1 / channels))
  const samples = new Int32Array(buffer, at, count)
  return format === 'S24_LE' ? averagedLoose(samples, channels) : averaged(samples, channels, 1 / channels / 2 ** 31)
}
