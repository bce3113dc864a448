// Computes the peaks of a stored file with ffprobe and ffmpeg, one process at a time, reading its output line by line.
import { createInterface } from 'node:readline'
import { type AudioFile, formatOf } from '../../../system/host/audio.ts'
import { input, probing, QUIETLY, startTool, ToolError } from '../../../system/host/ffmpeg.ts'
import { collector, type Peaks, pointsFor } from './peaks.rules.ts'

export interface AudioTools {
  ffmpeg: string
  ffprobe: string
  /** Largest output of a tool, bytes. */
  maxBytes: number
  /** For a short file; longer ones get more time in proportion. */
  timeoutMs: number
}

export interface MadePeaks {
  peaks: Peaks
  sampleRate: number
  /** Per channel. */
  samples: number
}

interface Shape {
  channels: number
  sampleRate: number
  seconds: number
}

interface Run {
  args: readonly string[]
  command: string
  maxBytes: number
  onLine: (line: string) => void
  signal: AbortSignal
  timeoutMs: number
}

const LONGEST_LINE = 4096
const MAX_CHANNELS = 512
// Decoding takes at most a tenth of the duration, or something is wrong.
const SLOWEST = 10
// Samples of all channels together, four bytes each.
const MAX_SLICE = 16 * 1024 * 1024
// `lavfi.astats.512.Max_level=-0.123456`.
const LONGEST_FOUND = 48

/**
 * Reads a whole file once with constant memory. `progress`: 0..1.
 * @throws Error with a reason when a tool is missing, fails, takes too long or has unexpected output.
 */
export async function measuredPeaks(
  tools: AudioTools,
  file: string,
  signal: AbortSignal,
  progress: (part: number) => void,
): Promise<MadePeaks> {
  const format = await formatOf(file)
  if (!format) throw new Error('no_audio: it is not a WAV, FLAC or MP3 file')
  const shape = await probed(tools, { file, format }, signal)
  const wanted = pointsFor(shape.channels)
  const slice = sliceOf(shape, wanted)
  const lines = (shape.seconds * shape.sampleRate * shape.channels * 2) / slice
  const reader = framesInto(shape.channels, wanted, (point) => progress(Math.min(0.99, point / wanted)))
  await run({
    args: [...QUIETLY, ...input.file({ file, format }), ...measuring(slice)],
    command: tools.ffmpeg,
    maxBytes: tools.maxBytes + lines * LONGEST_FOUND,
    onLine: reader.line,
    signal,
    timeoutMs: tools.timeoutMs + (shape.seconds * 1000) / SLOWEST,
  })
  const { peaks, samples } = reader.end()
  if (peaks.points === 0) throw new Error('no_audio: the file decodes to nothing')
  return { peaks, sampleRate: shape.sampleRate, samples }
}

/** Samples per channel in one slice, limited by memory: a long take with many channels has more slices. */
const sliceOf = ({ channels, sampleRate, seconds }: Shape, wanted: number): number =>
  Math.max(1, Math.min(Math.ceil((seconds * sampleRate) / wanted), Math.floor(MAX_SLICE / channels)))

/** Each frame is one slice; its measurements are written to standard output as text. */
const measuring = (slice: number): string[] => [
  ...['-map', '0:a:0', '-af'],
  `aformat=sample_fmts=fltp,asetnsamples=n=${slice}:p=0,` +
    'astats=metadata=1:reset=1:measure_perchannel=Min_level+Max_level:measure_overall=Number_of_samples,' +
    'ametadata=mode=print:file=-',
  ...['-f', 'null', '-'],
]

async function probed(tools: AudioTools, file: AudioFile, signal: AbortSignal): Promise<Shape> {
  let said = ''
  const entries = 'stream=channels,sample_rate,duration:format=duration'
  await run({
    args: probing(file, entries, 'json'),
    command: tools.ffprobe,
    maxBytes: Math.min(tools.maxBytes, 65_536),
    onLine: (line) => {
      said += line
    },
    signal,
    timeoutMs: tools.timeoutMs,
  })
  return shapeOf(said)
}

function shapeOf(said: string): Shape {
  const { format, streams } = JSON.parse(said) as {
    format?: { duration?: string }
    streams?: Record<string, unknown>[]
  }
  const [stream] = streams ?? []
  const channels = Number(stream?.channels)
  const sampleRate = Number(stream?.sample_rate)
  const seconds = Number(stream?.duration ?? format?.duration ?? 0)
  if (!(channels >= 1 && channels <= MAX_CHANNELS && sampleRate >= 1))
    throw new Error('no_audio: there is no audio stream')
  return { channels, sampleRate, seconds: seconds > 0 ? seconds : 1 }
}

/** Reads the output of `ametadata`: a `frame:` line, then its measurements. */
function framesInto(channels: number, wanted: number, seen: (point: number) => void) {
  const collected = collector(channels, wanted)
  let extremes: number[] = []
  let frames = 0
  let samples = 0
  const flush = () => {
    if (extremes.length === 0) return
    collected.add(extremes)
    seen(++frames)
    extremes = []
  }
  return {
    line(line: string): void {
      if (line.startsWith('frame:')) flush()
      const [, channel = '', what = '', value = ''] = /^lavfi\.astats\.(\w+)\.(\w+)=(\S+)$/.exec(line) ?? []
      const number = Number(value)
      if (!Number.isFinite(number)) return
      if (what === 'Number_of_samples') samples += number
      const at = (Number(channel) - 1) * 2
      if (what === 'Min_level' && at >= 0 && at < channels * 2) extremes[at] = number
      if (what === 'Max_level' && at >= 0 && at < channels * 2) extremes[at + 1] = number
    },
    end() {
      flush()
      return { peaks: collected.peaks(), samples }
    },
  }
}

/** Reads what a tool says line by line. @throws Error that begins with the reason */
async function run({ args, command, maxBytes, onLine, signal, timeoutMs }: Run): Promise<void> {
  const tool = startTool(args, { command, progress: false, signal, timeoutMs: Math.round(timeoutMs) })
  let bytes = 0
  tool.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) tool.kill(new Error(`too_much_output: more than ${maxBytes} bytes`))
  })
  createInterface({ input: tool.stdout }).on('line', (line) => onLine(line.slice(0, LONGEST_LINE)))
  await tool.ended.catch((e) => {
    throw e instanceof ToolError ? new Error(`${e.code}: ${e.message}`) : e
  })
}
