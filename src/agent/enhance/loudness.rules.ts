// Loudness: what was measured, and which gain to try next.
import type { Enhancement } from '../../wire/profiles.ts'
import type { RenditionDetails } from '../../wire/recordings.ts'

/** Of a whole programme (ITU-R BS.1770-4, EBU Tech 3342). */
export interface Loudness {
  integratedLufs: number
  /** LUFS; the quietest tenth of what is heard lies below it, where the range begins. */
  lowLufs: number
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
  return {
    integratedLufs: value('I'),
    lowLufs: value('LRA low'),
    rangeLu: value('LRA'),
    truePeakDbtp: value('Peak'),
  }
}

/** As the wire has it: silence is its lowest number. */
export const loudnessDetails = ({ integratedLufs, truePeakDbtp }: Loudness): RenditionDetails['loudness'] => ({
  integratedLufs,
  truePeakDbtp: Math.max(-200, truePeakDbtp),
})

/** Anything quieter is residual room noise, not speech, and is not amplified. LUFS. */
const QUIETEST_LUFS = -60
/** dB; more would make microphone noise obtrusive. */
const MAX_GAIN_DB = 30

/**
 * A slow compressor before the gain, for speakers of very different loudness: brings louder ones closer to the quietest,
 * without affecting single words.
 */
export interface Rider {
  /** Restores about the original loudness. */
  makeupDb: number
  ratio: number
  thresholdDb: number
}

/** A range that is too wide by less than this is left alone, LU. */
const RANGE_LU = 0.5
/** More would make the background pump audibly. */
const MAX_RATIO = 4
/** What a compressor that waits leaves of the range it is set to. */
const SLACK = 1.35
const MAX_MAKEUP_DB = 18
const LOWEST_DB = -60
/** dB below the quietest speaker, or his own words would be torn apart. */
const BELOW_DB = 3

/** Undefined for a range that is no wider than asked for: then the gain is the same all along. */
function riderFor({ loudnorm: { lra } }: Enhancement, { integratedLufs, lowLufs, rangeLu }: Loudness) {
  if (rangeLu <= lra + RANGE_LU || !Number.isFinite(lowLufs)) return undefined
  const ratio = Math.min(MAX_RATIO, (SLACK * rangeLu) / lra)
  const thresholdDb = Math.max(LOWEST_DB, Math.min(0, lowLufs - BELOW_DB))
  const makeupDb = Math.min(MAX_MAKEUP_DB, Math.max(0, (integratedLufs - thresholdDb) * (1 - 1 / ratio)))
  return { makeupDb, ratio, thresholdDb }
}

/** One way of making the rendition. */
export interface Level {
  /** dBTP of the limiter; undefined when nothing reaches it. */
  ceilingDb: number | undefined
  /** The gain of the part before, from which this one moves; undefined: it stands still. */
  fromDb?: number
  gainDb: number
  /** Undefined: the range is left alone. */
  rider?: Rider | undefined
}

/** A part of a take as it is without gain. */
export interface Heard {
  lufs: number
  seconds: number
}

/** The parts of a take so far: all that the level of the next one follows from. */
export interface Levelled {
  /** Where the gain stands. */
  gainDb: number
  heard: Heard[]
  /** Of the first part: one that changed at a seam would be heard. */
  rider?: Rider | undefined
}

export interface Aim {
  /** Undefined: the part is the first, or the whole. */
  before: Levelled | undefined
  /** Gain at most, dB. */
  mostDb: number
  rider: Rider | undefined
  /** Length of the part. */
  seconds: number
  target: number
  truePeak: number
}

/** Undefined when the loudness is left alone: switched off, or only silence so far. */
export function aimOf(
  chain: Enhancement,
  plain: Loudness,
  { before, seconds }: Pick<Aim, 'before' | 'seconds'>,
): Aim | undefined {
  const { loudnorm } = chain
  if (!loudnorm.enabled || (!before && plain.integratedLufs < QUIETEST_LUFS)) return undefined
  const rider = before ? before.rider : riderFor(chain, plain)
  return { before, mostDb: MAX_GAIN_DB, rider, seconds, target: loudnorm.targetI, truePeak: loudnorm.truePeak }
}

/** LU below the mean of all from which something counts as a pause (BS.1770-4, the relative gate). */
const PAUSE_LU = 10

function meanOf(parts: Heard[]): number {
  const seconds = parts.reduce((sum, part) => sum + part.seconds, 0)
  return 10 * Math.log10(parts.reduce((sum, part) => sum + part.seconds * 10 ** (part.lufs / 10), 0) / seconds)
}

/** Loudness of all parts together: the mean of their energies, without pauses. */
export function together(parts: Heard[]): number {
  const gate = meanOf(parts) - PAUSE_LU
  return meanOf(parts.filter(({ lufs }) => lufs >= gate))
}

