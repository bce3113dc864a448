/** What a sample looks like on the wire of a capture, and in the file. */
export const SAMPLE_FORMATS = ['S16_LE', 'S24_LE', 'S24_3LE', 'S32_LE', 'FLOAT_LE'] as const
export type SampleFormat = (typeof SAMPLE_FORMATS)[number]

export interface PcmFormat {
  channels: number
  format: SampleFormat
  /** Frames per second. */
  rate: number
}

const STREAM_BYTES: Record<SampleFormat, number> = { S16_LE: 2, S24_LE: 4, S24_3LE: 3, S32_LE: 4, FLOAT_LE: 4 }

export const isSampleFormat = (name: string): name is SampleFormat =>
  (SAMPLE_FORMATS as readonly string[]).includes(name)

/** Bytes of one sample as the device sends it: ALSA's S24_LE sits in a container of 4. */
export const streamSampleBytes = (format: SampleFormat): number => STREAM_BYTES[format]

export const streamFrameBytes = (f: PcmFormat): number => STREAM_BYTES[f.format] * f.channels

/** The file keeps the device's bits; only the container of S24_LE is packed. */
export const fileFormat = (format: SampleFormat): Exclude<SampleFormat, 'S24_LE'> =>
  format === 'S24_LE' ? 'S24_3LE' : format

export const fileFrameBytes = (f: PcmFormat): number => STREAM_BYTES[fileFormat(f.format)] * f.channels

/** Bytes a take of this length needs on disk, header included. */
export const takeBytes = (f: PcmFormat, seconds: number): number => fileFrameBytes(f) * f.rate * seconds + 4096

/**
 * Cuts whole frames into what the file holds: the first `keep` channels, S24_LE packed to three bytes.
 * Returns the same memory when nothing changes.
 */
export function toFileFrames(frames: Buffer, f: PcmFormat, keep: number): Buffer {
  if (keep === f.channels && f.format !== 'S24_LE') return frames
  const from = STREAM_BYTES[f.format]
  const to = STREAM_BYTES[fileFormat(f.format)]
  const count = frames.length / (from * f.channels)
  const out = Buffer.allocUnsafe(count * keep * to)
  let at = 0
  for (let frame = 0; frame < count; frame++) {
    let source = frame * f.channels * from
    for (let channel = 0; channel < keep; channel++, source += from)
      for (let byte = 0; byte < to; byte++) out[at++] = frames[source + byte]!
  }
  return out
}
