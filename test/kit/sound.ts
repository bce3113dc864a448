// Bytes that pass for audio by their signature, for tests to which it does not matter what is heard.
import { randomBytes } from 'node:crypto'
import type { AudioFormat } from '../../src/system/host/audio.ts'

const HEADS: Record<AudioFormat, Buffer> = {
  flac: Buffer.from('fLaC'),
  mp3: Buffer.of(0xff, 0xfb, 0x90, 0x64),
  wav: Buffer.from('RIFF\0\0\0\0WAVE', 'latin1'),
}

/** Begins like a file of that format: a text after its head, or so many bytes in all, at random. */
export function sound(content: number | string, format: AudioFormat = 'wav'): Buffer {
  const head = HEADS[format]
  const rest = typeof content === 'string' ? Buffer.from(content) : randomBytes(Math.max(0, content - head.length))
  return Buffer.concat([head, rest])
}
