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
  assert.equal((await closed)[0], 0, 'ffmpeg decodes the file')
  return { channels, data, rate }
}

/** A hole in the audio: silence in its place, behind it the source begins anew. */
export interface Gap {
  atFrame: number
  seconds: number
}

/** The first frames of the test source: channel n carries 100 n Hz at -12 dBFS, a function of the frame alone. */
export function tones(channels: number, rate: number, frames: number, gaps: Gap[] = []): Pcm {
  const peak = 10 ** (-12 / 20)
  const data = Buffer.alloc(frames * channels * 2)
  const silences = gaps.map(({ atFrame, seconds }) => ({ from: atFrame, to: atFrame + Math.round(seconds * rate) }))
  for (let frame = 0; frame < frames; frame++) {
    const since = silences.findLast(({ from }) => frame >= from)?.to ?? 0
    for (let channel = 0; channel < channels && frame >= since; channel++) {
      const turns = ((100 * (channel + 1) * (frame - since)) % rate) / rate
      const value = peak * Math.sin(2 * Math.PI * turns)
      data.writeInt16LE(Math.round(value * 32767), (frame * channels + channel) * 2)
    }
  }
  return { channels, data, rate }
}

/** Every sample of the file is the source's, from its very first. */
export function assertExact(heard: Pcm, what: string, gaps: Gap[] = []): void {
  const wanted = tones(heard.channels, heard.rate, framesOf(heard), gaps)
  if (heard.data.equals(wanted.data)) return
  const at = heard.data.findIndex((byte, i) => byte !== wanted.data[i])
  assert.fail(`${what}: sample ${Math.floor(at / 2 / heard.channels)} of ${framesOf(heard)} is not the source's`)
}

/** Decibels below the source's tones. */
const CLOSE = 15

/**
 * A lossy file is the source for that many frames: in every 50 ms the error stays well below the tones. What follows
 * is the rest of the last frame of the codec.
 */
export function assertClose(heard: Pcm, what: string, frames: number, gaps: Gap[] = []): void {
  const wanted = tones(heard.channels, heard.rate, Math.min(frames, framesOf(heard)), gaps)
  const block = Math.floor(heard.rate / 20) * heard.channels
  // Mean power of a sine.
  const signal = (block * (32767 * 10 ** (-12 / 20)) ** 2) / 2
  for (let from = 0; from + block <= wanted.data.length / 2; from += block) {
    let error = 1
    for (let sample = from; sample < from + block; sample++)
      error += (heard.data.readInt16LE(2 * sample) - wanted.data.readInt16LE(2 * sample)) ** 2
    const below = 10 * Math.log10(signal / error)
    const second = (from / heard.channels / heard.rate).toFixed(2)
    assert.ok(below > CLOSE, `${what}: at ${second} s the error is only ${below.toFixed(1)} dB below the tones`)
  }
}
