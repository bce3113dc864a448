// A take's file as an agent left it that did not end by itself.
import * as fs from 'node:fs'
import { crc32 } from 'node:zlib'
import { earlier, MARKED_HEADER, SLOTS, slotAt } from '../../src/agent/audio/marks.rules.ts'
import { markBytes, markIn } from '../../src/agent/audio/marks.ts'

/** Frames of a take that its own records vouch for. */
export function vouched(file: Buffer, frameBytes: number): number {
  const marks = SLOTS.map((slot) => markIn(file, slot)).filter((mark) => mark !== undefined)
  const at = (frame: number) => MARKED_HEADER + frame * frameBytes
  const frames = marks.map(({ base, crc, frames }) => {
    const bytes = file.subarray(at(base), at(frames))
    return bytes.length === at(frames) - at(base) && crc32(bytes) === crc ? frames : base
  })
  return Math.max(0, ...frames)
}

export const framesOnDisk = (file: string, frameBytes: number): number =>
  fs.existsSync(file) ? vouched(fs.readFileSync(file), frameBytes) : 0

/** As if everything in the file had been captured so much earlier, seconds. */
export function age(file: string, seconds: number): void {
  const head = fs.readFileSync(file).subarray(0, MARKED_HEADER)
  const fd = fs.openSync(file, 'r+')
  for (const slot of SLOTS) {
    const mark = markIn(head, slot)
    if (mark) fs.writeSync(fd, markBytes({ ...mark, ...earlier(mark, seconds * 1000) }), 0, null, slotAt(slot))
  }
  fs.closeSync(fd)
}
