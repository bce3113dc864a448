/** Sample formats of capture devices and of files. */
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

const fileFrameBytes = (f: PcmFormat): number => STREAM_BYTES[fileFormat(f.format)] * f.channels

/** Bytes a take of this length needs on disk, header included. */
export const takeBytes = (f: PcmFormat, seconds: number): number => fileFrameBytes(f) * f.rate * seconds + 4096

/**
 * Cuts whole frames into what the file holds: the first `keep` channels, S24_LE packed to three bytes.
 * Returns the same memory when nothing changes.
 */
export function toFileFrames(frames: Buffer, f: PcmFormat, keep: number): Buffer {
  const kept = keep === f.channels ? frames : firstChannels(frames, f, keep)
  return f.format === 'S24_LE' ? packed(kept) : kept
}

type Words = Uint16Array<ArrayBufferLike> | Uint32Array<ArrayBufferLike>

/** Samples as machine words: ten times faster than bytes. All supported machines are little-endian. */
function words(bytes: Buffer, size: number): Words {
  const aligned = bytes.byteOffset % size === 0 ? bytes : Buffer.from(new Uint8Array(bytes).buffer)
  const { buffer, byteOffset, length } = aligned
  return size === 2 ? new Uint16Array(buffer, byteOffset, length / 2) : new Uint32Array(buffer, byteOffset, length / 4)
}

function firstChannels(frames: Buffer, f: PcmFormat, keep: number): Buffer {
  const size = STREAM_BYTES[f.format]
  const count = frames.length / (size * f.channels)
  const out = Buffer.from(new ArrayBuffer(count * keep * size))
  if (size === 3) {
    const [from, to] = [size * f.channels, size * keep]
    for (let frame = 0; frame < count; frame++) frames.copy(out, frame * to, frame * from, frame * from + to)
    return out
  }
  const [source, target] = [words(frames, size), words(out, size)]
  for (let frame = 0, at = 0; frame < count; frame++)
    for (let from = frame * f.channels, end = from + keep; from < end; ) target[at++] = source[from++]!
  return out
}

/** Four samples of 24 bits in four words become three words. */
function packed(samples: Buffer): Buffer {
  const source = words(samples, 4)
  const groups = source.length >> 2
  const out = Buffer.from(new ArrayBuffer(source.length * 3))
  const target = new Uint32Array(out.buffer, 0, groups * 3)
  for (let from = 0, at = 0; from < groups << 2; ) {
    const [a, b, c, d] = [source[from++]!, source[from++]!, source[from++]!, source[from++]!]
    target[at++] = (a & 0xffffff) | (b << 24)
    target[at++] = ((b >>> 8) & 0xffff) | (c << 16)
    target[at++] = ((c >>> 16) & 0xff) | (d << 8)
  }
  for (let left = groups << 2; left < source.length; left++) out.writeUIntLE(source[left]! & 0xffffff, left * 3, 3)
  return out
}
