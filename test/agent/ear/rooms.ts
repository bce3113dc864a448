// Two rooms in numbers: what their microphones deliver at any hour of a year, and what it sounds like when a line is dead.
// Sound pressure is made of Gaussian noise through one-pole filters (ventilation, traffic, speech, doors) and of sines (mains
// hum, a fan's tone); microphones add their own noise, preamplifiers theirs, and the converter rounds to its bits.

import type { PcmFormat, SampleFormat } from '../../../src/agent/audio/format.rules.ts'
import { mulberry32 } from '../../kit/random.ts'

export const RATE = 16_000

/** Numbers that look random, the same for the same seed. */
export function randoms(seed: number) {
  const next = mulberry32((seed * 2654435761) >>> 0 || 1)
  const gauss = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
  return { between: (a: number, b: number) => a + (b - a) * next(), chance: (p: number) => next() < p, gauss, next }
}
type Randoms = ReturnType<typeof randoms>

/** Gaussian noise of RMS 1: read from other places of it, pieces have nothing in common. */
const NOISE = (() => {
  const { gauss } = randoms(99)
  return Float32Array.from({ length: 2 ** 20 }, gauss)
})()

function white(count: number, r: Randoms): Float32Array {
  const out = new Float32Array(count)
  const from = Math.floor(r.next() * NOISE.length)
  for (let i = 0; i < count; i++) out[i] = NOISE[(from + i) & (NOISE.length - 1)]!
  return out
}

const amplitude = (db: number): number => 10 ** (db / 20)

/** Noise between two corners, 6 dB an octave beyond them, at this RMS in dB. */
function band(count: number, r: Randoms, low: number, high: number, db: number): Float32Array {
  const out = white(count, r)
  const [a, b] = [1 - Math.exp((-2 * Math.PI * high) / RATE), 1 - Math.exp((-2 * Math.PI * low) / RATE)]
  let [fast, slow, squares] = [0, 0, 0]
  for (let i = 0; i < count; i++) {
    fast += a * (out[i]! - fast)
    slow += b * (fast - slow)
    out[i] = fast - slow
    squares += out[i]! ** 2
  }
  const gain = amplitude(db) / Math.sqrt(squares / count)
  for (let i = 0; i < count; i++) out[i]! *= gain
  return out
}

const plus = (into: Float32Array, what: Float32Array, gain = 1): void => {
  for (let i = 0; i < into.length; i++) into[i]! += what[i]! * gain
}

export interface Room {
  /** Ventilation while it runs, dB SPL of its rumble; 0: none. */
  air: number
  /** dB SPL without it, in the quietest hours. */
  ambient: number
  /** How often somebody is there already before a take. */
  early: number
  format: SampleFormat
  /** dBFS of 94 dB SPL. */
  gain: number
  /** dBFS. */
  hum: [number, number]
  /** Own noise of its microphones, dB SPL. */
  mic: number
  name: string
  /** Noise of the preamplifier at that gain, dBFS. */
  preamp: number
  traffic: number
}

export const ROOMS: Room[] = [
  {
    air: 36,
    ambient: 24,
    early: 0.3,
    format: 'S24_3LE',
    gain: -22,
    hum: [-112, -96],
    mic: 15,
    name: 'seminar room, condenser microphones',
    preamp: -110,
    traffic: 0,
  },
  {
    air: 41,
    ambient: 33,
    early: 0.7,
    format: 'S16_LE',
    gain: -26,
    hum: [-100, -84],
    mic: 10,
    name: 'lecture hall on a street, dynamic microphones',
    preamp: -97,
    traffic: 44,
  },
]

export const FAULTS = ['zero', 'pulled', 'phantom', 'offset', 'hum', 'muted', 'copy', 'gain'] as const
export type Fault = (typeof FAULTS)[number]

/** A moment of the year. */
export interface Moment {
  day: number
  hour: number
  /** Seconds of sound. */
  seconds: number
  /** Whether a take runs: somebody speaks most of the time. */
  take: boolean
}

