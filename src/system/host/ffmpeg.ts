// Starts ffmpeg and ffprobe. Demuxer, decoders and protocols are always named, so that the content of a file never decides
// how it is read: a playlist with the name of a take opens nothing.
import { access, constants } from 'node:fs/promises'
import * as path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { AudioFile, AudioFormat } from './audio.ts'
import { lastWords, start } from './run.ts'

/** Bare samples. */
export type RawFormat = 'f32le' | 's16le' | 's24le' | 's32le'

interface RawShape {
  channels: number
  format: RawFormat
  rate: number
}

/** Bytes of a file; `to` is exclusive. */
interface Stretch {
  file: string
  from: number
  to: number
}

// Recorders write WAV files with plain PCM only.
const DECODERS: Record<AudioFormat, string> = {
  flac: 'flac',
  mp3: 'mp3,mp3float',
  wav: 'pcm_u8,pcm_s16le,pcm_s24le,pcm_s32le,pcm_f32le,pcm_f64le',
}

const pinned = (demuxer: string, decoders: string, protocols: string): string[] => [
  ...['-protocol_whitelist', protocols, '-format_whitelist', demuxer, '-codec_whitelist', decoders],
  ...['-f', demuxer],
]

const wholeFile = ({ file, format }: AudioFile): string[] => [
  ...pinned(format, DECODERS[format], 'file'),
  '-i',
  `file:${file}`,
]

const shaped = ({ channels, format, rate }: RawShape, protocols: string): string[] => [
  ...pinned(format, `pcm_${format}`, protocols),
  ...['-ar', String(rate), '-ac', String(channels)],
]

/** Arguments of an ffmpeg input: a whole file, or raw samples from a file, a byte range of one, or standard input. */
export const input = {
  file: wholeFile,
  raw: (shape: RawShape, file: string): string[] => [...shaped(shape, 'file'), '-i', `file:${file}`],
  stdin: (shape: RawShape): string[] => [...shaped(shape, 'pipe'), '-i', 'pipe:0'],
  stretch: (shape: RawShape, { file, from, to }: Stretch): string[] => [
    ...shaped(shape, 'subfile,file'),
    ...['-i', `subfile,,start,${from},end,${to},,:file:${file}`],
  ],
  /** Files of one format in sequence; `list` is a file with the text of `listOf`. */
  list: (list: string, format: AudioFormat): string[] => [
    ...['-protocol_whitelist', 'file', '-format_whitelist', `concat,${format}`, '-codec_whitelist', DECODERS[format]],
    // The names are our own. `-safe 1` would forbid the per-file options of `listOf`.
    ...['-f', 'concat', '-safe', '0', '-i', `file:${list}`],
  ],
}

/** The text of a list. The format of each file is fixed, so that none can be a list itself. */
export const listOf = (names: readonly string[], format: AudioFormat): string =>
  names.map((name) => `file ${name}\noption format_whitelist ${format}\n`).join('')

/** Arguments of ffprobe for `entries` of the first audio stream. */
export const probing = ({ file, format }: AudioFile, entries: string, output: string): string[] => [
  ...['-v', 'error', ...pinned(format, DECODERS[format], 'file')],
  ...['-select_streams', 'a:0', '-show_entries', entries, '-of', output, `file:${file}`],
]

// Address space of one child: several times what the longest take with the most channels needs. Small stacks and few heaps,
// because the threads of a large machine would reserve all of it.
const MAX_MEMORY_KIB = 2 * 1024 * 1024
const STACK_KIB = 2048
const LIMITS = `ulimit -v ${MAX_MEMORY_KIB}; ulimit -s ${STACK_KIB}; export MALLOC_ARENA_MAX=2`

/**
 * Command and arguments with a memory limit. The shell execs the command, so the process ID stays the same.
 */
export const bounded = (command: string, args: readonly string[]): [string, string[]] => [
  '/bin/sh',
  ['-c', `{ ${LIMITS}; } 2>/dev/null; exec "$0" "$@"`, command, ...args],
]

