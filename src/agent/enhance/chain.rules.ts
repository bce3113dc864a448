// The voice chain as ffmpeg filters (docs/contract/agent.md: Enhancement), and what it takes.
import { type Enhancement, enhances } from '../../wire/profiles.ts'
import { filterOf, type Mix } from '../render/plan.rules.ts'
import { DENOISE_RATE } from './denoiser.rules.ts'
import { GLIDE_DB_PER_SECOND, type Level, type Rider } from './loudness.rules.ts'

/** dB the intermediate file is below the sound, so that what overshoots full scale is not cut off; 24 bits have room. */
const HEADROOM_DB = 12
const INTERMEDIATE_BYTES = 3
/** The intermediate file: samples alone, thus of any length. */
export const INTERMEDIATE = { channels: 1, format: 's24le', rate: DENOISE_RATE } as const
/** As ffmpeg writes it. */
export const TO_INTERMEDIATE = ['-f', INTERMEDIATE.format, '-ar', String(DENOISE_RATE), '-ac', '1']

export const intermediateBytes = (samples: number): number => samples * INTERMEDIATE_BYTES

/** What is heard of a take around one of its parts, so that a part begins and ends as if it had not been cut out. */
export const LEAD_SECONDS = 2
/** More than what the denoisers look ahead. */
export const TAIL_SECONDS = 0.1

/** Bytes an enhancement needs on the disk while it is made, beside its output. */
export const enhancementBytes = (seconds: number, chain: Enhancement): number =>
  enhances(chain) ? intermediateBytes(Math.ceil((LEAD_SECONDS + seconds + TAIL_SECONDS) * DENOISE_RATE)) : 0

/** The samples of a part among those that are heard. */
export interface Span {
  /** Samples before it. */
  lead: number
  samples: number
  /** Samples behind it. */
  tail: number
}

/** Cuts a part out of what was heard. */
export const cut = ({ lead, samples }: Span): string =>
  `atrim=start_sample=${lead}:end_sample=${lead + samples},asetpts=N/SR/TB`

/** Mean of what the job takes: of the outputs of its mix that carry sound, else of all channels. */
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
 * A Butterworth filter of even order as a cascade of second-order ones. A single one (12 dB per octave) would take no
 * more than 9 dB off the 50 Hz of the mains below a corner of 80 Hz.
 */
function butterworth(kind: 'highpass' | 'lowpass', hz: number, order: number): string[] {
  return Array.from({ length: order / 2 }, (_, k) => {
    const q = 1 / (2 * Math.sin((Math.PI * (2 * k + 1)) / (2 * order)))
    return `${kind}=f=${hz}:width_type=q:width=${q.toFixed(5)}`
  })
}

const linear = (db: number): string => (10 ** (db / 20)).toFixed(5)

/** What comes between denoiser and loudness. */
export function voiceFilters({ compressor, deesser, highpass, lowpass }: Enhancement): string[] {
  return [
    ...(highpass.enabled ? butterworth('highpass', highpass.hz, 8) : []),
    ...(lowpass.enabled ? butterworth('lowpass', lowpass.hz, 4) : []),
    ...(deesser.enabled ? [`deesser=i=${deesser.intensity.toFixed(2)}`] : []),
    ...(compressor.enabled ? [`acompressor=threshold=${linear(-18)}:ratio=3:attack=20:release=250`] : []),
  ]
}

/** What comes after the loudness. */
export const gateFilters = ({ gate }: Enhancement): string[] =>
  gate.enabled ? [`agate=threshold=${linear(gate.thresholdDb)}`] : []

/** Filters to and from the intermediate file. */
export const toIntermediate = `volume=-${HEADROOM_DB}dB`
export const fromIntermediate = ['aformat=sample_fmts=flt', `volume=${HEADROOM_DB}dB`]

/** The range, then the gain, then a limiter. `lead`: samples before the part, in which a gain that moves stands still. */
export const levelFilters = ({ ceilingDb, fromDb, gainDb, rider }: Level, lead: number): string[] => [
  ...(rider ? [riding(rider)] : []),
  ...(fromDb === undefined ? [`volume=${gainDb.toFixed(2)}dB`] : glide(fromDb, gainDb, lead / DENOISE_RATE)),
  ...(ceilingDb === undefined ? [] : limiter(ceilingDb)),
]

/** Slower than syllables: within a sentence hardly anything moves. */
const riding = ({ makeupDb, ratio, thresholdDb }: Rider): string =>
  `acompressor=threshold=${linear(thresholdDb)}:ratio=${ratio.toFixed(3)}:makeup=${linear(makeupDb)}` +
  ':attack=200:release=2000:knee=2.8:detection=rms'

/** A gain that moves, in steps of 2 ms: each is less than 0.01 dB. */
const glide = (fromDb: number, toDb: number, fromSecond: number): string[] => {
  const moved = `clip(${GLIDE_DB_PER_SECOND}*(t-${fromSecond}),0,${Math.abs(toDb - fromDb).toFixed(2)})`
  const db = `${fromDb.toFixed(2)}${toDb < fromDb ? '-' : '+'}${moved}`
  return ['asetnsamples=n=96:p=0', `volume=eval=frame:volume='pow(10,(${db})/20)'`]
}

/** At four times the rate the peaks between the samples are samples themselves. */
const limiter = (ceilingDb: number): string[] => [
  `aresample=${4 * DENOISE_RATE}`,
  `alimiter=limit=${linear(ceilingDb)}:attack=5:release=50:level=disabled:latency=1`,
  `aresample=${DENOISE_RATE}`,
]
