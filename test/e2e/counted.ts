// A card that counts its samples, and its takes, read in a stream: their length does not matter.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { brokenAt, counted } from './counted.rules.ts'
import { punctual } from './processes.ts'
import { layoutOf } from './signal.ts'

export const COUNTER = path.resolve(import.meta.dirname, 'counter.ts')
const BLOCK_FRAMES = 1 << 16

/**
 * What an agent is told so that it opens the counting card, for meters as well; its stand-in for arecord is laid into
 * `dir`. It has that name because the agent takes the words of this program for what they are. `asound`: see `layProc`. `program`: another stand-in.
 */
export function counterEnv(dir: string, asound: string, card: string, program = COUNTER): Record<string, string> {
  const arecord = path.join(dir, 'arecord')
  // A card does not wait for the processor: what is lost is lost by who did not read it.
  const first = punctual().join(' ')
  fs.writeFileSync(arecord, `#!/bin/sh\nexec ${first} '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 })
  return {
    SVC_ALSA_PROC_ROOT: asound,
    SVC_CAPTURE_COMMAND: arecord,
    SVC_CAPTURE_DEVICE: `hw:CARD=${card},DEV=0`,
    SVC_CAPTURE_FORMAT: 'S32_LE',
  }
}

/**
 * Every frame is the one after the frame before it, every channel is at its place, from the first sample to the last.
 * @returns how many frames there are
 * @throws Error with the frame where the count breaks off, and what stands there
 */
export function assertCounted(file: string, channels: number): number {
  const { bytes, channels: there, dataOffset, frames } = layoutOf(file)
  if (bytes !== 4 || there !== channels) throw new Error(`${there} channels of ${bytes} bytes`)
  const block = new Int32Array(BLOCK_FRAMES * channels)
  const into = Buffer.from(block.buffer)
  const fd = fs.openSync(file, 'r')
  try {
    let first: number | undefined
    for (let frame = 0; frame < frames; frame += BLOCK_FRAMES) {
      const count = Math.min(BLOCK_FRAMES, frames - frame) * channels
      if (fs.readSync(fd, into, 0, count * 4, dataOffset + frame * channels * 4) !== count * 4) throw new Error('short')
      // The device was open before: the take begins with any frame, but with a frame.
      first ??= firstOf(block[0]!, channels)
      const place = first + frame * channels
      const odd = brokenAt(block.subarray(0, count), place)
      if (odd >= 0)
        throw new Error(broken(frame + Math.floor(odd / channels), odd % channels, place + odd, block[odd]!))
    }
  } finally {
    fs.closeSync(fd)
  }
  return frames
}

function firstOf(sample: number, channels: number): number {
  if (sample < 0 || sample % channels !== 0) throw new Error(`the take begins with ${sample}, no first channel`)
  return sample
}

const broken = (frame: number, channel: number, due: number, found: number): string =>
  `frame ${frame}, channel ${channel + 1}: ${found} instead of ${counted(due)}`
