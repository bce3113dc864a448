// Live audio as agents send it: 16 kHz mono WAV, each sample the number of its chunk.
import type { Kit } from '../../../kit/kit.ts'

export const RATE = 16_000

/** A whole WAV of `ms` whose samples all are `value`. */
export function wav(value: number, ms = 1000, rate = RATE): Buffer {
  const samples = new Int16Array((rate * ms) / 1000).fill(value)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.byteLength, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.byteLength, 40)
  return Buffer.concat([head, Buffer.from(samples.buffer)])
}

/** The chunk a WAV or its samples are of. */
export const chunkNumber = (audio: Uint8Array): number => Buffer.from(audio).readInt16LE(audio.length - 2)

export interface Sending {
  capturedAt?: string
  ms?: number
  rate?: number
  rendition?: 'enhanced'
}

type Agent = ReturnType<Kit['bearer']>

/** Sends chunk number `value`. */
export function send(
  agent: Agent,
  nodeId: string,
  value: number,
  { capturedAt, ms = 1000, rate, rendition }: Sending = {},
) {
  const query = rendition ? `?rendition=${rendition}` : ''
  return agent.post(`/nodes/${nodeId}/listen/chunk${query}`, new Uint8Array(wav(value, ms, rate)), {
    'content-type': 'audio/wav',
    'x-svc-duration-ms': String(ms),
    ...(capturedAt ? { 'x-svc-captured-at': capturedAt } : {}),
  })
}