/** The environment of the controller's tools. */
export const TOOL_ENV = { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' }

/** Whether `command`, a path or a name to look up in `searchPath`, is executable. */
export async function isInstalled(command: string, searchPath: string): Promise<boolean> {
  const dirs = searchPath.split(':').filter(Boolean)
  const places = command.includes('/') ? [command] : dirs.map((dir) => path.join(dir, command))
  const looks = places.map((place) => access(place, constants.X_OK))
  return (await Promise.allSettled(looks)).some(({ status }) => status === 'fulfilled')
}

/** Why a tool failed; a full disk or quota has its own code, because callers wait for space. */
export class ToolError extends Error {
  readonly code: 'ENOSPC' | 'timeout' | 'tool_failed' | 'tool_missing'

  constructor(code: ToolError['code'], message: string) {
    super(message)
    this.code = code
  }
}

export interface ToolOptions {
  command: string
  /** Default: TOOL_ENV. */
  env?: NodeJS.ProcessEnv
  /** Called with the seconds of audio written so far. */
  onSeconds?: (seconds: number) => void
  /** Whether it reports progress: ffmpeg does, ffprobe cannot. Default true. */
  progress?: boolean
  signal?: AbortSignal
  /** Longest pause between two signs of progress. */
  stallMs?: number
  stdin?: boolean
  timeoutMs?: number
}

export interface Tool {
  /** Resolves on success with the end of its stderr and the seconds of audio written. */
  readonly ended: Promise<{ said: string; seconds: number }>
  kill(reason: unknown): void
  readonly stdin: Writable
  readonly stdout: Readable
  /** Kills it if it still runs; resolves when it is gone. */
  stop(): Promise<void>
}

/** Characters; enough for the summary of a measurement at the end. */
const SAID_KEPT = 4000
const SAID_QUOTED = 500
const PROGRESS = ['-nostats', '-progress', 'pipe:3']
/** For an ffmpeg whose output is quoted when it fails. */
export const QUIETLY = ['-nostdin', '-hide_banner', '-loglevel', 'error', '-y']

/**
 * Starts ffmpeg or ffprobe with low priority and bounded memory. `args`: inputs made by `input`, then outputs. `ended`
 * rejects with a ToolError, the signal's reason, or that of `kill`.
 */
export function startTool(args: readonly string[], options: ToolOptions): Tool {
  const { command, env = TOOL_ENV, onSeconds, progress = true, signal, stallMs, stdin, timeoutMs } = options
  const program = start(...bounded(command, progress ? [...PROGRESS, ...args] : args), {
    background: true,
    env,
    more: progress ? ['pipe'] : [],
    signal,
    stdin: stdin ? 'pipe' : 'ignore',
  })
  const streams = [program.stdout, program.stderr, ...program.more]
  const said = lastWords(program.stderr, SAID_KEPT)
  const after = (ms: number | undefined, words: string) => {
    const late = () => program.kill(new ToolError('timeout', `${command} ${words} ${Math.round(Number(ms) / 1000)} s`))
    return ms === undefined ? undefined : setTimeout(late, ms)
  }
  const timers = [after(timeoutMs, 'did not end within'), after(stallMs, 'made no progress for')]
  const seconds = progressOf(program.more[0], (now, before) => {
    if (now > before) timers[1]?.refresh()
    onSeconds?.(now)
  })
  const end = async () => {
    const { code, signal: killed } = await program.ended
    if (code !== 0) throw badEnd(command, code ?? killed, said())
    return { said: said(), seconds: seconds() }
  }
  const ended = end().finally(() => timers.forEach(clearTimeout))
  const settled = ended.then(
    () => {},
    () => {},
  )
  const stop = (): Promise<void> => {
    program.kill()
    // A grandchild may keep the pipes open for ever; only the tool itself is waited for.
    for (const stream of streams) stream.destroy()
    return settled
  }
  return { ended, kill: program.kill, stdin: program.stdin, stdout: program.stdout, stop }
}

/** Runs a tool without input and output. */
export function runTool(args: readonly string[], options: ToolOptions): Tool['ended'] {
  const { ended, stdout } = startTool(args, options)
  stdout.resume()
  return ended
}

/** Reads the seconds of audio written so far from the `-progress` stream. */
function progressOf(stream: Readable | undefined, heard: (seconds: number, before: number) => void): () => number {
  let seconds = 0
  stream?.setEncoding('utf8').on('data', (more: string) => {
    const before = seconds
    for (const [, us] of more.matchAll(/out_time_us=(\d+)/g)) seconds = Number(us) / 1e6
    heard(seconds, before)
  })
  return () => seconds
}

/** Exit codes of the shell for a command that is missing or not executable. */
const NOT_STARTED: readonly unknown[] = [126, 127]

function badEnd(command: string, end: number | NodeJS.Signals | null, said: string): ToolError {
  if (NOT_STARTED.includes(end))
    return new ToolError('tool_missing', `${command} could not be started: install it (Debian: apt-get install ffmpeg)`)
  const code = /No space left on device|Disk quota exceeded/.test(said) ? 'ENOSPC' : 'tool_failed'
  return new ToolError(code, `${command} failed with ${end}: ${said.trim().slice(-SAID_QUOTED) || 'no output'}`)
}
