// Sound for the meters' tests: a function of time per channel, in any format of a stream.
import { execFileSync } from 'node:child_process'
import { type PcmFormat, streamFrameBytes, streamSampleBytes } from '../../../src/agent/audio/format.rules.ts'

/** Value of sample `i`, full scale = 1. */
export type Wave = (i: number) => number

const FULL = { S16_LE: 2 ** 15, S24_LE: 2 ** 23, S24_3LE: 2 ** 23, S32_LE: 2 ** 31 }

/** Interleaved frames; a wave per channel. */
export function pcm(f: PcmFormat, frames: number, waves: Wave[]): Buffer {
  const out = Buffer.alloc(frames * streamFrameBytes(f))
  const size = streamSampleBytes(f.format)
  const put = (at: number, x: number): void => {
    if (f.format === 'FLOAT_LE') out.writeFloatLE(x, at)
    else {
      const full = FULL[f.format]
      out.writeIntLE(Math.max(-full, Math.min(full - 1, Math.round(x * full))), at, size)
    }
  }
  for (let i = 0; i < frames; i++) for (const [c, wave] of waves.entries()) put((i * f.channels + c) * size, wave(i))
  return out
}

export const sine =
  (hz: number, amplitude: number, rate = 48_000): Wave =>
  (i) =>
    amplitude * Math.sin((2 * Math.PI * hz * i) / rate)

export const silence: Wave = () => 0

/** The same noise for the same seed, -amplitude..amplitude. */
export function noise(seed: number, amplitude: number): Wave {
  return (i) => {
    let x = Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(seed, 0x85ebca6b)
    x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d)
    x = Math.imul(x ^ (x >>> 12), 0x297a2d39)
    return amplitude * ((x ^ (x >>> 15)) / 2 ** 31)
  }
}

const TEXT =
  'Good morning and welcome to the lecture. Today we look at the history of sound recording, from the wax cylinder ' +
  'to the digital recorder in this room. Please feel free to ask questions at any time.'

/** Eight seconds of a synthetic voice at 48 kHz, peak at full scale. */
export function speech(): Float32Array {
  const wav = execFileSync('espeak-ng', ['-s', '150', '--stdout', TEXT])
  const args = ['-v', 'error', '-i', 'pipe:0', '-ar', '48000', '-ac', '1', '-f', 'f32le', 'pipe:1']
  const raw = execFileSync('ffmpeg', args, { input: wav, maxBuffer: 1 << 26 })
  const samples = new Float32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + 8 * 48_000 * 4))
  const peak = samples.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
  return samples.map((x) => x / peak)
}