/** Adds a part. Parts of the same loudness, to one LU, are merged, so that the list does not grow with the take. */
export function hear(heard: Heard[], part: Heard): Heard[] {
  if (part.lufs < QUIETEST_LUFS) return heard
  const alike = heard.find(({ lufs }) => Math.round(lufs) === Math.round(part.lufs))
  if (!alike) return [...heard, part]
  const both = { lufs: meanOf([alike, part]), seconds: alike.seconds + part.seconds }
  return [...heard.filter((one) => one !== alike), both]
}

/** The gain with which the take so far, with this part, is as loud as it should be; to 0.01 dB, as it is applied. */
function gainOf({ before, mostDb, seconds, target }: Aim, lufs: number): number {
  const heard = before ? hear(before.heard, { lufs, seconds }) : [{ lufs, seconds }]
  if (before && heard.length === 0) return before.gainDb
  return Math.min(mostDb, Math.round(100 * (target - together(heard))) / 100)
}

const ceilingOf = ({ truePeak }: Aim, { truePeakDbtp }: Loudness, gainDb: number): number | undefined =>
  truePeakDbtp + gainDb > truePeak - PEAK_MARGIN ? truePeak - PEAK_MARGIN : undefined

/** From the measurement without gain. A gain that is nearly right already is kept. */
export function firstLevel(aim: Aim, plain: Loudness): Level {
  const { before } = aim
  const wanted = gainOf(aim, plain.integratedLufs)
  const gainDb = before && Math.abs(wanted - before.gainDb) <= NEAR_LU ? before.gainDb : wanted
  return { ceilingDb: ceilingOf(aim, plain, gainDb), gainDb, ...(aim.rider && { rider: aim.rider }) }
}

/** dB the limiter is set lower than asked for: encoders lift peaks a little. */
const PEAK_MARGIN = 0.3
/** What counts as met; the tolerances of the result are 0.5 LU and 0.3 dB. */
const NEAR_LU = 0.2
const NEAR_DB = 0.1

const peaksMet = ({ truePeak }: Aim, { truePeakDbtp }: Loudness): boolean => truePeakDbtp <= truePeak + NEAR_DB

/** Whether a part is made as it should be. One whose gain moves has its loudness from the gains around it. */
export const met = (aim: Aim, level: Level, got: Loudness): boolean =>
  peaksMet(aim, got) &&
  (level.fromDb !== undefined || Math.abs(nextLevel(aim, level, got).gainDb - level.gainDb) <= NEAR_LU + 1e-9)

/** A limiter takes loudness away, and an encoder lifts peaks: both are given back by what is missing. */
export function nextLevel(aim: Aim, level: Level, got: Loudness): Level {
  const excess = got.truePeakDbtp - aim.truePeak
  const ceilingDb = excess > NEAR_DB ? (level.ceilingDb ?? aim.truePeak) - excess - NEAR_DB : level.ceilingDb
  const gainDb = level.fromDb === undefined ? gainOf(aim, got.integratedLufs - level.gainDb) : level.gainDb
  return { ...level, ceilingDb, gainDb }
}

/** Slow enough that the gain's change from part to part is not heard. */
export const GLIDE_DB_PER_SECOND = 1

/** The way to a level from the gain of the part before, as far as it leads within this one. */
export function glideTo(aim: Aim, level: Level, plain: Loudness): Level {
  const { before, seconds } = aim
  if (!before || before.gainDb === level.gainDb) return level
  const most = GLIDE_DB_PER_SECOND * seconds
  const gainDb = before.gainDb + Math.max(-most, Math.min(most, level.gainDb - before.gainDb))
  const ceilingDb = level.ceilingDb ?? ceilingOf(aim, plain, Math.max(before.gainDb, gainDb))
  return { ...level, ceilingDb, fromDb: before.gainDb, gainDb }
}

/** What of a range beyond the one asked for is told, LU. */
const WIDE_LU = 1

/** Which part of the loudness was not met, for the rendition's details; undefined when all was. */
export function shortfall(chain: Enhancement, aim: Aim | undefined, after: Loudness): string | undefined {
  if (!chain.loudnorm.enabled) return undefined
  if (!aim) return `loudness left as it is: quieter than ${QUIETEST_LUFS} LUFS`
  // Of a later part, the loudness is what the take so far gives it.
  const missed = !aim.before && Math.abs(after.integratedLufs - aim.target) > 0.5
  const wide = !aim.before && after.rangeLu > chain.loudnorm.lra + WIDE_LU
  const range = wide ? `loudness range is ${after.rangeLu} LU` : undefined
  if (!missed && after.truePeakDbtp <= aim.truePeak + 0.3) return range
  return [`loudness is ${after.integratedLufs} LUFS and ${after.truePeakDbtp} dBTP`, range].filter(Boolean).join('; ')
}
