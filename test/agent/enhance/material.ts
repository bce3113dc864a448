// Speech of two synthesisers and noise of fixed seeds: what the denoisers are judged on.

import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { FLOAT, fmtOf, PCM, wavFormat, wavHeader, wavHeadIn } from '../../../src/kernel/wav.rules.ts'
import { mulberry32 } from '../../kit/random.ts'
import { energy, RATE, type Samples } from './measures.ts'

const SHORT = 'The meeting begins at nine. We will speak about the budget, and about the rooms on the second floor.'
const LONG =
  'The meeting begins at nine. We will speak about the budget of the next year, and about the rooms on the second floor. Please keep your questions for the end.'

const BITS: Record<number, (bytes: Buffer, at: number) => number> = {
  16: (bytes, at) => bytes.readInt16LE(at) / 2 ** 15,
  24: (bytes, at) => bytes.readIntLE(at, 3) / 2 ** 23,
  32: (bytes, at) => bytes.readFloatLE(at),
}

/** The samples of a mono WAV file of 48 kHz; undefined for anything else, which ffmpeg has to read. */
function plainSamples(file: string): Samples | undefined {
  const bytes = fs.readFileSync(file)
  const head = wavHeadIn(bytes)
  const { bits = 0, channels, rate, tag } = (head && wavFormat(head.fmt)) ?? {}
  if (!head || channels !== 1 || rate !== RATE || (bits === 32) !== (tag === FLOAT)) return undefined
  const data = bytes.subarray(head.dataOffset).subarray(0, head.dataBytes)
  const read = BITS[bits]!
  return Float32Array.from({ length: (data.length * 8) / bits }, (_, i) => read(data, (i * bits) / 8))
}

/** Any file ffmpeg reads, as 48 kHz mono. A process for each plain file would cost more than what is tested with it. */
export function decode(file: string): Samples {
  const plain = file.endsWith('.wav') ? plainSamples(file) : undefined
  if (plain) return plain
  const args = ['-nostdin', '-v', 'error', '-i', file, '-ac', '1', '-ar', String(RATE), '-f', 'f32le', '-']
  const bytes = execFileSync('ffmpeg', args, { maxBuffer: 2 ** 30 })
  return new Float32Array(new Uint8Array(bytes).buffer)
}

function spoken(write: (file: string) => void): Samples {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'speech-'))
  try {
    write(path.join(dir, 'speech.wav'))
    return decode(path.join(dir, 'speech.wav'))
  } finally {
    fs.rmSync(dir, { recursive: true })
  }
}

const espeak = (voice: string, speed: number, text: string) =>
  spoken((file) => execFileSync('espeak-ng', ['-v', voice, '-s', String(speed), '-w', file, text]))

const flite = (voice: string, text: string) =>
  spoken((file) => execFileSync('flite', ['-voice', voice, '-t', text, '-o', file]))

/** To that root mean square over all. */
export function scaled(x: Samples, rms: number): Samples {
  const gain = rms / Math.sqrt(energy(x) / x.length)
  return x.map((v) => v * gain)
}

/** A second of silence, speech, a second of silence. */
const padded = (x: Samples): Samples => {
  const out = new Float32Array(x.length + 2 * RATE)
  out.set(x, RATE)
  return out
}

/** Spoken once, then the same samples for all. */
const said = new Map<string, Samples>()
const once = (name: string, say: () => Samples) => (): Samples => {
  const known = said.get(name) ?? say()
  said.set(name, known)
  return known.slice()
}

const speakers = (name: string, text: string): Record<string, () => Samples> => ({
  'espeak-ng': once(`espeak-ng ${name}`, () => padded(scaled(espeak('en', 150, text), 0.08))),
  flite: once(`flite ${name}`, () => padded(scaled(flite('slt', text), 0.08))),
})

export const SPEECH = speakers('short', SHORT)
/** Where the range of loudness counts, which is that of several seconds. */
export const TALK = speakers('long', LONG)

/** Uniform in -1..1, the same for the same seed. */
function uniform(seed: number): () => number {
  const next = mulberry32(seed)
  return () => 2 * next() - 1
}

/** Half as much power per octave: five one-pole filters an octave or two apart. */
function pink(length: number, seed: number): Samples {
  const [next, poles] = [uniform(seed), [0.9994, 0.995, 0.97, 0.85, 0.5]]
  const state = poles.map(() => 0)
  return Float32Array.from({ length }, () => {
    const white = next()
    return poles.reduce((sum, pole, i) => {
      state[i] = pole * state[i]! + Math.sqrt(1 - pole) * white
      return sum + state[i]!
    }, 0)
  })
}

export function hum(length: number, hz = 50): Samples {
  const harmonics = [1, 0.5, 0.6, 0.3, 0.3, 0.2, 0.2]
  return Float32Array.from({ length }, (_, i) =>
    harmonics.reduce((sum, a, k) => sum + a * Math.sin((2 * Math.PI * hz * (k + 1) * i) / RATE + k), 0),
  )
}

/** Low rushing and the tone of the blades. */
function fan(length: number, seed: number): Samples {
  const next = uniform(seed)
  let low = 0
  return Float32Array.from({ length }, (_, i) => {
    low += 0.03 * (next() - low)
    return low + 0.01 * Math.sin((2 * Math.PI * 187 * i) / RATE) + 0.005 * next()
  })
}

/** Six voices at once, over and over. */
function babble(length: number): Samples {
  const voices = ['en+f2', 'en+m3', 'de', 'en+f4', 'en+m7', 'fr'].map((voice, i) => espeak(voice, 140 + 12 * i, LONG))
  return Float32Array.from({ length }, (_, i) => voices.reduce((sum, v, k) => sum + v[(i + k * 31_000) % v.length]!, 0))
}

export const NOISE: Record<string, (length: number) => Samples> = {
  pink: (length) => pink(length, 1),
  hum: (length) => hum(length),
  fan: (length) => fan(length, 2),
  babble,
}

/** Noise of that kind so many dB below the speech, over the whole length. */
export function noisy(clean: Samples, kind: string, snrDb: number): Samples {
  const rms = Math.sqrt(energy(clean) / clean.length)
  const noise = scaled(NOISE[kind]!(clean.length), rms * 10 ** (-snrDb / 20))
  return clean.map((v, i) => v + noise[i]!)
}

/** As 16-bit WAV; interleaves several channels. */
export function writeWav(file: string, ...channels: Samples[]): void {
  const samples = Int16Array.from({ length: channels[0]!.length * channels.length }, (_, i) => {
    const value = channels[i % channels.length]![Math.floor(i / channels.length)]! * 2 ** 15
    return Math.max(-(2 ** 15), Math.min(2 ** 15 - 1, Math.round(value)))
  })
  const fmt = fmtOf({ bits: 16, channels: channels.length, rate: RATE, tag: PCM })
  fs.writeFileSync(file, Buffer.concat([wavHeader(fmt, samples.byteLength), Buffer.from(samples.buffer)]))
}
