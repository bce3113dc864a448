// RIFF WAVE as agents send it: enough to join chunks into one stream, whatever the bytes are.

/** Samples of a chunk; `format` is its `fmt ` chunk as it stands. */
interface Pcm {
  data: Uint8Array
  format: Uint8Array
}

const HEAD = 12
const FORMAT_BYTES = { least: 16, most: 40 }
const ENDLESS = 0xffff_ffff

const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const tag = (bytes: Uint8Array, at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4))

/** The samples of a WAV file, cut to whole frames; undefined when the bytes are no WAV that can be joined to others. */
export function pcmOf(wav: Uint8Array): Pcm | undefined {
  if (wav.length < HEAD || tag(wav, 0) !== 'RIFF' || tag(wav, 8) !== 'WAVE') return undefined
  let format: Uint8Array | undefined
  for (let at = HEAD; at + 8 <= wav.length; ) {
    const size = view(wav).getUint32(at + 4, true)
    const body = wav.subarray(at + 8, at + 8 + size)
    if (tag(wav, at) === 'data') return format && whole(format, body)
    if (tag(wav, at) === 'fmt ') format = body
    at += 8 + size + (size % 2)
  }
}

function whole(format: Uint8Array, data: Uint8Array): Pcm | undefined {
  if (format.length < FORMAT_BYTES.least || format.length > FORMAT_BYTES.most) return undefined
  const frame = view(format).getUint16(12, true)
  return frame === 0 ? undefined : { data: data.subarray(0, data.length - (data.length % frame)), format }
}

export const sameFormat = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, at) => byte === b[at])

/** The file without its first `ms`; bytes that are no WAV stay as they are. */
export function withoutStart(wav: Uint8Array, ms: number): Uint8Array {
  const pcm = pcmOf(wav)
  if (!pcm) return wav
  const frame = view(pcm.format).getUint16(12, true)
  const rate = view(pcm.format).getUint32(4, true)
  return wavOf(pcm.format, pcm.data.subarray(Math.min(pcm.data.length, Math.round((ms * rate) / 1000) * frame)))
}

/** Files one after the other as one; undefined when one is no WAV, or of another format. */
export function joinedWav(wavs: readonly Uint8Array[]): Uint8Array | undefined {
  const pieces = wavs.map(pcmOf).filter((pcm) => pcm !== undefined)
  const [first] = pieces
  if (!first || pieces.length < wavs.length) return undefined
  if (!pieces.every(({ format }) => sameFormat(format, first.format))) return undefined
  return wavOf(first.format, Buffer.concat(pieces.map(({ data }) => data)))
}

function wavOf(format: Uint8Array, data: Uint8Array): Uint8Array {
  const head = endlessHead(format)
  view(head).setUint32(4, head.length - 8 + data.length, true)
  view(head).setUint32(head.length - 4, data.length, true)
  return Buffer.concat([head, data])
}

/** Head of a WAV whose length nobody knows: both sizes say `as long as it lasts`. */
export function endlessHead(format: Uint8Array): Uint8Array {
  const head = new Uint8Array(HEAD + 8 + format.length + 8)
  const write = (at: number, name: string, size: number) => {
    for (let i = 0; i < 4; i++) head[at + i] = name.charCodeAt(i)
    view(head).setUint32(at + 4, size, true)
  }
  write(0, 'RIFF', ENDLESS)
  write(8, 'WAVE', 0)
  write(HEAD, 'fmt ', format.length)
  head.set(format, HEAD + 8)
  write(HEAD + 8 + format.length, 'data', ENDLESS)
  return head
}
