/** A WAV or RF64 file as far as its samples are concerned. */
export interface WavFile {
  /** Bytes of samples: whole frames only. */
  dataBytes: number
  dataOffset: number
  /** The body of its `fmt ` chunk. */
  fmt: Buffer
}

interface WavPiece {
  id: string
  /** Of its body. */
  size: number
}

export const FULL = 0xffffffff
const DS64 = 28

/** Whether these are the first twelve bytes of a WAV file. */
export const isWav = (head: Buffer): boolean =>
  head.length >= 12 &&
  /^(RIFF|RF64|BW64)$/.test(head.toString('latin1', 0, 4)) &&
  head.toString('latin1', 8, 12) === 'WAVE'

/** Header of a piece of a RIFF file. */
export const pieceOf = (head: Buffer): WavPiece => ({ id: head.toString('latin1', 0, 4), size: head.readUInt32LE(4) })

/** Length of the samples as a `ds64` piece tells it. */
export const longSize = (body: Buffer): number | undefined =>
  body.length >= 16 ? Number(body.readBigUInt64LE(8)) : undefined

/** Bytes of one frame, from a `fmt ` body; 0 when that is nonsense. */
export const frameBytes = (fmt: Buffer): number => (fmt.length >= 16 ? fmt.readUInt16LE(12) : 0)

/** Tag (what stands behind `extensible` counts), channels, rate and bits: files that agree in them join without a change. */
export function layoutOf(fmt: Buffer): string {
  const outer = fmt.readUInt16LE(0)
  const tag = outer === 0xfffe && fmt.length >= 40 ? fmt.readUInt16LE(24) : outer
  return [tag, fmt.readUInt16LE(2), fmt.readUInt32LE(4), fmt.readUInt16LE(12), fmt.readUInt16LE(14)].join(' ')
}

/** Header of a file with these samples: RF64 (EBU Tech 3306) where a RIFF cannot say its length. */
export function joinedHeader(fmt: Buffer, dataBytes: number): Buffer {
  const format = Buffer.alloc(8 + fmt.length + (fmt.length % 2))
  format.write('fmt ', 0, 'latin1')
  format.writeUInt32LE(fmt.length, 4)
  fmt.copy(format, 8)
  const plainBytes = 4 + format.length + 8 + dataBytes + (dataBytes % 2)
  const big = plainBytes >= FULL
  const data = Buffer.alloc(8)
  data.write('data', 0, 'latin1')
  data.writeUInt32LE(big ? FULL : dataBytes, 4)
  const head = Buffer.alloc(12)
  head.write(big ? 'RF64' : 'RIFF', 0, 'latin1')
  head.writeUInt32LE(big ? FULL : plainBytes, 4)
  head.write('WAVE', 8, 'latin1')
  return Buffer.concat([head, ...(big ? [longSizes(fmt, plainBytes, dataBytes)] : []), format, data])
}

function longSizes(fmt: Buffer, plainBytes: number, dataBytes: number): Buffer {
  const piece = Buffer.alloc(8 + DS64)
  piece.write('ds64', 0, 'latin1')
  piece.writeUInt32LE(DS64, 4)
  piece.writeBigUInt64LE(BigInt(plainBytes + piece.length), 8)
  piece.writeBigUInt64LE(BigInt(dataBytes), 16)
  piece.writeBigUInt64LE(BigInt(Math.floor(dataBytes / frameBytes(fmt))), 24)
  return piece
}
