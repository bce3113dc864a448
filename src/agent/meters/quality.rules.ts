// Level and quality of a channel from its counts (docs/contract/health.md: Meter values).
import type { AudioLevel, AudioQuality } from '../../wire/meters.ts'
import type { Likeness } from './likeness.rules.ts'

const FLOOR_DBFS = -160
const CEILING_DBFS = 24
/** Fainter channels are not compared with others. */
const HEARD_DBFS = -65
const SPEECH_LIKE = 0.55
const MAX_DB = 80

const clamp01 = (v: number): number => Math.min(1, Math.max(0, v))

/** 0 up to `a`, 1 from `b`, straight between; a jump where they are the same. */
export const rise = (v: number, a: number, b: number): number => (a === b ? Number(v >= a) : clamp01((v - a) / (b - a)))
export const fall = (v: number, a: number, b: number): number => 1 - rise(v, a, b)
const band = (v: number, lo: number, hi: number): number =>
  v < lo ? clamp01(v / lo) : v <= hi ? 1 : clamp01(1 - (v - hi) / hi)

// Adding 0 turns -0 into 0.
const round1 = (v: number): number => Math.round(v * 10) / 10 + 0
export const round2 = (v: number): number => Math.round(v * 100) / 100 + 0

/** 20 log10 of an amplitude (full scale = 1), within the limits of a frame. */
const dbfs = (amplitude: number): number =>
  Math.min(CEILING_DBFS, Math.max(FLOOR_DBFS, amplitude > 0 ? 20 * Math.log10(amplitude) : FLOOR_DBFS))

/** One channel over the time of a frame. Amplitudes are linear, full scale = 1. */
interface Measured {
  peak: number
  rms: number
  /** Sign changes per sample, 0..1. */
  zcr: number
}

export const isHeard = (rms: number): boolean => dbfs(rms) > HEARD_DBFS

/** Speech and what disturbs it, unrounded; `crest` in dB. */
function scores(rmsDb: number, crest: number, zcr: number) {
  const audible = rise(rmsDb, -65, -35)
  const speech = clamp01(audible * (0.2 + 0.45 * band(zcr, 0.015, 0.22) + 0.35 * band(crest, 4, 22)))
  const hum = audible * fall(zcr, 0.02, 0.08) * fall(crest, 8, 18)
  const noiseLike = audible * rise(zcr, 0.35, 0.7) * fall(crest, 10, 24)
  const broadband = audible * band(zcr, 0.18, 0.55) * fall(crest, 8, 24) * fall(speech, 0.55, 0.9)
  const noise = clamp01(audible * Math.max(1 - speech, 0.85 * hum, noiseLike))
  return { audible, broadband, hum, noise, speech, static: noiseLike }
}

/** Estimated SNR in dB and intelligibility 0..1, unrounded. */
function clarity(s: ReturnType<typeof scores>, crest: number): { intelligibility: number; snr: number } {
  const disturbance = Math.max(s.noise, s.hum, s.static)
  const wanted = 30 * Math.max(0, s.speech - disturbance) + 6 * rise(crest, 6, 24)
  const snr = Math.min(MAX_DB, Math.max(0, s.audible * wanted))
  const clear = 0.5 + 0.35 * rise(snr, 6, 24) + 0.15 * rise(crest, 6, 18)
  return { intelligibility: clamp01(s.audible * s.speech * clear * (1 - 0.55 * disturbance)), snr }
}

function correlation(likeness: Likeness | undefined): Pick<AudioQuality, 'channelCorrelation'> {
  if (!likeness) return {}
  const { peer, score } = likeness
  const phase = score < 0 ? 'inverted' : 'same'
  return { channelCorrelation: { peerChannelIndex: peer + 1, phase, score: round2(score) } }
}

/** Peak and RMS only, rounded to one decimal; clipping is judged before rounding. */
export function quickLevelOf(
  channelIndex: number,
  { peak, rms }: Pick<Measured, 'peak' | 'rms'>,
  clipDbfs: number,
): AudioLevel {
  const peakDb = dbfs(peak)
  return {
    channelIndex,
    clipping: peakDb >= clipDbfs,
    label: `Input ${channelIndex}`,
    peakDbfs: round1(peakDb),
    rmsDbfs: round1(dbfs(rms)),
  }
}

/** dBFS and SNR to one decimal, all else to two; judged before rounding. */
export function levelOf(
  channelIndex: number,
  { peak, rms, zcr }: Measured,
  clipDbfs: number,
  likeness: Likeness | undefined,
): AudioLevel {
  const [peakDb, rmsDb] = [dbfs(peak), dbfs(rms)]
  const crest = Math.min(MAX_DB, Math.max(0, peakDb - rmsDb))
  const s = scores(rmsDb, crest, zcr)
  const { intelligibility, snr } = clarity(s, crest)
  const quality: AudioQuality = {
    broadbandNoiseScore: round2(s.broadband),
    ...correlation(likeness),
    crestFactorDb: round2(crest),
    estimatedSnrDb: round1(snr),
    humScore: round2(s.hum),
    intelligibilityScore: round2(intelligibility),
    noiseScore: round2(s.noise),
    speechLike: s.speech >= SPEECH_LIKE,
    speechScore: round2(s.speech),
    staticScore: round2(s.static),
    zeroCrossingRate: round2(Math.min(1, zcr)),
  }
  const clipping = peakDb >= clipDbfs
  return {
    channelIndex,
    clipping,
    label: `Input ${channelIndex}`,
    peakDbfs: round1(peakDb),
    quality,
    rmsDbfs: round1(rmsDb),
  }
}
