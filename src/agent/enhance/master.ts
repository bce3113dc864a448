// From the shaped voice to the finished rendition: level, gate, channels, codec; what is finished is measured.
import type { Enhancement } from '../../wire/profiles.ts'
import { fromIntermediate, gateFilters, INTERMEDIATE, levelFilters, spread } from './chain.rules.ts'
import { DENOISE_RATE } from './engine.rules.ts'
import { type FfmpegOptions, runFfmpeg } from './ffmpeg.ts'
import { aimOf, firstLevel, type Level, type Loudness, METER, met, nextLevel, parseLoudness } from './loudness.rules.ts'

export interface Mastering {
  chain: Enhancement
  channels: number
  codecArgs: string[]
  /** The intermediate file. */
  input: string
  /** Of the intermediate file. */
  loudness: Loudness
  /** Written anew in every round. */
  output: string
}

/** Each makes the file and measures it; ordinary speech needs one or two. */
const ROUNDS = 6

const PLAIN = ['-map_metadata', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact']

function encode(m: Mastering, level: Level | undefined, options: FfmpegOptions): Promise<unknown> {
  const levels = level ? levelFilters(level) : []
  const filters = [...fromIntermediate, ...levels, ...gateFilters(m.chain), ...spread(m.channels)]
  const output = ['-ar', String(DENOISE_RATE), ...PLAIN, ...m.codecArgs, '-y', `file:${m.output}`]
  return runFfmpeg(
    ['-v', 'error', ...INTERMEDIATE, '-i', `file:${m.input}`, '-af', filters.join(','), ...output],
    options,
  )
}

async function measure(file: string, options: FfmpegOptions): Promise<{ loudness: Loudness; seconds: number }> {
  const args = ['-i', `file:${file}`, '-map', '0:a', '-af', METER, '-f', 'null', '-']
  const { said, seconds } = await runFfmpeg(args, options)
  return { loudness: parseLoudness(said), seconds }
}

/**
 * Makes the rendition, measures it, and makes it again with another level until the loudness is met. Resolves with the
 * loudness and the seconds of the file that stands. `onRound`: of each of the two halves of a round, its seconds of audio.
 */
export async function master(
  m: Mastering,
  options: FfmpegOptions,
  onRound: (round: number, half: 0 | 1, seconds: number) => void,
): Promise<{ loudness: Loudness; seconds: number }> {
  const aim = aimOf(m.chain, m.loudness)
  let level = aim && firstLevel(aim, m.loudness)
  for (let round = 1; ; round++) {
    const half = (which: 0 | 1) => ({ ...options, onSeconds: (s: number) => onRound(round, which, s) })
    await encode(m, level, half(0))
    const made = await measure(m.output, half(1))
    if (!aim || !level || met(aim, level, made.loudness) || round === ROUNDS) return made
    level = nextLevel(aim, level, made.loudness)
  }
}
