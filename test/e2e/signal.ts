// What the sound cards of the tests carry, and how a whole take of any length is held against it, sample for sample.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import type { Gap } from './sound.ts'

export const RATE = 48_000
/** -12 dBFS. */
export const PEAK = 0.25

/** Hz of a channel (from 1). All together repeat after a second, not before: a hole of any other length shows. */
const hertz = (channel: number): number => 100 * channel + 1

/** Phase of a channel's tone at a frame, in turns. */
export const turns = (channel: number, frame: number): number => ((hertz(channel) * frame) % RATE) / RATE

/** A take on disk. */
export interface Layout {
  bytes: 2 | 3 | 4
  channels: number
  dataOffset: number
  frames: number
}

/** Reads the header of a RIFF or RF64 file of whole numbers; its sizes have to be true. */
export function layoutOf(file: string): Layout {
  const head = Buffer.alloc(4096)
  const fd = fs.openSync(file, 'r')
  const size = fs.fstatSync(fd).size
  fs.readSync(fd, head, 0, head.length, 0)
  fs.closeSync(fd)
  const id = (at: number) => head.toString('latin1', at, at + 4)
  const long = (at: number) => Number(head.readBigUInt64LE(at))
  const big = id(0) === 'RF64'
  assert.ok(big || id(0) === 'RIFF', `${file} is a wave file`)
  if (big) assert.equal(id(12), 'ds64')
  assert.equal(big ? long(20) : head.readUInt32LE(4), size - 8, 'the RIFF size is the length of the file')
  let format = 0
  let at = 12
  for (; id(at) !== 'data'; at += 8 + head.readUInt32LE(at + 4)) if (id(at) === 'fmt ') format = at + 8
  const [channels, bits] = [head.readUInt16LE(format + 2), head.readUInt16LE(format + 14)]
  assert.equal(head.readUInt32LE(format + 4), RATE)
  const dataBytes = big ? long(28) : head.readUInt32LE(at + 4)
  assert.equal(at + 8 + dataBytes, size, 'the samples fill the file')
  const bytes = (bits / 8) as Layout['bytes']
  return { bytes, channels, dataOffset: at + 8, frames: dataBytes / (bytes * channels) }
}

/** How far a sample may be from the formula: rounding at 16 bits, the graph's floats (24 bits) above. */
const NEAR = { 2: 2 / 2 ** 15, 3: 4 / 2 ** 23, 4: 4 / 2 ** 23 }

/** A take that is looked at. */
interface Reading {
  fd: number
  layout: Layout
  /** Which channel of the card each channel of the file is. */
  sources: readonly number[]
}

function read({ fd, layout }: Reading, from: number, to: number): Buffer {
  const frameBytes = layout.bytes * layout.channels
  const out = Buffer.allocUnsafe((to - from) * frameBytes)
  assert.equal(fs.readSync(fd, out, 0, out.length, layout.dataOffset + from * frameBytes), out.length)
  return out
}

/** How far the frame is from the formula at its worst channel, the card being at `phase`. */
function errorAt(
  { layout: { bytes, channels }, sources }: Reading,
  frames: Buffer,
  frame: number,
  phase: number,
): number {
  let worst = 0
  for (let channel = 0; channel < channels; channel++) {
    const value = frames.readIntLE((frame * channels + channel) * bytes, bytes) / 2 ** (8 * bytes - 1)
    const wanted = PEAK * Math.sin(2 * Math.PI * turns(sources[channel]!, (phase + frame) % RATE))
    worst = Math.max(worst, Math.abs(value - wanted))
  }
  return worst
}

/** Where in its second the card was with the first frame: the one place that fits best. */
function phaseOf(reading: Reading, frames: Buffer, count: number): number | undefined {
  const near = NEAR[reading.layout.bytes]
  const probes = [...Array(count).keys()]
  let best: { error: number; phase: number } | undefined
  for (let phase = 0; phase < RATE; phase++) {
    let error = 0
    const fits = probes.every((frame) => {
      const here = errorAt(reading, frames, frame, phase)
      error += here
      return here <= near
    })
    if (fits && (!best || error < best.error)) best = { error, phase }
  }
  return best?.phase
}

/** Frames from which a phase is told; fewer where a silence comes soon. */
const PROBES = [400, 40]

/**
 * From where on the tones are not right any more, and the place of the card's second at which they began. The first second
 * is held against the formula, what follows byte for byte against the second before.
 */
