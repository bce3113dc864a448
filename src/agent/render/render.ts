import * as fs from 'node:fs/promises'
import { freshDraft, syncFile } from '../../kernel/durable.ts'
import { input, type RawFormat, startTool, type Tool } from '../../system/host/ffmpeg.ts'
import { type WavLayout, wavFrameBytes } from '../audio/wav.rules.ts'

interface RenderRequest {
  codecArgs: string[]
  command: string
  env: NodeJS.ProcessEnv
  filter: string | undefined
  /** Shape of the frames that come in. */
  input: Pick<WavLayout, 'channels' | 'format' | 'rate'>
  output: string
}

/** MP3 pads to whole frames, FLAC counts its last block by its start. */
const TOLERANCE_SECONDS = 0.25
/** An encoder that takes nothing for so long, or does not end, hangs. */
const HANGS_MS = 120_000
export const RAW: Record<WavLayout['format'], RawFormat> = {
  FLOAT_LE: 'f32le',
  S16_LE: 's16le',
  S24_3LE: 's24le',
  S32_LE: 's32le',
}

/**
 * Encodes frames (interleaved, as in a take's file) with ffmpeg as they come; the output appears under its name only
 * when it is whole and on the disk. Resolves with the number of frames. Throws what the source throws, ffmpeg's own
 * words (code ENOSPC when it was the disk), and when the result is empty or of another length. An abort kills ffmpeg.
 */
export async function render(
  request: RenderRequest,
  source: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<number> {
  const { rate } = request.input
  const temp = await freshDraft(request.output)
  try {
    const { bytes, seconds } = await run(request, args(request, temp), source, signal)
    const frames = bytes / wavFrameBytes(request.input)
    const { size } = await fs.stat(temp)
    if (size === 0 || frames === 0) throw new Error('render output is empty')
    if (Math.abs(seconds - frames / rate) > TOLERANCE_SECONDS)
      throw new Error(`render output is ${seconds} s long, expected ${frames / rate} s`)
    await fs.rename(temp, request.output)
    await syncFile(request.output)
    return frames
  } catch (e) {
    await fs.rm(temp, { force: true })
    throw e
  }
}

function args({ codecArgs, filter, input: { channels, format, rate } }: RenderRequest, output: string): string[] {
  const frames = input.stdin({ channels, format: RAW[format], rate })
  const filtered = filter === undefined ? [] : ['-af', filter]
  const plain = ['-map', '0:a', '-map_metadata', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact']
  const head = ['-v', 'error', '-y']
  return [...head, ...frames, ...filtered, ...plain, ...codecArgs, `file:${output}`]
}

/** Resolves with the bytes ffmpeg was given and the seconds of audio it says it wrote. */
async function run(
  { command, env }: RenderRequest,
  words: string[],
  source: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<{ bytes: number; seconds: number }> {
  const encoder = startTool(words, { command, env, signal, stdin: true })
  encoder.stdout.resume()
  // Looked at below; a source that fails first must not leave it unheard.
  encoder.ended.catch(() => undefined)
  try {
    const bytes = await feed(encoder, source)
    const { seconds } = await inTime(encoder.ended)
    return { bytes, seconds }
  } finally {
    // Nobody may write behind our back.
    await encoder.stop()
  }
}

/** Hands ffmpeg one block after the other, each when it has taken the one before. Throws when it ends too early. */
async function feed({ ended, stdin }: Tool, source: AsyncIterable<Buffer>): Promise<number> {
  let over = false
  const early = ended.then(() => {
    throw new Error('the encoder ended before its input did')
  })
  early.catch(() => {
    over = true
  })
  let bytes = 0
  for await (const block of source) {
    if (over) await early
    bytes += block.length
    if (stdin.write(block)) continue
    const drained = Promise.withResolvers<void>()
    stdin.once('drain', drained.resolve)
    await inTime(Promise.race([drained.promise, early]))
  }
  stdin.end()
  return bytes
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`the encoder hung for ${HANGS_MS / 1000} s`)), HANGS_MS)
  return await Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
