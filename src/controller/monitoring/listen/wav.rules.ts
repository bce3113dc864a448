// RIFF WAVE as agents send it: enough to join chunks into one stream, whatever the bytes are.

import { frameBytes, wavHeader, wavHeadIn } from '../../../kernel/wav.rules.ts'

/** Samples of a WAV file; `format` is its `fmt ` chunk as sent. */
interface Pcm {
  data: Uint8Array
  format: Buffer
}

const MAX_FORMAT_BYTES = 40

/** The samples of a WAV file, cut to whole frames; undefined for anything that cannot be joined to others. */
export function pcmOf(wav: Uint8Array): Pcm | undefined {
  const head = wavHeadIn(wav)
  const frame = head ? frameBytes(head.fmt) : 0
  if (!head || frame === 0 || head.fmt.length > MAX_FORMAT_BYTES) return undefined
  const { dataBytes = Number.POSITIVE_INFINITY, dataOffset, fmt: format } = head
  const data = wav.subarray(dataOffset, dataOffset + dataBytes)
  return { data: data.subarray(0, data.length - (data.length % frame)), format }
}

export const sameFormat = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, at) => byte === b[at])

/** The file without its first `ms`; anything but WAV is returned unchanged. */
export function withoutStart(wav: Uint8Array, ms: number): Uint8Array {
  const pcm = pcmOf(wav)
  if (!pcm) return wav
  const frame = frameBytes(pcm.format)
  const rate = pcm.format.readUInt32LE(4)
  return wavOf(pcm.format, pcm.data.subarray(Math.min(pcm.data.length, Math.round((ms * rate) / 1000) * frame)))
}

/** Several files as one; undefined when one is not WAV or has another format. */
export function joinedWav(wavs: readonly Uint8Array[]): Uint8Array | undefined {
  const pieces = wavs.map(pcmOf).filter((pcm) => pcm !== undefined)
  const [first] = pieces
  if (!first || pieces.length < wavs.length) return undefined
  if (!pieces.every(({ format }) => sameFormat(format, first.format))) return undefined
  return wavOf(first.format, Buffer.concat(pieces.map(({ data }) => data)))
}

const wavOf = (format: Buffer, data: Uint8Array): Uint8Array => Buffer.concat([wavHeader(format, data.length), data])

/** Header of a WAV of unknown length. */
export const endlessHead = (format: Buffer): Buffer => wavHeader(format, Number.POSITIVE_INFINITY)
