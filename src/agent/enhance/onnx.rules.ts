// What an ONNX file says about itself, and whether it is a model the deep engine can run.
import { ModelUnusable } from './model.rules.ts'

/** Fields of a protocol buffer: number and content; numbers and floats are passed over. */
function* fields(bytes: Uint8Array): Generator<{ content: Uint8Array; field: number }> {
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]
      if (byte === undefined || scale > 2 ** 49) throw new ModelUnusable('not an ONNX file')
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const key = varint()
    const type = key % 8
    if (type === 0) varint()
    else if (type === 1) at += 8
    else if (type === 5) at += 4
    else if (type === 2) {
      const length = varint()
      yield { content: bytes.subarray(at, at + length), field: Math.floor(key / 8) }
      at += length
    } else throw new ModelUnusable('not an ONNX file')
  }
}

const METADATA = 14

/** `metadata_props` of a ModelProto (onnx.proto, field 14: key 1, value 2). @throws ModelUnusable */
export function onnxMetadata(bytes: Uint8Array): Map<string, string> {
  const text = new TextDecoder()
  const found = new Map<string, string>()
  for (const { content, field } of fields(bytes)) {
    if (field !== METADATA) continue
    const entry = new Map([...fields(content)].map((part) => [part.field, text.decode(part.content)]))
    found.set(entry.get(1) ?? '', entry.get(2) ?? '')
  }
  return found
}

/** A streaming spectrum model: `spec` [1,1,481,2] and `state_in` [stateSize] to `spec_e` and `state_out`. */
export interface SpectrumModel {
  /** How the state begins: means of the bands, then of the bins, then zeros. */
  erbNorm: number[]
  specNorm: number[]
  stateSize: number
}

const NEEDED: Record<string, string> = {
  sample_rate: '48000',
  n_fft: '960',
  hop_length: '480',
  window_type: 'vorbis',
}

/** @throws ModelUnusable with the first thing that does not fit */
export function spectrumModel(metadata: Map<string, string>): SpectrumModel {
  for (const [key, value] of Object.entries(NEEDED))
    if (metadata.get(key) !== value)
      throw new ModelUnusable(`its ${key} is ${metadata.get(key) ?? 'unset'}, expected ${value}`)
  const numbers = (key: string): number[] => {
    const list = (metadata.get(key) ?? '').split(',').map(Number)
    if (!metadata.get(key) || list.some((n) => !Number.isFinite(n)))
      throw new ModelUnusable(`its ${key} is missing or unusable`)
    return list
  }
  const [stateSize = 0] = numbers('state_size')
  const [erbNorm, specNorm] = [numbers('erb_norm_init'), numbers('spec_norm_init')]
  if (!Number.isInteger(stateSize) || stateSize < erbNorm.length + specNorm.length || stateSize > 1e7)
    throw new ModelUnusable(`its state has ${stateSize} numbers`)
  return { erbNorm, specNorm, stateSize }
}
