// The endless WAV of live listening: a header once, then 16-bit mono PCM (docs/contract/listening.md: Streams).

const HEADER_BYTES = 44

interface PcmReader {
  /** Samples (-1..1) of what has arrived; nothing until the header is whole. @throws Error for anything but 16-bit mono PCM */
  push(bytes: Uint8Array): Float32Array
  /** Hz; 0 before the header is read. */
  rate(): number
}

export function pcmReader(): PcmReader {
  let rest = new Uint8Array(0)
  let rate = 0
  return {
    push(bytes) {
      const all = new Uint8Array(rest.length + bytes.length)
      all.set(rest)
      all.set(bytes, rest.length)
      let from = 0
      if (rate === 0) {
        if (all.length < HEADER_BYTES) {
          rest = all
          return new Float32Array(0)
        }
        rate = rateOf(new DataView(all.buffer))
        from = HEADER_BYTES
      }
      const count = (all.length - from) >> 1
      const view = new DataView(all.buffer, from)
      rest = all.slice(from + count * 2)
      return Float32Array.from({ length: count }, (_, i) => view.getInt16(i * 2, true) / 32_768)
    },
    rate: () => rate,
  }
}

function rateOf(header: DataView): number {
  const [format, channels, bits] = [header.getUint16(20, true), header.getUint16(22, true), header.getUint16(34, true)]
  if (format !== 1 || channels !== 1 || bits !== 16) throw new Error('live audio that is not 16-bit mono PCM')
  return header.getUint32(24, true)
}
