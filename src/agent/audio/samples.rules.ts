// Interleaved samples of any format as numbers: one row per channel, or all channels averaged to one.
import { type PcmFormat, type SampleFormat, streamFrameBytes } from './format.rules.ts'

/** Value of one step of the integer formats: full scale is 1 (docs/contract/health.md: Meter values). */
const STEP: Record<Exclude<SampleFormat, 'FLOAT_LE'>, number> = {
  S16_LE: 2 ** -15,
  S24_LE: 2 ** -31,
  S24_3LE: 2 ** -31,
  S32_LE: 2 ** -31,
}

type Words = Int16Array | Int32Array

/** The bytes as samples; copied if they are not aligned. */
function view<T>(bytes: Uint8Array, Kind: new (b: ArrayBufferLike, at: number, n: number) => T, size: number): T {
  // Not `slice`, which does not copy a Buffer.
  const at = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes)
  return new Kind(at.buffer, at.byteOffset, at.length / size)
}

/** Every `channels`-th sample from `first` as a number -1..1; `shift` moves the sign of a shorter word to its place. */
function spread(row: Float32Array, words: Words, first: number, channels: number, shift: number, step: number): void {
  for (let i = 0, at = first; i < row.length; i++, at += channels) row[i] = (words[at]! << shift) * step
}

/** Three bytes per sample, in the upper part of a word to keep the sign. */
function spreadPacked(row: Float32Array, bytes: Uint8Array, first: number, channels: number): void {
  for (let i = 0, at = first * 3; i < row.length; i++, at += channels * 3)
    row[i] = ((bytes[at]! << 8) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 24)) * STEP.S24_3LE
}

/** A NaN or infinity from a broken driver counts as zero: one such sample must not spoil the whole reading. */
function spreadFloats(row: Float32Array, floats: Float32Array, first: number, channels: number): void {
  for (let i = 0, at = first; i < row.length; i++, at += channels) {
    const x = floats[at]!
    row[i] = x - x === 0 ? x : 0
  }
}

/** Frames in these bytes. */
export const framesIn = (bytes: Uint8Array, f: PcmFormat): number => bytes.length / streamFrameBytes(f)

/** The samples of an integer format that has a word of its own, and how far its sign is from the top of a word. */
const wordsOf = (bytes: Uint8Array, format: Exclude<SampleFormat, 'FLOAT_LE' | 'S24_3LE'>): [Words, number] => [
  format === 'S16_LE' ? view(bytes, Int16Array, 2) : view(bytes, Int32Array, 4),
  format === 'S24_LE' ? 8 : 0,
]

/**
 * Fills one row per channel (full scale = 1) with frames `from`.. of interleaved whole frames, as many as a row is long.
 */
export function deinterleave(bytes: Uint8Array, f: PcmFormat, from: number, rows: Float32Array[]): void {
  const { channels, format } = f
  const size = streamFrameBytes(f)
  const piece = bytes.subarray(from * size, (from + rows[0]!.length) * size)
  if (format === 'S24_3LE') rows.forEach((row, c) => void spreadPacked(row, piece, c, channels))
  else if (format === 'FLOAT_LE') {
    const floats = view(piece, Float32Array, 4)
    rows.forEach((row, c) => void spreadFloats(row, floats, c, channels))
  } else {
    const [words, shift] = wordsOf(piece, format)
    rows.forEach((row, c) => void spread(row, words, c, channels, shift, STEP[format]))
  }
}

/** All channels averaged to one; whole interleaved frames in, one sample a frame out. */
export function mixedDown(bytes: Uint8Array, f: PcmFormat): Float32Array {
  const { channels, format } = f
  const mix = new Float32Array(framesIn(bytes, f))
  if (format === 'S24_3LE') averagePacked(mix, bytes, channels)
  else if (format === 'FLOAT_LE') averageFloats(mix, view(bytes, Float32Array, 4), channels)
  else average(mix, ...wordsOf(bytes, format), channels, STEP[format])
  return mix
}

function average(mix: Float32Array, words: Words, shift: number, channels: number, step: number): void {
  for (let i = 0, at = 0; i < mix.length; i++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += words[at++]! << shift
    mix[i] = (sum * step) / channels
  }
}

function averagePacked(mix: Float32Array, bytes: Uint8Array, channels: number): void {
  for (let i = 0, at = 0; i < mix.length; i++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++, at += 3)
      sum += (bytes[at]! << 8) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 24)
    mix[i] = (sum * STEP.S24_3LE) / channels
  }
}

/** A frame with a NaN or infinity is silence: otherwise it would stay in a filter with memory for ever. */
function averageFloats(mix: Float32Array, floats: Float32Array, channels: number): void {
  for (let i = 0, at = 0; i < mix.length; i++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += floats[at++]!
    mix[i] = sum - sum === 0 ? sum / channels : 0
  }
}
