// Peaks as they are stored: the smallest and the largest sample per point and channel, as signed bytes.
import type { WaveformPreview } from '../../../wire/recordings.ts'

/** Limits of what is stored of a file: points, and bytes of all channels. */
const MAX_POINTS = 4000
const MAX_BYTES = 131_072
const PREVIEW_BINS = 96
const BYTES = 2

export interface Peaks {
  channels: number
  data: Int8Array
  points: number
}

/** Points to keep of a file with so many channels. */
export const pointsFor = (channels: number): number =>
  Math.max(1, Math.min(MAX_POINTS, Math.floor(MAX_BYTES / (BYTES * channels))))

// Rounds symmetrically around zero.
const byteOf = (sample: number): number => Math.sign(sample) * Math.min(127, Math.round(Math.abs(sample) * 127))

/**
 * Collects slices whose number is only estimated: when there are twice as many as wanted, neighbours are merged, so that
 * memory stays bounded.
 */
export function collector(channels: number, wanted: number) {
  const width = channels * BYTES
  const data = new Int8Array(2 * wanted * width)
  let points = 0
  let merged = 1
  let waiting = 0
  return {
    /** Minimum and maximum of each channel in turn, -1..1. */
    add(extremes: readonly number[]): void {
      const row = Array.from({ length: width }, (_, i) => byteOf(extremes[i] ?? 0))
      if (waiting === 0) data.set(row, points++ * width)
      else widen(data, (points - 1) * width, row)
      waiting = (waiting + 1) % merged
      if (points < 2 * wanted || waiting !== 0) return
      halve(data, points, width)
      points = wanted
      merged *= 2
    },
    peaks: (): Peaks => ({ channels, data: data.slice(0, points * width), points }),
  }
}

function halve(data: Int8Array, points: number, width: number): void {
  for (let point = 0; point < points; point += 2) {
    data.copyWithin((point / 2) * width, point * width, (point + 1) * width)
    widen(data, (point / 2) * width, data.slice((point + 1) * width, (point + 2) * width))
  }
}

function widen(data: Int8Array, at: number, row: ArrayLike<number>): void {
  for (let i = 0; i < row.length; i += BYTES) {
    data[at + i] = Math.min(data[at + i] as number, row[i] as number)
    data[at + i + 1] = Math.max(data[at + i + 1] as number, row[i + 1] as number)
  }
}

/** The same peaks in at most `wanted` points, each covering the range of those it replaces. */
export function resampled(peaks: Peaks, wanted: number): Peaks {
  const { channels, points } = peaks
  if (wanted >= points) return peaks
  const width = channels * BYTES
  const data = new Int8Array(wanted * width)
  for (let point = 0; point < wanted; point++) {
    const from = Math.floor((point * points) / wanted)
    const to = Math.floor(((point + 1) * points) / wanted)
    data.set(peaks.data.subarray(from * width, (from + 1) * width), point * width)
    for (let i = from + 1; i < to; i++) widen(data, point * width, peaks.data.subarray(i * width, (i + 1) * width))
  }
  return { channels, data, points: wanted }
}

/** -1..1, to three decimals. */
const sampleOf = (byte: number): number => Math.round((byte / 127) * 1000) / 1000

/** One channel in wire format. */
export function channelOf({ channels, data, points }: Peaks, channel: number): { max: number[]; min: number[] } {
  const at = (point: number, side: number) => sampleOf(data[(point * channels + channel) * BYTES + side] as number)
  const each = (side: number) => Array.from({ length: points }, (_, point) => at(point, side))
  return { max: each(1), min: each(0) }
}

/** What a list shows of a file: the loudest of all channels, in a few bins. */
export function previewOf(
  peaks: Peaks,
  facts: Omit<WaveformPreview, 'channelCount' | 'peaks' | 'source'>,
): WaveformPreview {
  const { channels, data, points } = resampled(peaks, PREVIEW_BINS)
  const width = channels * BYTES
  const loudest = Array.from({ length: points }, (_, point) =>
    Math.max(...data.subarray(point * width, (point + 1) * width).map(Math.abs)),
  )
  return { channelCount: channels, peaks: loudest.map(sampleOf), source: 'ffmpeg_decoded_peak', ...facts }
}