/** Sound pressure at two microphones (RMS 1 = 0 dB SPL): what both hear, and each its own. */
function pressure(room: Room, { day, hour, seconds, take }: Moment, r: Randoms): Float32Array[] {
  const n = seconds * RATE
  const season = Math.cos((2 * Math.PI * (day - 15)) / 365)
  const drift = 2.5 * season + 1.5 * Math.sin((2 * Math.PI * hour) / 24) + 1.2 * r.gauss()
  // It heats and cools on work days, and is off in spring and autumn.
  const airs = room.air > 0 && Math.abs(season) > 0.35 && day % 7 < 5 && r.chance(0.9)
  const sources: [Float32Array, number][] = [
    [band(n, r, 20, 120, room.ambient + 8 + drift), 0.95],
    [band(n, r, 100, 1500, room.ambient - 2 + drift), 0.4],
  ]
  if (airs) {
    const level = room.air + 0.7 * r.gauss() + (day % 2)
    sources.push([band(n, r, 30, 180, level + 6), 0.9], [band(n, r, 150, 2500, level - 6), 0.3])
    if (r.chance(0.5)) sources.push([tone(n, r.between(90, 130), level - 3), 1])
  }
  if (room.traffic > 0) sources.push([swelling(band(n, r, 25, 200, room.traffic + 2 * r.gauss()), r), 0.8])
  if (take || r.chance(room.early)) sources.push([speaking(n, r, take), 0.5])
  if (r.chance(0.15)) sources.push([door(n, r), 0.6])
  return [0, 1].map((mic) => {
    const heard = new Float32Array(n)
    for (const [sound, shared] of sources) {
      const own = mic === 0 ? sound : mixed(sound, shared)
      plus(heard, own)
    }
    return heard
  })
}

/** The second microphone hears a part of it at the same time, the rest a metre later: low sounds are alike at both. */
function mixed(sound: Float32Array, shared: number): Float32Array {
  const rest = Math.sqrt(1 - shared ** 2)
  const shift = Math.round(0.003 * RATE)
  const out = new Float32Array(sound.length)
  for (let i = 0; i < out.length; i++) out[i] = shared * sound[i]! + rest * sound[(i + shift) % out.length]!
  return out
}

/** A sine, turned on from sample to sample. */
function tone(n: number, hz: number, db: number, phase = 0): Float32Array {
  const out = new Float32Array(n)
  const turn = (2 * Math.PI * hz) / RATE
  const [c, s] = [Math.cos(turn), Math.sin(turn)]
  let [x, y] = [Math.cos(phase) * Math.SQRT2 * amplitude(db), Math.sin(phase) * Math.SQRT2 * amplitude(db)]
  for (let i = 0; i < n; i++) {
    out[i] = y
    ;[x, y] = [c * x - s * y, s * x + c * y]
  }
  return out
}

function swelling(sound: Float32Array, r: Randoms): Float32Array {
  const swell = tone(sound.length, r.between(0.05, 0.3), -3, r.between(0, 6))
  for (let i = 0; i < sound.length; i++) sound[i]! *= 0.55 + 0.45 * swell[i]!
  return sound
}

/** Noise in the shape of speech: syllables, and pauses of seconds between sentences. */
function speaking(n: number, r: Randoms, take: boolean): Float32Array {
  const voice = band(n, r, 180, 2200, r.between(54, 68))
  const beat = tone(n, 4, -3)
  let [until, speaks] = [0, true]
  for (let i = 0; i < n; i++) {
    if (i >= until) {
      speaks = r.chance(take ? 0.75 : 0.6)
      until = i + RATE * r.between(0.8, speaks ? 5 : 2.5)
    }
    const syllable = 0.5 + 0.5 * beat[i]!
    voice[i] = speaks ? voice[i]! * syllable * syllable * 1.6 : 0
  }
  return voice
}

function door(n: number, r: Randoms): Float32Array {
  const at = Math.floor(r.next() * n)
  const bang = band(n, r, 30, 400, r.between(65, 85))
  const fall = Math.exp(-1 / (0.15 * RATE))
  for (let i = 0, left = 1; i < n; i++) {
    if (i >= at) left *= fall
    bang[i]! *= i < at ? 0 : left
  }
  return bang
}

