// Meter frames as agents send them.
import type { AudioLevel, MeterFrame } from '../../../../src/wire/meters.ts'

export const quality = (n = 0) => ({
  broadbandNoiseScore: 0.02,
  crestFactorDb: 14.82 + n / 100,
  estimatedSnrDb: 18.4,
  humScore: 0.05,
  intelligibilityScore: 0.61,
  noiseScore: 0.28,
  speechLike: true,
  speechScore: 0.78,
  staticScore: 0.01,
  zeroCrossingRate: 0.11,
})

export const level = (channelIndex: number, more: Partial<AudioLevel> = {}): AudioLevel => ({
  channelIndex,
  clipping: false,
  label: `Input ${channelIndex}`,
  peakDbfs: -12.3,
  quality: quality(channelIndex % 10),
  rmsDbfs: -27.1,
  ...more,
})

export const frame = (
  nodeId: string,
  interfaceId: string,
  channels = 2,
  more: Partial<MeterFrame> = {},
): MeterFrame => ({
  capturedAt: '2026-03-02T09:00:00.000Z',
  interfaceId,
  levels: Array.from({ length: channels }, (_, i) => level(i + 1)),
  nodeId,
  ...more,
})

export const REF = 'hw:CARD=Desk,DEV=0'
