// From the shaped voice to the finished rendition: level, gate, channels, codec. Measures the result.
import { formatOf } from '../../system/host/audio.ts'
import { input, runTool, type ToolOptions } from '../../system/host/ffmpeg.ts'
import type { Enhancement } from '../../wire/profiles.ts'
import { cut, fromIntermediate, gateFilters, INTERMEDIATE, levelFilters, type Span, spread } from './chain.rules.ts'
import { DENOISE_RATE } from './denoiser.rules.ts'
import {
  type Aim,
  aimOf,
  firstLevel,
  glideTo,
  hear,
  type Level,
  type Levelled,
  type Loudness,
  METER,
  met,
  nextLevel,
  parseLoudness,
} from './loudness.rules.ts'

interface Mastering {
  /** Of the parts of the take so far. */
  before: Levelled | undefined
  chain: Enhancement
  channels: number
  codecArgs: string[]
  /** The intermediate file. */
  input: string
  /** Of the part, without gain. */
  loudness: Loudness
  /** Written anew in every round. */
  output: string
  /** The part in the intermediate file. */
  span: Span
}

/** Most attempts at a level; each makes and measures the file. Ordinary speech needs one or two. */
const ROUNDS = 6

const PLAIN = ['-map_metadata', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact']

function encode(m: Mastering, level: Level | undefined, options: ToolOptions): Promise<unknown> {
  const levels = level ? levelFilters(level, m.span.lead) : []
  const filters = [...fromIntermediate, ...levels, ...gateFilters(m.chain), cut(m.span), ...spread(m.channels)]
  const output = ['-ar', String(DENOISE_RATE), ...PLAIN, ...m.codecArgs, '-y', `file:${m.output}`]
  return runTool(['-v', 'error', ...input.raw(INTERMEDIATE, m.input), '-af', filters.join(','), ...output], options)
}

interface Made {
  /** Of the file that stands. */
  loudness: Loudness
  seconds: number
}

async function measure(file: string, options: ToolOptions): Promise<Made> {
  const format = await formatOf(file)
  if (!format) throw new Error('the encoder wrote no WAV, FLAC or MP3 file')
  const args = [...input.file({ file, format }), '-map', '0:a', '-af', METER, '-f', 'null', '-']
  const { said, seconds } = await runTool(args, options)
  return { loudness: parseLoudness(said), seconds }
}

interface Mastered extends Made {
  /** Undefined when the loudness was left as it is. */
  aim: Aim | undefined
  /** With this part. */
  levelled: Levelled | undefined
}

/**
 * Makes the rendition, measures it, and makes it again with another level until the loudness is met; a later part of a
 * take is then made once more, on its way from the gain of the part before. `onRound`: of each of the two halves of a
 * round, its seconds of audio.
 */
export async function master(
  m: Mastering,
  options: ToolOptions,
  onRound: (round: number, half: 0 | 1, seconds: number) => void,
): Promise<Mastered> {
  let rounds = 0
  const made = async (level: Level | undefined): Promise<Made> => {
    const round = ++rounds
    const half = (which: 0 | 1) => ({ ...options, onSeconds: (s: number) => onRound(round, which, s) })
    await encode(m, level, half(0))
    return measure(m.output, half(1))
  }
  const until = async (aim: Aim, first: Level): Promise<Made & { level: Level }> => {
    for (let level = first, round = 1; ; round++) {
      const got = await made(level)
      if (met(aim, level, got.loudness) || round === ROUNDS) return { ...got, level }
      level = nextLevel(aim, level, got.loudness)
    }
  }
  const seconds = m.span.samples / DENOISE_RATE
  const aim = aimOf(m.chain, m.loudness, { before: m.before, seconds })
  if (!aim) return { ...(await made(undefined)), aim, levelled: undefined }
  const still = await until(aim, firstLevel(aim, m.loudness))
  const glide = glideTo(aim, still.level, m.loudness)
  const { level, ...done } = glide === still.level ? still : await until(aim, glide)
  // Loudness lost in the limiter counts as if the part were quieter, so that the overall gain makes up for it.
  const lufs = still.loudness.integratedLufs - still.level.gainDb
  const heard = hear(m.before?.heard ?? [], { lufs, seconds })
  return { ...done, aim, levelled: { gainDb: level.gainDb, heard, ...(aim.rider && { rider: aim.rider }) } }
}
