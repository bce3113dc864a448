import * as fs from 'node:fs/promises'
import { type WavLayout, wavFrameBytes } from '../audio/wav.rules.ts'
import type { Frontier } from './frontier.ts'

/** Frames of a take's file, `to` exclusive. */
interface Stretch {
  file: string
  from: number
  layout: WavLayout
  to: number
}

/** Read at once: little enough to hold in memory for every job, enough to be rare. */
const BLOCK_BYTES = 256 * 1024

/**
 * The frames of a stretch as far as the frontier lets read, interleaved as in the file, until its end or the take's:
 * a take that has ended is one whose frontier has. Reads no further than it is asked. Throws when the file is shorter.
 */
export async function* follow(
  { file, from, layout, to }: Stretch,
  frontier: Frontier,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const frameBytes = wavFrameBytes(layout)
  const most = Math.max(1, Math.floor(BLOCK_BYTES / frameBytes))
  const handle = await fs.open(file, 'r')
  try {
    for (let at = from; at < to; ) {
      await frontier.beyond(Math.min(to, at + most) - 1, signal)
      const until = Math.min(to, at + most, frontier.frames)
      if (until <= at) return
      yield await readExactly(handle, layout.dataOffset + at * frameBytes, (until - at) * frameBytes)
      at = until
    }
  } finally {
    await handle.close()
  }
}

async function readExactly(handle: fs.FileHandle, position: number, length: number): Promise<Buffer> {
  const block = Buffer.allocUnsafe(length)
  for (let done = 0; done < length; ) {
    const { bytesRead } = await handle.read(block, done, length - done, position + done)
    if (bytesRead === 0) throw new Error('the take is shorter than it should be')
    done += bytesRead
  }
  return block
}
