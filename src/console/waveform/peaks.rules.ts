/** One column of a drawn waveform: lowest and highest sample over all channels, -1..1. */
interface Column {
  high: number
  low: number
}

/** Points of all channels as `width` columns; nothing is left out between two. */
export function columns(channels: readonly { max: number[]; min: number[] }[], width: number): Column[] {
  const points = channels[0]?.max.length ?? 0
  if (points === 0) return []
  return Array.from({ length: width }, (_, x) => {
    const from = Math.floor((x * points) / width)
    const to = Math.max(from + 1, Math.floor(((x + 1) * points) / width))
    let [low, high] = [0, 0]
    for (const { max, min } of channels)
      for (let at = from; at < to; at++) {
        low = Math.min(low, min[at] ?? 0)
        high = Math.max(high, max[at] ?? 0)
      }
    return { high, low }
  })
}
