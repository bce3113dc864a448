// Synthetic frames (docs/contract/health.md: Meter values), always marked as such.
import type { AudioLevel } from '../../wire/meters.ts'
import { rise, round2 } from './quality.rules.ts'

const round1 = (v: number): number => Math.round(v * 10) / 10

/** `tick`: number of the frame; `channel` from 1. */
function levelAt(tick: number, channel: number): AudioLevel {
  const phase = tick / 3 + channel * 0.72
  const [sine, cosine] = [Math.sin(phase), Math.abs(Math.cos(phase))]
  const rms = Math.max(-72, -42 + 12 * sine)
  const peak = Math.min(-3, rms + 14 + 4 * cosine)
  const audible = rise(rms, -65, -35)
  const speech = audible * (0.62 + 0.18 * sine)
  const noise = audible * (1 - speech)
  return {
    channelIndex: channel,
    clipping: peak > -1,
    label: `Input ${channel}`,
    peakDbfs: round1(peak),
    quality: {
      broadbandNoiseScore: round2(0.7 * noise),
      crestFactorDb: round2(peak - rms),
      humScore: round2(0.12 * audible * cosine),
      noiseScore: round2(noise),
      speechLike: speech >= 0.55,
      speechScore: round2(speech),
      staticScore: round2(0.08 * audible * Math.abs(sine)),
      zeroCrossingRate: round2(0.08 + 0.08 * cosine),
    },
    rmsDbfs: round1(rms),
  }
}

export const syntheticLevels = (tick: number, channels: number): AudioLevel[] =>
  Array.from({ length: channels }, (_, c) => levelAt(tick, c + 1))
