import * as wav from '../../kernel/wav.rules.ts'
import type { SampleFormat } from './format.rules.ts'
import { MARKED_HEADER } from './marks.rules.ts'

/** Layout of a WAV file: what its header says, and where the samples begin. */
export interface WavLayout {
  channels: number
  /** Bytes of sample data. */
  dataBytes: number
  dataOffset: number
  format: Exclude<SampleFormat, 'S24_LE'>
  rate: number
}

const SAMPLE: Record<WavLayout['format'], Pick<wav.WavFormat, 'bits' | 'tag'>> = {
  S16_LE: { bits: 16, tag: wav.PCM },
  S24_3LE: { bits: 24, tag: wav.PCM },
  S32_LE: { bits: 32, tag: wav.PCM },
  FLOAT_LE: { bits: 32, tag: wav.FLOAT },
}
/** In headers whose length is not known yet. */
const UNTOLD = 0xffffffff

export const wavFrameBytes = (w: Pick<WavLayout, 'channels' | 'format'>): number =>
  (SAMPLE[w.format].bits / 8) * w.channels

/**
 * Header of a take with that much data; its length never changes while the take grows. `marked`: with room for the records
 * of a growing take.
 */
export const wavHeader = (
  { channels, dataBytes, format, rate }: Omit<WavLayout, 'dataOffset'>,
  marked = false,
): Buffer =>
  wav.wavHeader(wav.fmtOf({ channels, rate, ...SAMPLE[format] }), dataBytes, {
    growing: true,
    ...(marked ? { bytes: MARKED_HEADER } : {}),
  })

/** Reads the first bytes of a WAV or RF64 file up to its samples; undefined when it is none we can write. */
export function parseWav(head: Buffer): WavLayout | undefined {
  const found = wav.wavHeadIn(head)
  const shape = found && wav.wavFormat(found.fmt)
  if (!shape || shape.channels === 0) return undefined
  const { bits, channels, rate, tag } = shape
  const hit = Object.entries(SAMPLE).find(([, s]) => s.tag === tag && s.bits === bits)
  const { dataBytes = UNTOLD, dataOffset } = found
  return hit && { channels, dataBytes, dataOffset, format: hit[0] as WavLayout['format'], rate }
}
