// What the test source sounds like, written down a second time, and how a file is held against it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'

export interface Pcm {
  channels: number
  /** Signed 16 bit, interleaved. */
  data: Buffer
  rate: number
}

export const framesOf = ({ channels, data }: Pcm): number => data.length / (2 * channels)
export const secondsOf = (pcm: Pcm): number => framesOf(pcm) / pcm.rate

/** Reads a 16 bit RIFF file chunk by chunk; the sizes in its headers have to be true. */
export function readWav(file: Buffer): Pcm {
  assert.equal(file.toString('latin1', 0, 4), 'RIFF')
  assert.equal(file.readUInt32LE(4), file.length - 8, 'the RIFF size is the length of the file')
  const chunks = new Map<string, Buffer>()
  for (let at = 12; at < file.length; ) {
    const size = file.readUInt32LE(at + 4)
    chunks.set(file.toString('latin1', at, at + 4), file.subarray(at + 8, at + 8 + size))
    at += 8 + size + (size % 2)
  }
  const [format, data] = [chunks.get('fmt '), chunks.get('data')]
  assert.ok(format && data)
  assert.deepEqual([format.readUInt16LE(0), format.readUInt16LE(14)], [1, 16], 'PCM of 16 bits')
  return { channels: format.readUInt16LE(2), data, rate: format.readUInt32LE(4) }
}

/** Any file as PCM, by ffmpeg. */
export async function decode(file: Buffer, channels: number, rate: number): Promise<Pcm> {
  const output = ['-f', 's16le', '-ac', String(channels), '-ar', String(rate), 'pipe:1']
  const child = spawn('ffmpeg', ['-v', 'error', '-i', 'pipe:0', ...output], { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  child.stdin.end(file)
  const data = await buffer(child.stdout)
  assert.equal((await closed)[0], 0, `ffmpeg decodes the file of ${file.length} bytes`)
  return { channels, data, rate }
}

/** A hole in the audio: silence in its place, behind it the source goes on somewhere. */
export interface Gap {
  atFrame: number
  seconds: number
}

interface Stretch {
  from: number
  to: number
}

/** The audio between the gaps, in frames. */
function stretches(frames: number, rate: number, gaps: Gap[]): Stretch[] {
  const found: Stretch[] = []
  let from = 0
  for (const { atFrame, seconds } of gaps) {
    found.push({ from, to: Math.min(atFrame, frames) })
    from = atFrame + Math.round(seconds * rate)
  }
  return [...found, { from, to: frames }].filter((one) => one.to > one.from)
}

/** Frames after which all tones of the test source begin anew, for they are whole hundreds of Hz. */
const PERIOD_SECONDS = 1 / 100

/** The test source from a place of its period on: channel n carries 100 n Hz at -12 dBFS. Signed 16 bit. */
function tones(channels: number, rate: number, frames: number, phase: number): Buffer {
  const peak = 10 ** (-12 / 20)
  const data = Buffer.alloc(frames * channels * 2)
  const period = Math.round(rate * PERIOD_SECONDS)
  for (let frame = 0; frame < Math.min(period, frames); frame++)
    for (let channel = 0; channel < channels; channel++) {
      const turns = ((100 * (channel + 1) * (frame + phase)) % rate) / rate
      const value = peak * Math.sin(2 * Math.PI * turns)
      data.writeInt16LE(Math.round(value * 32767), (frame * channels + channel) * 2)
    }
  const whole = period * channels * 2
  for (let at = whole; at < data.length; at += whole) data.copy(data, at, 0, Math.min(whole, data.length - at))
  return data
}

const part = ({ channels, data }: Pcm, { from, to }: Stretch): Buffer =>
  data.subarray(from * channels * 2, to * channels * 2)

/** Mean power of what the two differ in; of 16 bit samples. */
function difference(a: Buffer, b: Buffer): number {
  let sum = 0
  for (let at = 0; at < a.length; at += 2) sum += (a.readInt16LE(at) - b.readInt16LE(at)) ** 2
  return sum / (a.length / 2)
}

/**
 * What a stretch would be if it came from the source: a take begins wherever the tones are at that moment, for the device
 * may be open before. The place is the one that fits a period best, from `behind` frames on.
 */
function wanted(heard: Pcm, stretch: Stretch, behind = 0): Buffer {
  const { channels, rate } = heard
  const period = Math.round(rate * PERIOD_SECONDS)
  const from = Math.min(stretch.from + behind, Math.max(stretch.from, stretch.to - period))
  const probe = part(heard, { from, to: Math.min(stretch.to, from + period) })
  const frames = probe.length / 2 / channels
  const errors = Array.from({ length: period }, (_, phase) => difference(probe, tones(channels, rate, frames, phase)))
  const phase = errors.indexOf(Math.min(...errors)) - (from - stretch.from)
  return tones(channels, rate, stretch.to - stretch.from, ((phase % period) + period) % period)
}

/** Every sample of the file is the source's, from its very first, and every gap is silence. */
export function assertExact(heard: Pcm, what: string, gaps: Gap[] = []): void {
  const expected = Buffer.alloc(heard.data.length)
  for (const stretch of stretches(framesOf(heard), heard.rate, gaps))
    wanted(heard, stretch).copy(expected, stretch.from * heard.channels * 2)
  if (heard.data.equals(expected)) return
  const at = heard.data.findIndex((byte, i) => byte !== expected[i])
  assert.fail(`${what}: sample ${Math.floor(at / 2 / heard.channels)} of ${framesOf(heard)} is not the source's`)
}

/** Decibels below the source's tones. */
const CLOSE = 15

/**
 * A lossy file is the source for that many frames: in every 50 ms the error stays well below the tones. What follows
 * is the rest of the last frame of the codec.
 */
export function assertClose(heard: Pcm, what: string, frames: number, gaps: Gap[] = []): void {
  const block = Math.floor(heard.rate / 20)
  // Mean power of a sine.
  const signal = (32767 * 10 ** (-12 / 20)) ** 2 / 2
  for (const stretch of stretches(Math.min(frames, framesOf(heard)), heard.rate, gaps)) {
    const source = wanted(heard, stretch, block)
    for (let from = stretch.from; from + block <= stretch.to; from += block) {
      const own = part(heard, { from, to: from + block })
      const theirs = source.subarray((from - stretch.from) * heard.channels * 2).subarray(0, own.length)
      const below = 10 * Math.log10(signal / (difference(own, theirs) + 1e-9))
      const second = (from / heard.rate).toFixed(2)
      assert.ok(below > CLOSE, `${what}: at ${second} s the error is only ${below.toFixed(1)} dB below the tones`)
    }
  }
}
