// The voice chain as ffmpeg filters (docs/contract/agent.md: Enhancement).
import { type Enhancement, enhances } from '../../wire/profiles.ts'
import { filterOf, type Mix } from '../render/plan.rules.ts'
import { DENOISE_RATE } from './denoiser.rules.ts'
import { GLIDE_DB_PER_SECOND, type Level, type Rider } from './loudness.rules.ts'

/** Attenuation of the intermediate file, dB: avoids clipping, and 24 bits have room for it. */
const HEADROOM_DB = 12
const INTERMEDIATE_BYTES = 3
/** The intermediate file holds raw samples, so its length is not limited. */
export const INTERMEDIATE = { channels: 1, format: 's24le', rate: DENOISE_RATE } as const
/** As ffmpeg writes it. */
export const TO_INTERMEDIATE = ['-f', INTERMEDIATE.format, '-ar', String(DENOISE_RATE), '-ac', '1']

export const intermediateBytes = (samples: number): number => samples * INTERMEDIATE_BYTES

/** Audio around a part that is processed with it, so that the seams are not heard. */
export const LEAD_SECONDS = 2
/** More than the denoisers' look-ahead. */
export const TAIL_SECONDS = 0.1

/** Disk space an enhancement needs besides its output, bytes. */
export const enhancementBytes = (seconds: number, chain: Enhancement): number =>
  enhances(chain) ? intermediateBytes(Math.ceil((LEAD_SECONDS + seconds + TAIL_SECONDS) * DENOISE_RATE)) : 0

/** A part within the processed samples. */
export interface Span {
  /** Samples before it. */
  lead: number
  samples: number
  /** Samples behind it. */
  tail: number
}

/** Cuts the part out of the processed samples. */
export const cut = ({ lead, samples }: Span): string =>
  `atrim=start_sample=${lead}:end_sample=${lead + samples},asetpts=N/SR/TB`

/** The mean of the job's outputs that carry sound, or of all channels. */
export function monoMix(mixes: Mix[] | undefined, channels: number): Mix {
  const all: Mix[] = Array.from({ length: channels }, (_, source) => [{ gain: 1, source }])
  const sounding = (mixes ?? all).filter((mix) => mix.length > 0)
  const sums = new Map<number, number>()
  for (const { gain, source } of sounding.flat()) sums.set(source, (sums.get(source) ?? 0) + gain / sounding.length)
  return [...sums].map(([source, gain]) => ({ gain, source }))
}

/** From the take's channels to exactly `samples` of mono. */
export function toMono(mixes: Mix[] | undefined, channels: number, samples: number): string {
  const mix = filterOf({ mixes: [monoMix(mixes, channels)] })
  const length = [`apad=whole_len=${samples}`, `atrim=end_sample=${samples}`]
  return [mix, 'aformat=sample_fmts=flt', `aresample=${DENOISE_RATE}`, ...length].join(',')
}

/** Mono sound on each of the output channels. */
export const spread = (channels: number): string[] =>
  channels === 1 ? [] : [filterOf({ mixes: Array.from({ length: channels }, () => [{ gain: 1, source: 0 }]) })!]

/**
 * A Butterworth filter of even order as a cascade of second-order ones. A single one (12 dB per octave) at 80 Hz would
 * reduce mains hum of 50 Hz by only 9 dB.
 */
function butterworth(kind: 'highpass' | 'lowpass', hz: number, order: number): string[] {
  return Array.from({ length: order / 2 }, (_, k) => {
    const q = 1 / (2 * Math.sin((Math.PI * (2 * k + 1)) / (2 * order)))
    return `${kind}=f=${hz}:width_type=q:width=${q.toFixed(5)}`
  })
}

const linear = (db: number): string => (10 ** (db / 20)).toFixed(5)

/** The filters between denoiser and loudness. */
export function voiceFilters({ compressor, deesser, highpass, lowpass }: Enhancement): string[] {
  return [
    ...(highpass.enabled ? butterworth('highpass', highpass.hz, 8) : []),
    ...(lowpass.enabled ? butterworth('lowpass', lowpass.hz, 4) : []),
    ...(deesser.enabled ? [`deesser=i=${deesser.intensity.toFixed(2)}`] : []),
    ...(compressor.enabled ? [`acompressor=threshold=${linear(-18)}:ratio=3:attack=20:release=250`] : []),
  ]
}

/** The filters after the loudness. */
export const gateFilters = ({ gate }: Enhancement): string[] =>
  gate.enabled ? [`agate=threshold=${linear(gate.thresholdDb)}`] : []

/** Filters to and from the intermediate file. */
export const toIntermediate = `volume=-${HEADROOM_DB}dB`
export const fromIntermediate = ['aformat=sample_fmts=flt', `volume=${HEADROOM_DB}dB`]

/** Range, gain, limiter. `lead`: samples before the part, during which a moving gain stands still. */
export const levelFilters = ({ ceilingDb, fromDb, gainDb, rider }: Level, lead: number): string[] => [
  ...(rider ? [riding(rider)] : []),
  ...(fromDb === undefined ? [`volume=${gainDb.toFixed(2)}dB`] : glide(fromDb, gainDb, lead / DENOISE_RATE)),
  ...(ceilingDb === undefined ? [] : limiter(ceilingDb)),
]

/** Slower than syllables: within a sentence hardly anything moves. */
const riding = ({ makeupDb, ratio, thresholdDb }: Rider): string =>
  `acompressor=threshold=${linear(thresholdDb)}:ratio=${ratio.toFixed(3)}:makeup=${linear(makeupDb)}` +
  ':attack=200:release=2000:knee=2.8:detection=rms'

/** A gain that glides, in steps of 2 ms, each below 0.01 dB. */
const glide = (fromDb: number, toDb: number, fromSecond: number): string[] => {
  const moved = `clip(${GLIDE_DB_PER_SECOND}*(t-${fromSecond}),0,${Math.abs(toDb - fromDb).toFixed(2)})`
  const db = `${fromDb.toFixed(2)}${toDb < fromDb ? '-' : '+'}${moved}`
  return ['asetnsamples=n=96:p=0', `volume=eval=frame:volume='pow(10,(${db})/20)'`]
}

/** Oversampling by four makes inter-sample peaks visible to the limiter. */
const limiter = (ceilingDb: number): string[] => [
  `aresample=${4 * DENOISE_RATE}`,
  `alimiter=limit=${linear(ceilingDb)}:attack=5:release=50:level=disabled:latency=1`,
  `aresample=${DENOISE_RATE}`,
]
