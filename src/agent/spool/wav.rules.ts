import type { SampleFormat } from '../capture/format.rules.ts'
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

const SAMPLE: Record<WavLayout['format'], { bytes: number; tag: 1 | 3 }> = {
  S16_LE: { bytes: 2, tag: 1 },
  S24_3LE: { bytes: 3, tag: 1 },
  S32_LE: { bytes: 4, tag: 1 },
  FLOAT_LE: { bytes: 4, tag: 3 },
}
const GUID_TAIL = Buffer.from('000000001000800000aa00389b71', 'hex')
const FULL = 0xffffffff
const DS64 = 28
/** Only mono and stereo have a meaning every reader agrees on; room microphones are no 5.1 set. */
const MASK: Record<number, number> = { 1: 0x4, 2: 0x3 }

export const wavFrameBytes = (w: Pick<WavLayout, 'channels' | 'format'>): number => SAMPLE[w.format].bytes * w.channels

const extensible = (w: Pick<WavLayout, 'channels' | 'format'>): boolean => w.channels > 2 || SAMPLE[w.format].bytes > 2

function fmtChunk(w: Omit<WavLayout, 'dataBytes' | 'dataOffset'>): Buffer {
  const { bytes, tag } = SAMPLE[w.format]
  const ext = extensible(w)
  const chunk = Buffer.alloc(8 + (ext ? 40 : 16))
  chunk.write('fmt ', 0, 'latin1')
  chunk.writeUInt32LE(chunk.length - 8, 4)
  chunk.writeUInt16LE(ext ? 0xfffe : tag, 8)
  chunk.writeUInt16LE(w.channels, 10)
  chunk.writeUInt32LE(w.rate, 12)
  chunk.writeUInt32LE(w.rate * bytes * w.channels, 16)
  chunk.writeUInt16LE(bytes * w.channels, 20)
  chunk.writeUInt16LE(bytes * 8, 22)
  if (!ext) return chunk
  chunk.writeUInt16LE(22, 24)
  chunk.writeUInt16LE(bytes * 8, 26)
  chunk.writeUInt32LE(MASK[w.channels] ?? 0, 28)
  chunk.writeUInt16LE(tag, 32)
  GUID_TAIL.copy(chunk, 34)
  return chunk
}

/**
 * Header of a file with that much data. Room for the 64-bit sizes (EBU Tech 3306) is reserved from the start,
 * so that a file that grows over 4 GiB becomes RF64 in place: the length of the header never changes. `marked`: with room
 * for the records of a growing take.
 */
export function wavHeader(w: Omit<WavLayout, 'dataOffset'>, marked = false): Buffer {
  const fmt = fmtChunk(w)
  const head = Buffer.alloc(12 + 8 + DS64)
  const room = marked ? roomChunk(MARKED_HEADER - head.length - fmt.length - 8) : Buffer.alloc(0)
  const length = head.length + fmt.length + room.length + 8
  const riffBytes = length - 8 + w.dataBytes + (w.dataBytes % 2)
  const big = riffBytes >= FULL
  head.write(big ? 'RF64' : 'RIFF', 0, 'latin1')
  head.writeUInt32LE(big ? FULL : riffBytes, 4)
  head.write(big ? 'WAVEds64' : 'WAVEJUNK', 8, 'latin1')
  head.writeUInt32LE(DS64, 16)
  if (big) {
    head.writeBigUInt64LE(BigInt(riffBytes), 20)
    head.writeBigUInt64LE(BigInt(w.dataBytes), 28)
    head.writeBigUInt64LE(BigInt(Math.floor(w.dataBytes / wavFrameBytes(w))), 36)
  }
  const data = Buffer.alloc(8)
  data.write('data', 0, 'latin1')
  data.writeUInt32LE(big ? FULL : w.dataBytes, 4)
  return Buffer.concat([head, fmt, room, data])
}

function roomChunk(length: number): Buffer {
  const chunk = Buffer.alloc(length)
  chunk.write('JUNK', 0, 'latin1')
  chunk.writeUInt32LE(length - 8, 4)
  return chunk
}

function readFmt(chunk: Buffer): Pick<WavLayout, 'channels' | 'format' | 'rate'> | undefined {
  if (chunk.length < 16) return undefined
  const outer = chunk.readUInt16LE(0)
  const tag = outer === 0xfffe && chunk.length >= 40 ? chunk.readUInt16LE(24) : outer
  const bits = chunk.readUInt16LE(14)
  const hit = Object.entries(SAMPLE).find(([, s]) => s.tag === tag && s.bytes * 8 === bits)
  const channels = chunk.readUInt16LE(2)
  return hit && channels > 0
    ? { channels, format: hit[0] as WavLayout['format'], rate: chunk.readUInt32LE(4) }
    : undefined
}

/** Reads the first bytes of a WAV or RF64 file up to its samples; undefined when it is none we can write. */
export function parseWav(head: Buffer): WavLayout | undefined {
  if (head.length < 12 || !['RIFF', 'RF64'].includes(head.toString('latin1', 0, 4))) return undefined
  let big: number | undefined
  let fmt: ReturnType<typeof readFmt>
  for (let at = 12; at + 8 <= head.length; ) {
    const id = head.toString('latin1', at, at + 4)
    const size = head.readUInt32LE(at + 4)
    if (id === 'data')
      return fmt && { ...fmt, dataBytes: size === FULL && big !== undefined ? big : size, dataOffset: at + 8 }
    const body = head.subarray(at + 8, at + 8 + size)
    if (id === 'ds64' && body.length >= 16) big = Number(body.readBigUInt64LE(8))
    if (id === 'fmt ') fmt = readFmt(body)
    at += 8 + size + (size % 2)
  }
  return undefined
}
