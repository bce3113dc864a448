import { BANDS_HZ } from '../../../../src/wire/bands.ts'
import type { SoundPrint } from '../../../../src/wire/soundreadings.ts'

/** The bands of white noise: three decibels more with every octave. */
export const WHITE = (lowest: number): number[] => BANDS_HZ.map((_, i) => lowest + 3.01 * i)

/** What an empty room sounds like, or so much louder. */
export const print = ({ by = 0, ...more }: Partial<SoundPrint> & { by?: number } = {}): SoundPrint => ({
  bandsDbfs: [-63, -66, -70, -74, -79, -84, -88, -92].map((level) => level + by),
  channelIndex: 1,
  clippedSeconds: 0,
  flat: false,
  floorDbfs: -60 + by,
  humDbfs: -90 + by,
  humHz: 50,
  offset: 0,
  peakDbfs: -45 + by,
  ...more,
})
