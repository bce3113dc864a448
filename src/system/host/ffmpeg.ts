// Every ffmpeg and ffprobe of this program gets its inputs from here. What a file contains never decides how it is read:
// demuxer, decoders and protocols are named, so a playlist with the name of a take opens nothing.
import { access, constants } from 'node:fs/promises'
import * as path from 'node:path'
import type { AudioFile, AudioFormat } from './audio.ts'

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

// WAV of recorders holds plain samples; other decoders that would fit into it have no business here.
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

/** An input of ffmpeg: a whole file, or bare samples from a file, a stretch of one, or its standard input. */
export const input = {
  file: wholeFile,
  raw: (shape: RawShape, file: string): string[] => [...shaped(shape, 'file'), '-i', `file:${file}`],
  stdin: (shape: RawShape): string[] => [...shaped(shape, 'pipe'), '-i', 'pipe:0'],
  stretch: (shape: RawShape, { file, from, to }: Stretch): string[] => [
    ...shaped(shape, 'subfile,file'),
    ...['-i', `subfile,,start,${from},end,${to},,:file:${file}`],
  ],
  /** Files of one format, one after the other, as `listOf` wrote them into `list`. */
  list: (list: string, format: AudioFormat): string[] => [
    ...['-protocol_whitelist', 'file', '-format_whitelist', `concat,${format}`, '-codec_whitelist', DECODERS[format]],
    // Names are made by us and lie beside the list. "Safe" would forbid the lists to pin what they name.
    ...['-f', 'concat', '-safe', '0', '-i', `file:${list}`],
  ],
}

/** The text of a list: each file is pinned by itself, so that none of them can be a list again. */
export const listOf = (names: readonly string[], format: AudioFormat): string =>
  names.map((name) => `file ${name}\noption format_whitelist ${format}\n`).join('')

/** Arguments of ffprobe: what `entries` asks of the first audio stream of a file. */
export const probing = ({ file, format }: AudioFile, entries: string, output: string): string[] => [
  ...['-v', 'error', ...pinned(format, DECODERS[format], 'file')],
  ...['-select_streams', 'a:0', '-show_entries', entries, '-of', output, `file:${file}`],
]

// Address space of one child, several times what the longest and widest take needs. With small stacks and few heaps, or
// the threads of a large machine would reserve all of it.
const MOST_KIB = 2 * 1024 * 1024
const STACK_KIB = 2048
const LIMITS = `ulimit -v ${MOST_KIB}; ulimit -s ${STACK_KIB}; export MALLOC_ARENA_MAX=2`

/** Program and arguments of a command whose memory is bounded. The shell ends as the command: its process id is the child's. */
export const bounded = (command: string, args: readonly string[]): [string, string[]] => [
  '/bin/sh',
  ['-c', `{ ${LIMITS}; } 2>/dev/null; exec "$0" "$@"`, command, ...args],
]

/** All that a tool of the controller is given of our environment. */
export const TOOL_ENV = { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' }

/** Whether a program can be started: `command` itself when it is a path, else the first of that name in `searchPath`. */
export async function isInstalled(command: string, searchPath: string): Promise<boolean> {
  const dirs = searchPath.split(':').filter(Boolean)
  const places = command.includes('/') ? [command] : dirs.map((dir) => path.join(dir, command))
  const looks = places.map((place) => access(place, constants.X_OK))
  return (await Promise.allSettled(looks)).some(({ status }) => status === 'fulfilled')
}

/** Whether a bounded command ended so because there is no such program, or it may not be run. */
export const notStarted = (code: number | null): boolean => code === 126 || code === 127

export const startFault = (command: string): Error =>
  new Error(`${command} could not be started: is it installed? (Debian: apt-get install ffmpeg)`)
