// Pieces of live audio as they are sent: 16 kHz, mono, 16 bit (docs/contract/listening.md: Chunks).

import { fmtOf, PCM, wavHeader } from '../../kernel/wav.rules.ts'

/** Hz, of everything that is sent. */
export const LIVE_RATE = 16_000

export interface Piece {
  /** Unix ms of the first sample. */
  capturedAt: number
  /** At `LIVE_RATE`. */
  pcm: Int16Array
}

/** Samples between two indices of one stream. */
export interface Cut {
  index: number
  pcm: Int16Array
}

/** Cuts a stream at multiples of a length, whatever the size of the blocks: raw and enhanced pieces match. */
export interface Cutter {
  push(samples: Float32Array): Cut[]
  /** The rest, shorter than a piece. */
  rest(): Cut | undefined
}

export const msOf = (samples: number): number => (samples / LIVE_RATE) * 1000

/** -1..1 to 16 bit, clipped. */
const toPcm = (samples: Float32Array): Int16Array =>
  Int16Array.from(samples, (x) => Math.max(-32_768, Math.min(32_767, Math.round(x * 32_768))))

/** `length` in samples; `index` of the first sample that will come. */
export function createCutter(length: number, index = 0): Cutter {
  const pcm = new Int16Array(length)
  let filled = 0
  const take = (count: number): Cut => {
    const cut = { index, pcm: pcm.slice(0, count) }
    index += count
    filled = 0
    return cut
  }
  return {
    push: (samples) => {
      const cuts: Cut[] = []
      const fresh = toPcm(samples)
      for (let at = 0; at < fresh.length; ) {
        const room = length - (index % length)
        const part = fresh.subarray(at, at + room - filled)
        pcm.set(part, filled)
        filled += part.length
        at += part.length
        if (filled === room) cuts.push(take(room))
      }
      return cuts
    },
    rest: () => (filled > 0 ? take(filled) : undefined),
  }
}

/** Pieces this close count as consecutive, ms. */
const SEAM_MS = 20

export const follows = (next: Piece, before: Piece): boolean =>
  Math.abs(next.capturedAt - before.capturedAt - msOf(before.pcm.length)) <= SEAM_MS

/** Joins consecutive pieces. */
export function joinedPieces(pieces: readonly [Piece, ...Piece[]]): Piece {
  const pcm = new Int16Array(pieces.reduce((sum, piece) => sum + piece.pcm.length, 0))
  let at = 0
  for (const piece of pieces) {
    pcm.set(piece.pcm, at)
    at += piece.pcm.length
  }
  return { capturedAt: pieces[0].capturedAt, pcm }
}

/** A whole WAV file, with the canonical header of 44 bytes. */
export const wavOf = (pcm: Int16Array): Uint8Array =>
  Buffer.concat([
    wavHeader(fmtOf({ bits: 16, channels: 1, rate: LIVE_RATE, tag: PCM }), pcm.byteLength),
    new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength),
  ])
