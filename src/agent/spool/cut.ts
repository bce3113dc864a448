import * as fs from 'node:fs/promises'
import { wavFrameBytes } from './wav.rules.ts'
import { readWav, WavFile } from './wav.ts'

const BLOCK_FRAMES = 16_384

/**
 * Copies frames `from`..`to` of some channels (from 0) of a take into a new WAV file, bit for bit.
 * Throws when the source is no WAV file, and what the disk throws.
 */
export async function cutWav(
  source: string,
  target: string,
  channels: number[],
  from: number,
  to: number,
): Promise<void> {
  const layout = await readWav(source)
  if (!layout) throw new Error(`${source} is not a WAV file`)
  const frameBytes = wavFrameBytes(layout)
  const sampleBytes = frameBytes / layout.channels
  const input = await fs.open(source, 'r')
  const output = await WavFile.create(target, { ...layout, channels: channels.length })
  try {
    const block = Buffer.alloc(BLOCK_FRAMES * frameBytes)
    for (let frame = from; frame < to; ) {
      const wanted = Math.min(BLOCK_FRAMES, to - frame) * frameBytes
      const { bytesRead } = await input.read(block, 0, wanted, layout.dataOffset + frame * frameBytes)
      const count = Math.floor(bytesRead / frameBytes)
      if (count === 0) break
      await output.append(pick(block, count, frameBytes, sampleBytes, channels))
      frame += count
    }
  } finally {
    await input.close()
    await output.finish()
  }
}

function pick(block: Buffer, count: number, frameBytes: number, sampleBytes: number, channels: number[]): Buffer {
  const out = Buffer.allocUnsafe(count * channels.length * sampleBytes)
  let at = 0
  for (let frame = 0; frame < count; frame++)
    for (const channel of channels) {
      const source = frame * frameBytes + channel * sampleBytes
      at += block.copy(out, at, source, source + sampleBytes)
    }
  return out
}
