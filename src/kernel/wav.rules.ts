// WAV files, read and written: RIFF, and RF64 (EBU Tech 3306) where 32 bits do not hold the sizes.

/** What a `fmt ` chunk says. */
export interface WavFormat {
  bits: number
  channels: number
  rate: number
  tag: number
}

/** Where the samples of a file are. */
export interface WavHead {
  /** Bytes of samples as the header tells it; undefined when it does not. */
  dataBytes: number | undefined
  dataOffset: number
  /** The body of the `fmt ` chunk. */
  fmt: Buffer
}

export const PCM = 1
export const FLOAT = 3
const EXTENSIBLE = 0xfffe
const FULL = 0xffffffff
const DS64 = 28
const FMT = { extensible: 40, plain: 16 }
/** Only mono and stereo have a meaning every reader agrees on; room microphones are no 5.1 set. */
const MASK: Record<number, number> = { 1: 0x4, 2: 0x3 }
const GUID_TAIL = Buffer.from('000000001000800000aa00389b71', 'hex')
// Anything longer is not a header.
const MAX_CHUNKS = 64
const MAX_FMT_BYTES = 1024

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const tagAt = (bytes: Buffer, at: number): string => bytes.toString('latin1', at, at + 4)

/** Whether these are the first twelve bytes of a WAV file. */
export const isWav = (head: Buffer): boolean =>
  head.length >= 12 && /^(RIFF|RF64|BW64)$/.test(tagAt(head, 0)) && tagAt(head, 8) === 'WAVE'

/** Undefined for an invalid body. With `extensible`, the format tag of its subformat is used. */
export function wavFormat(fmt: Buffer): WavFormat | undefined {
  if (fmt.length < FMT.plain) return undefined
  const outer = fmt.readUInt16LE(0)
  const tag = outer === EXTENSIBLE && fmt.length >= FMT.extensible ? fmt.readUInt16LE(24) : outer
  return { bits: fmt.readUInt16LE(14), channels: fmt.readUInt16LE(2), rate: fmt.readUInt32LE(4), tag }
}

/** Bytes of one frame; 0 when that is nonsense. */
export const frameBytes = (fmt: Buffer): number => (fmt.length >= FMT.plain ? fmt.readUInt16LE(12) : 0)

/** The body of a `fmt ` chunk. */
export function fmtOf({ bits, channels, rate, tag }: WavFormat): Buffer {
  const extensible = channels > 2 || bits > 16
  const frame = (bits / 8) * channels
  const fmt = Buffer.alloc(extensible ? FMT.extensible : FMT.plain)
  fmt.writeUInt16LE(extensible ? EXTENSIBLE : tag, 0)
  fmt.writeUInt16LE(channels, 2)
  fmt.writeUInt32LE(rate, 4)
  fmt.writeUInt32LE(rate * frame, 8)
  fmt.writeUInt16LE(frame, 12)
  fmt.writeUInt16LE(bits, 14)
  if (!extensible) return fmt
  fmt.writeUInt16LE(22, 16)
  fmt.writeUInt16LE(bits, 18)
  fmt.writeUInt32LE(MASK[channels] ?? 0, 20)
  fmt.writeUInt16LE(tag, 24)
  GUID_TAIL.copy(fmt, 26)
  return fmt
}

/**
 * Reads a header, wherever its bytes are: asks for bytes (where, how many) and is given those there are. Returns undefined
 * for what is no WAV file, or has no samples in what there is.
 */
export function* wavHeadSteps(): Generator<[at: number, length: number], WavHead | undefined, Buffer> {
  if (!isWav(yield [0, 12])) return undefined
  let fmt: Buffer | undefined
  let long: number | undefined
  for (let at = 12, n = 0; n < MAX_CHUNKS; n++) {
    const chunk = yield [at, 8]
    if (chunk.length < 8) return undefined
    const [name, size] = [tagAt(chunk, 0), chunk.readUInt32LE(4)]
    if (name === 'data') return fmt && { dataBytes: size === FULL ? long : size, dataOffset: at + 8, fmt }
    if (name === 'fmt ') fmt = yield [at + 8, Math.min(size, MAX_FMT_BYTES)]
    if (name === 'ds64') long = longSize(yield [at + 8, 16])
    at += 8 + size + (size % 2)
  }
  return undefined
}

const longSize = (body: Buffer): number | undefined => (body.length >= 16 ? Number(body.readBigUInt64LE(8)) : undefined)

/** The header in these bytes. */
export function wavHeadIn(bytes: Uint8Array): WavHead | undefined {
  const buffer = bufferOf(bytes)
  const steps = wavHeadSteps()
  let step = steps.next()
  while (!step.done) step = steps.next(buffer.subarray(step.value[0], step.value[0] + step.value[1]))
  return step.value
}

interface HeaderOptions {
  /** Length of the whole header, where there is to be more room. */
  bytes?: number
  /** With room for 64-bit sizes from the start: a file that grows over 4 GiB becomes RF64 in place. */
  growing?: boolean
}

/** All that comes before the samples. `dataBytes` Infinity: both sizes say "as long as it lasts". */
export function wavHeader(fmt: Uint8Array, dataBytes: number, { bytes, growing = false }: HeaderOptions = {}): Buffer {
  const format = chunkOf('fmt ', fmt)
  const fixed = 12 + format.length + 8
  const wanted = bytes === undefined ? 0 : bytes - fixed - 8 - DS64
  const riffBytes = (long: boolean) =>
    Math.max(bytes ?? 0, fixed + (long ? 8 + DS64 : 0)) - 8 + dataBytes + (dataBytes % 2)
  const big = Number.isFinite(dataBytes) && riffBytes(growing) >= FULL
  const long = big || growing
  const head = Buffer.alloc(12)
  head.write(big ? 'RF64' : 'RIFF', 0, 'latin1')
  head.writeUInt32LE(Math.min(riffBytes(long) || FULL, FULL), 4)
  head.write('WAVE', 8, 'latin1')
  const sizes = Buffer.alloc(DS64)
  if (big) {
    sizes.writeBigUInt64LE(BigInt(riffBytes(true)), 0)
    sizes.writeBigUInt64LE(BigInt(dataBytes), 8)
    sizes.writeBigUInt64LE(BigInt(Math.floor(dataBytes / frameBytes(bufferOf(fmt)))), 16)
  }
  const data = Buffer.alloc(8)
  data.write('data', 0, 'latin1')
  data.writeUInt32LE(big ? FULL : Math.min(dataBytes, FULL), 4)
  return Buffer.concat([
    head,
    ...(long ? [chunkOf(big ? 'ds64' : 'JUNK', sizes)] : []),
    format,
    ...(wanted > 0 ? [chunkOf('JUNK', Buffer.alloc(wanted - 8))] : []),
    data,
  ])
}

function chunkOf(name: string, body: Uint8Array): Buffer {
  const chunk = Buffer.alloc(8 + body.length + (body.length % 2))
  chunk.write(name, 0, 'latin1')
  chunk.writeUInt32LE(body.length, 4)
  chunk.set(body, 8)
  return chunk
}
