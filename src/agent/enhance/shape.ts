// From the take to the shaped voice: mixed to 48 kHz mono, denoised, filtered. Written to an intermediate file, because its
// loudness must be measured before it is set.
import * as fs from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { input, runTool, startTool, type ToolOptions } from '../../system/host/ffmpeg.ts'
import type { Enhancement } from '../../wire/profiles.ts'
import { type WavLayout, wavFrameBytes } from '../audio/wav.rules.ts'
import { readWav } from '../audio/wav.ts'
import type { Mix } from '../render/plan.rules.ts'
import { RAW } from '../render/render.ts'
import {
  cut,
  intermediateBytes,
  type Span,
  TO_INTERMEDIATE,
  toIntermediate,
  toMono,
  voiceFilters,
} from './chain.rules.ts'
import { DENOISE_RATE } from './denoiser.rules.ts'
import { type Loudness, METER, parseLoudness } from './loudness.rules.ts'
import { BLOCK, type DenoiseThread, release } from './thread.ts'

/** Frames of a WAV or RF64 file, on the disk; the file may grow meanwhile. */
export interface TakePart {
  file: string
  fromFrame: number
  /** First frame that may be heard before the part; default: none is. */
  heardFrom?: number
  /** Frame after the last one that may be heard behind the part; default: none is. */
  heardTo?: number
  /** Exclusive. */
  toFrame: number
}

/** A part of a take, found on the disk, with what is heard around it. */
export interface Source {
  file: string
  fromFrame: number
  layout: WavLayout
  mixes: Mix[] | undefined
  /** At 48 kHz. */
  span: Span
  toFrame: number
}

/** @throws Error when the file does not hold that part */
export async function openSource(
  { file, fromFrame, heardFrom = fromFrame, toFrame, heardTo = toFrame }: TakePart,
  mixes: Mix[] | undefined,
): Promise<Source> {
  const layout = await readWav(file)
  if (!layout) throw new Error('the take is not readable')
  // The file may still grow: its size decides, not its header.
  const held = ((await fs.stat(file)).size - layout.dataOffset) / wavFrameBytes(layout)
  if (toFrame <= fromFrame || held < heardTo)
    throw new Error(`the take has ${Math.floor(held)} frames, expected at least ${heardTo}`)
  const samples = (frames: number) => Math.round((frames / layout.rate) * DENOISE_RATE)
  const span = {
    lead: samples(fromFrame - heardFrom),
    samples: samples(toFrame - fromFrame),
    tail: samples(heardTo - toFrame),
  }
  return { file, fromFrame: heardFrom, layout, mixes, span, toFrame: heardTo }
}

/** Reads the part's bytes as raw samples: fast in a long take, and independent of a header that is still being written. */
function reading({ file, fromFrame, layout, toFrame }: Source): string[] {
  const byte = (frame: number) => layout.dataOffset + frame * wavFrameBytes(layout)
  const shape = { channels: layout.channels, format: RAW[layout.format], rate: layout.rate }
  return input.stretch(shape, { file, from: byte(fromFrame), to: byte(toFrame) })
}

const FLOATS = { channels: 1, format: 'f32le', rate: DENOISE_RATE } as const
const TO_FLOATS = ['-f', FLOATS.format, '-ar', String(DENOISE_RATE), '-ac', '1']

interface Shaping {
  chain: Enhancement
  /** Absent: the chain has no denoiser. */
  denoiser?: DenoiseThread
  /** The intermediate file. */
  output: string
  source: Source
}

/** Measures only the part, and passes everything through. */
const measuring = (span: Span): string => `asplit[heard][all];[heard]${cut(span)},${METER},anullsink;[all]anull`

/**
 * Writes what is heard to the intermediate file and resolves with the loudness of the part. Throws with ffmpeg's words,
 * the denoiser's, or the signal's reason.
 */
export async function shape({ chain, denoiser, output, source }: Shaping, options: ToolOptions): Promise<Loudness> {
  const { lead, samples, tail } = source.span
  const all = lead + samples + tail
  const mono = toMono(source.mixes, source.layout.channels, all)
  const voice = ['aformat=sample_fmts=flt', ...voiceFilters(chain), measuring(source.span), toIntermediate].join(',')
  const read = (filter: string) => [...reading(source), '-filter_complex', filter]
  const written = [...TO_INTERMEDIATE, '-y', `file:${output}`]
  const said = denoiser
    ? await piped(
        [...read(mono), ...TO_FLOATS, 'pipe:1'],
        denoiser,
        [...input.stdin(FLOATS), '-af', voice, ...written],
        options,
      )
    : (await runTool([...read(`${mono},${voice}`), ...written], options)).said
  const { size } = await fs.stat(output)
  if (size !== intermediateBytes(all))
    throw new Error(`the shaped sound has ${size} bytes, expected ${intermediateBytes(all)}`)
  return parseLoudness(said)
}

/**
 * One ffmpeg reads, one writes, the denoiser is in between; the first failure ends all. Resolves with the writer's output.
 */
async function piped(
  reading: string[],
  denoiser: DenoiseThread,
  writing: string[],
  options: ToolOptions,
): Promise<string> {
  const failing = new AbortController()
  const signal = AbortSignal.any([failing.signal, ...(options.signal ? [options.signal] : [])])
  const { onSeconds: _, ...silent } = options
  const reader = startTool(['-nostdin', '-v', 'error', ...reading], { ...silent, signal })
  const writer = startTool(writing, { ...options, signal, stdin: true })
  writer.stdout.resume()
  const parts = [reader.ended, pump(reader.stdout, denoiser, writer.stdin)]
  for (const part of [...parts, writer.ended]) part.catch((e) => failing.abort(e))
  await Promise.allSettled([...parts, writer.ended])
  signal.throwIfAborted()
  return (await writer.ended).said
}

async function pump(from: Readable, denoiser: DenoiseThread, to: Writable): Promise<void> {
  const pass = async (samples: Float32Array | undefined) => put(to, await denoiser.denoise(samples))
  for await (const samples of blocks(from)) await pass(samples)
  await pass(undefined)
  to.end()
}

/** Resolves once the samples are passed on. Never rejects: the end of the reading process says why it stopped. */
async function put(to: Writable, samples: Float32Array): Promise<void> {
  const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)
  await new Promise<void>((resolve) => to.write(bytes, () => resolve()))
}

/** A stream of bytes as blocks of samples, each good until the next. */
async function* blocks(from: Readable): AsyncGenerator<Float32Array> {
  const block = new Float32Array(BLOCK)
  const bytes = Buffer.from(block.buffer)
  let filled = 0
  for await (const piece of from as AsyncIterable<Buffer>) {
    for (let used = 0; used < piece.length; ) {
      const more = piece.copy(bytes, filled, used)
      used += more
      filled += more
      if (filled < bytes.length) continue
      yield block
      filled = 0
    }
    release(piece)
  }
  if (filled >= 4) yield block.subarray(0, Math.floor(filled / 4))
}
