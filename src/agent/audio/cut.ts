import * as fs from 'node:fs/promises'
import { syncFile } from '../../kernel/durable.ts'
import { type WavLayout, wavFrameBytes } from './wav.rules.ts'
import { readWav, WavFile } from './wav.ts'

const BLOCK_FRAMES = 16_384

/**
 * Copies frames `from`..`to` of some channels (from 0) of a take, which may still grow, into a WAV file, bit for bit.
 * The file appears whole and on the disk, or not at all. Throws when the source is no WAV file or too short, and what
 * the disk throws.
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
  const temp = `${target}.part`
  await fs.rm(temp, { force: true })
  try {
    await copyFrames({ from, layout, source, target: temp, to }, channels)
    await fs.rename(temp, target)
    await syncFile(target)
  } catch (e) {
    await fs.rm(temp, { force: true })
    throw e
  }
}

interface Copying {
  from: number
  layout: WavLayout
  source: string
  target: string
  to: number
}

async function copyFrames({ from, layout, source, target, to }: Copying, channels: number[]): Promise<void> {
  const frameBytes = wavFrameBytes(layout)
  const all = channels.length === layout.channels && channels.every((channel, i) => channel === i)
  const input = await fs.open(source, 'r')
  try {
    const output = await WavFile.create(target, { ...layout, channels: channels.length })
    try {
      const block = Buffer.alloc(BLOCK_FRAMES * frameBytes)
      for (let frame = from; frame < to; ) {
        const wanted = Math.min(BLOCK_FRAMES, to - frame) * frameBytes
        const { bytesRead } = await input.read(block, 0, wanted, layout.dataOffset + frame * frameBytes)
        const count = Math.floor(bytesRead / frameBytes)
        if (count === 0) throw new Error(`${source} ends before frame ${to}`)
        const frames = block.subarray(0, count * frameBytes)
        await output.append(all ? frames : pick(frames, count, frameBytes, frameBytes / layout.channels, channels))
        frame += count
      }
    } finally {
      await output.finish()
    }
  } finally {
    await input.close()
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