function tonesUpTo(reading: Reading, from: number): { phase: number; to: number } | undefined {
  const { bytes, channels, frames } = reading.layout
  const count = Math.min(RATE, frames - from)
  const first = read(reading, from, from + count)
  const phase = PROBES.map((probes) => phaseOf(reading, first, Math.min(count, probes))).find((p) => p !== undefined)
  if (phase === undefined) return undefined
  for (let frame = 0; frame < count; frame++)
    if (errorAt(reading, first, frame, phase) > NEAR[bytes]) return { phase, to: from + frame }
  for (let at = from + RATE; at < frames; at += RATE) {
    const block = read(reading, at, Math.min(at + RATE, frames))
    if (block.equals(first.subarray(0, block.length))) continue
    const odd = block.findIndex((byte, i) => byte !== first[i])
    return { phase, to: at + Math.floor(odd / (bytes * channels)) }
  }
  return { phase, to: frames }
}

/** Shorter runs of zeros are a tone on its way through. */
const LEAST_SILENCE = 24

/** How many frames from there on are zero in every channel. */
function silentFor(reading: Reading, from: number): number {
  const { bytes, channels, frames } = reading.layout
  let count = 0
  for (let at = from; at < frames; at += RATE) {
    const block = read(reading, at, Math.min(at + RATE, frames))
    const sound = block.findIndex((byte) => byte !== 0)
    if (sound >= 0) return count + Math.floor(sound / (bytes * channels))
    count += block.length / (bytes * channels)
  }
  return count
}

export interface Heard {
  layout: Layout
  /** What the card really played during each silence, in seconds, but for whole ones: it plays on while nobody listens. */
  missed: number[]
  /** In the order of the file. */
  silences: Gap[]
}

/**
 * Every sample of the file is the card's: channel after channel its own tone, without a break, but for silences.
 * @param connecting frames at the start in which only some channels may sound yet: they count as a silence.
 * @throws AssertionError where the tones break off.
 */
export function assertSignal(file: string, sources: readonly number[], what: string, connecting = 0): Heard {
  const layout = layoutOf(file)
  assert.equal(layout.channels, sources.length, what)
  const fd = fs.openSync(file, 'r')
  const reading = { fd, layout, sources }
  const heard: Heard = { layout, missed: [], silences: [] }
  let due: number | undefined
  try {
    for (let from = 0; from < layout.frames; ) {
      const silent = silentFor(reading, from)
      const tones = silent < LEAST_SILENCE ? tonesUpTo(reading, from) : undefined
      if (tones && tones.to > from) {
        if (due !== undefined) heard.missed.push(((tones.phase - due + RATE) % RATE) / RATE)
        due = (tones.phase + tones.to - from) % RATE
      } else if (silent >= LEAST_SILENCE) heard.silences.push({ atFrame: from, seconds: silent / RATE })
      else if (from < connecting) heard.silences.push({ atFrame: from, seconds: (connecting - from) / RATE })
      else assert.fail(`${what}: the tones break off at frame ${from} (${(from / RATE).toFixed(3)} s)`)
      from = tones && tones.to > from ? tones.to : from + (silent >= LEAST_SILENCE ? silent : connecting - from)
    }
  } finally {
    fs.closeSync(fd)
  }
  return heard
}

/**
 * No sample of the card is missing. Where its clock stood still, for a graph on a busy machine may be late, the take has
 * silence for the time, and the card goes on after it where it had stopped.
 */
export function assertNothingLost(heard: Heard, what: string): void {
  assert.ok(
    heard.missed.every((seconds) => seconds === 0),
    `${what}: lost ${heard.missed} s at ${JSON.stringify(heard.silences)}`,
  )
}

/** A tone that is zero at the edge of a silence makes it longer by that, in frames, on either side. */
const EDGE = 1

/** Gaps that touch are one silence. */
function joined(gaps: readonly Gap[]): { from: number; to: number }[] {
  const spans: { from: number; to: number }[] = []
  for (const { atFrame, seconds } of [...gaps].sort((a, b) => a.atFrame - b.atFrame)) {
    const [last, to] = [spans.at(-1), atFrame + Math.round(seconds * RATE)]
    if (last && atFrame - last.to <= EDGE) last.to = Math.max(last.to, to)
    else spans.push({ from: atFrame, to })
  }
  return spans
}

/** Every silence is one that was told, where and as long as it was told, and every told one is to be heard. */
export function assertTold({ layout, silences }: Heard, gaps: readonly Gap[], what: string): void {
  const told = joined(gaps).map(({ from, to }) => ({ from, to: Math.min(to, layout.frames) }))
  const both = `${what}: told ${JSON.stringify(gaps)}, heard ${JSON.stringify(silences)}`
  assert.equal(silences.length, told.filter(({ from, to }) => to > from).length, both)
  for (const [n, { atFrame, seconds }] of silences.entries()) {
    const [{ from, to }, end] = [told[n]!, atFrame + Math.round(seconds * RATE)]
    assert.ok(from - atFrame >= 0 && from - atFrame <= EDGE && end - to >= 0 && end - to <= EDGE, both)
  }
}

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)
