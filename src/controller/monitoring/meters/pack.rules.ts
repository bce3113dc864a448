// Levels as 16-bit words: a history of objects would take ten times the memory.
// dB in hundredths, scores in ten-thousandths: finer than the agent rounds them (docs/contract/health.md: Meter values).
import type { AudioLevel, AudioQuality } from '../../../wire/meters.ts'

const ABSENT = -32_768
const DB = 100
const SCORE = 10_000

/** Words of a level without and with its quality. */
const BARE_WORDS = 4
const WHOLE_WORDS = 15
const FLAGS = { clipping: 1, quality: 2, speechLike: 4, inverted: 8 } as const

export const wordsOf = (levels: readonly AudioLevel[]): number =>
  levels.reduce((sum, level) => sum + (level.quality ? WHOLE_WORDS : BARE_WORDS), 0)

/** Writes levels at `at`; their labels are kept separately, in the same order. */
export function pack(levels: readonly AudioLevel[], words: Int16Array, at: number): void {
  let next = at
  for (const { channelIndex, clipping, peakDbfs, quality, rmsDbfs } of levels) {
    words[next++] = channelIndex
    words[next++] = (clipping ? FLAGS.clipping : 0) | flagsOf(quality)
    words[next++] = Math.round(peakDbfs * DB)
    words[next++] = Math.round(rmsDbfs * DB)
    if (quality) next = packQuality(quality, words, next)
  }
}

function flagsOf(quality: AudioQuality | undefined): number {
  if (!quality) return 0
  const inverted = quality.channelCorrelation?.phase === 'inverted'
  return FLAGS.quality | (quality.speechLike ? FLAGS.speechLike : 0) | (inverted ? FLAGS.inverted : 0)
}

const scaled = (value: number | undefined, by: number): number =>
  value === undefined ? ABSENT : Math.round(value * by)

function packQuality(q: AudioQuality, words: Int16Array, at: number): number {
  let next = at
  words[next++] = scaled(q.crestFactorDb, DB)
  words[next++] = scaled(q.noiseScore, SCORE)
  words[next++] = scaled(q.speechScore, SCORE)
  words[next++] = scaled(q.zeroCrossingRate, SCORE)
  words[next++] = scaled(q.broadbandNoiseScore, SCORE)
  words[next++] = scaled(q.humScore, SCORE)
  words[next++] = scaled(q.intelligibilityScore, SCORE)
  words[next++] = scaled(q.staticScore, SCORE)
  words[next++] = scaled(q.estimatedSnrDb, DB)
  words[next++] = q.channelCorrelation?.peerChannelIndex ?? ABSENT
  words[next++] = scaled(q.channelCorrelation?.score, SCORE)
  return next
}

/** The levels written by `pack`, one per label. */
export function unpack(labels: readonly string[], words: Int16Array, at: number): AudioLevel[] {
  let next = at
  const word = (): number => words[next++] as number
  return labels.map((label) => {
    const channelIndex = word()
    const flags = word()
    const level: AudioLevel = {
      channelIndex,
      clipping: (flags & FLAGS.clipping) !== 0,
      label,
      peakDbfs: word() / DB,
      rmsDbfs: word() / DB,
    }
    return flags & FLAGS.quality ? { ...level, quality: unpackQuality(flags, word) } : level
  })
}

function unpackQuality(flags: number, word: () => number): AudioQuality {
  const quality: AudioQuality = {
    crestFactorDb: word() / DB,
    noiseScore: word() / SCORE,
    speechLike: (flags & FLAGS.speechLike) !== 0,
    speechScore: word() / SCORE,
    zeroCrossingRate: word() / SCORE,
  }
  for (const name of ['broadbandNoiseScore', 'humScore', 'intelligibilityScore', 'staticScore'] as const) {
    const value = word()
    if (value !== ABSENT) quality[name] = value / SCORE
  }
  const snr = word()
  if (snr !== ABSENT) quality.estimatedSnrDb = snr / DB
  const peerChannelIndex = word()
  const score = word() / SCORE
  const phase = flags & FLAGS.inverted ? 'inverted' : 'same'
  if (peerChannelIndex !== ABSENT) quality.channelCorrelation = { peerChannelIndex, phase, score }
  return quality
}
