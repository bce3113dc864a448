// Meeting a loudness: what was measured, and which gain to try next.
import type { Enhancement } from '../../wire/profiles.ts'
import type { RenditionDetails } from '../../wire/recordings.ts'

/** Of a whole programme (ITU-R BS.1770-4, EBU Tech 3342). */
export interface Loudness {
  integratedLufs: number
  rangeLu: number
  /** -Infinity for digital silence. */
  truePeakDbtp: number
}

/** Measures what goes through, to one decimal; its summary comes at the end. */
export const METER = 'ebur128=peak=true:framelog=verbose'

/** Of a meter's last summary; ffmpeg prints an empty one when it sets up its filters. @throws Error without one */
export function parseLoudness(said: string): Loudness {
  const summary = said.slice(said.lastIndexOf('Summary:'))
  const value = (name: string): number => {
    const found = new RegExp(`\\b${name}:\\s+(-?inf|-?[\\d.]+|nan)`).exec(summary)?.[1]
    if (found === undefined || found === 'nan') throw new Error(`no loudness was measured: ${said.slice(-200)}`)
    return found === '-inf' ? Number.NEGATIVE_INFINITY : Number(found)
  }
  return { integratedLufs: value('I'), rangeLu: value('LRA'), truePeakDbtp: value('Peak') }
}

/** As the wire has it: silence is its lowest number. */
export const loudnessDetails = ({ integratedLufs, truePeakDbtp }: Loudness): RenditionDetails['loudness'] => ({
  integratedLufs,
  truePeakDbtp: Math.max(-200, truePeakDbtp),
})

/** Quieter than this is no speech but what is left of the room: it stays as it is. LUFS. */
export const QUIETEST_LUFS = -60
/** dB; more would lift the noise of the microphone to a level that hurts. */
export const MOST_GAIN_DB = 30

/** One way of making the rendition. */
export interface Level {
  /** dBTP of the limiter; undefined when nothing reaches it. */
  ceilingDb: number | undefined
  gainDb: number
}

export interface Aim {
  /** Gain at most, dB. */
  mostDb: number
  target: number
  truePeak: number
}

/** Undefined when the loudness is to be left as it is: switched off, or nothing but silence. */
export function aimOf({ loudnorm }: Enhancement, { integratedLufs }: Loudness): Aim | undefined {
  if (!loudnorm.enabled || integratedLufs < QUIETEST_LUFS) return undefined
  return { mostDb: MOST_GAIN_DB, target: loudnorm.targetI, truePeak: loudnorm.truePeak }
}

/** From what was measured without any gain. */
export function firstLevel(aim: Aim, { integratedLufs, truePeakDbtp }: Loudness): Level {
  const gainDb = Math.min(aim.mostDb, aim.target - integratedLufs)
  return {
    ceilingDb: truePeakDbtp + gainDb > aim.truePeak - PEAK_MARGIN ? aim.truePeak - PEAK_MARGIN : undefined,
    gainDb,
  }
}

/** dB the limiter is set lower than asked for: encoders lift peaks a little. */
const PEAK_MARGIN = 0.3
/** What counts as met; the tolerances of the result are 0.5 LU and 0.3 dB. */
const NEAR_LU = 0.2
const NEAR_DB = 0.1

export const met = (aim: Aim, level: Level, got: Loudness): boolean =>
  got.truePeakDbtp <= aim.truePeak + NEAR_DB &&
  (Math.abs(got.integratedLufs - aim.target) <= NEAR_LU ||
    (got.integratedLufs < aim.target && level.gainDb >= aim.mostDb))

/** A limiter takes loudness away, and an encoder lifts peaks: both are given back by what is missing. */
export function nextLevel(aim: Aim, level: Level, got: Loudness): Level {
  const excess = got.truePeakDbtp - aim.truePeak
  const ceilingDb = excess > NEAR_DB ? (level.ceilingDb ?? aim.truePeak) - excess - NEAR_DB : level.ceilingDb
  return { ceilingDb, gainDb: Math.min(aim.mostDb, level.gainDb + aim.target - got.integratedLufs) }
}

/** Which part of the loudness was not met, for the rendition's details; undefined when all was. */
export function shortfall(chain: Enhancement, before: Loudness, after: Loudness): string | undefined {
  const { enabled, targetI, truePeak } = chain.loudnorm
  if (!enabled) return undefined
  if (before.integratedLufs < QUIETEST_LUFS) return `loudness left as it is: quieter than ${QUIETEST_LUFS} LUFS`
  const missed = Math.abs(after.integratedLufs - targetI) > 0.5 || after.truePeakDbtp > truePeak + 0.3
  return missed ? `loudness is ${after.integratedLufs} LUFS and ${after.truePeakDbtp} dBTP` : undefined
}