/** Mains hum: 50 Hz and its odd multiples. */
function hum(n: number, db: number, r: Randoms): Float32Array {
  const phase = r.between(0, 6)
  const lines = [1, 3, 5, 2, 7].map((k, i) => ({ gain: [1, 0.6, 0.35, 0.3, 0.15][i]!, k }))
  const all = Math.sqrt(lines.reduce((sum, { gain }) => sum + gain ** 2, 0))
  const scale = (amplitude(db) * Math.SQRT2) / all
  const period = Float32Array.from({ length: RATE / 50 }, (_, i) => {
    const turn = (2 * Math.PI * 50 * i) / RATE + phase
    return scale * lines.reduce((sum, { gain, k }) => sum + gain * Math.sin(k * turn), 0)
  })
  const out = new Float32Array(n)
  for (let i = 0; i < n; i++) out[i] = period[i % period.length]!
  return out
}

const louder = (sound: Float32Array, db: number): Float32Array => {
  const gain = amplitude(db)
  for (let i = 0; i < sound.length; i++) sound[i]! *= gain
  return sound
}

/** What the lines of a room deliver, full scale = 1; `faults`: which of them is dead, and how. */
export function lines(room: Room, moment: Moment, r: Randoms, faults: (Fault | undefined)[] = []): Float32Array[] {
  const n = moment.seconds * RATE
  const toFull = room.gain - 94
  const humDb = r.between(...room.hum)
  const preamp = (db = room.preamp) => louder(white(n, r), db)
  const live = pressure(room, moment, r).map((heard) => {
    const line = louder(heard, toFull)
    plus(line, white(n, r), amplitude(room.mic + toFull))
    plus(line, hum(n, humDb, r))
    plus(line, preamp())
    return louder(line, 0.4 * r.gauss())
  })
  return live.map((line, c) => broken(faults[c], line, live[1 - c]!, { n, preamp, r, room }))
}

interface Parts {
  n: number
  preamp: (db?: number) => Float32Array
  r: Randoms
  room: Room
}

function broken(
  fault: Fault | undefined,
  line: Float32Array,
  other: Float32Array,
  { n, preamp, r, room }: Parts,
): Float32Array {
  const noisy = (db: number, more: Float32Array, gain = 1) => {
    const out = preamp(db)
    plus(out, more, gain)
    return out
  }
  switch (fault) {
    case undefined:
      return line
    case 'zero':
      return new Float32Array(n)
    case 'pulled':
      return preamp(room.preamp + r.between(-1, 2))
    case 'phantom':
      return noisy(room.preamp + r.between(1, 5), band(n, r, 20, 60, room.preamp - 4))
    case 'offset':
      return noisy(room.preamp, new Float32Array(n).fill(r.between(0.05, 0.3)))
    case 'hum':
      return noisy(room.preamp, hum(n, r.between(-55, -35), r))
    case 'muted':
      return noisy(r.between(-108, room.preamp + 1), hum(n, r.between(-115, -100), r))
    case 'copy':
      return noisy(room.preamp, other, amplitude(r.between(-6, 6)))
    case 'gain':
      return louder(line.slice(), -20)
  }
}

/** As the converter gives it: interleaved frames of the room's format, rounded with its own dither. */
export function captured(
  room: Room,
  sound: readonly Float32Array[],
  r: Randoms,
): { format: PcmFormat; frames: Buffer } {
  const format = { channels: sound.length, format: room.format, rate: RATE }
  const bytes = room.format === 'S16_LE' ? 2 : 3
  const full = 2 ** (8 * bytes - 1)
  const frames = Buffer.alloc(sound[0]!.length * sound.length * bytes)
  let dice = Math.floor(r.next() * 2 ** 31)
  let at = 0
  for (let i = 0; i < sound[0]!.length; i++)
    for (const line of sound) {
      dice = (Math.imul(dice, 1664525) + 1013904223) | 0
      const exact = line[i]! * full
      // Digital zero is not dithered: nothing is converted there.
      const rounded = exact === 0 ? 0 : Math.round(exact + dice / 2 ** 32)
      const value = Math.max(-full, Math.min(full - 1, rounded))
      for (let byte = 0; byte < bytes; byte++) frames[at++] = value >> (8 * byte)
    }
  return { format, frames }
}
