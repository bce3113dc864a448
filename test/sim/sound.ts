// Virtual sound: four samples in a row tell which they are, counted since the world began, so that any loss or shift shows.

/** Two bits of a sample tell its place among four; the rest are a part of their number. None is zero: that is silence. */
const GROUP = 4
const PART = 14
const MASK = 2 ** PART - 1
const FIRST = 2 ** (PART - 1)

const stampOf = (n: number): number => {
  const [group, place] = [Math.floor(n / GROUP), n % GROUP]
  if (place === 0) return FIRST | (group & (FIRST - 1))
  return (place << PART) | (Math.floor(group / 2 ** (PART * place - 1)) & MASK)
}

/** Frames `from`..`to`, S16_LE; each channel carries the same, its number added. */
export function stamps(from: number, to: number, channels: number): Buffer {
  const out = Buffer.allocUnsafe((to - from) * channels * 2)
  for (let n = from, at = 0; n < to; n++) {
    const value = stampOf(n)
    for (let channel = 0; channel < channels; channel++, at += 2) out.writeUInt16LE((value + channel) & 0xffff, at)
  }
  return out
}

/** A stretch of a file in which everything follows its predecessor. */
export interface Stretch {
  /** Frame of the file it begins with. */
  at: number
  frames: number
  /** Number of its first sample since the world began; undefined: silence. */
  from: number | undefined
}

/** What the first channel of some PCM holds. Anything that is neither silence nor stamped is a stretch with `from` NaN. */
export function stretchesOf(pcm: Buffer, channels: number): Stretch[] {
  const samples = new Uint16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.length))
  const frames = Math.floor(samples.length / channels)
  const found: Stretch[] = []
  for (let at = 0; at < frames; ) {
    const from = numberAt(samples, channels, at, frames)
    let end = at + 1
    if (from === undefined) while (end < frames && samples[end * channels] === 0) end++
    else if (Number.isNaN(from)) while (end < frames && Number.isNaN(numberAt(samples, channels, end, frames))) end++
    else while (end < frames && samples[end * channels] === stampOf(from + end - at)) end++
    found.push({ at, frames: end - at, from })
    at = end
  }
  return found
}

/** Read from the next whole four; undefined: silence. */
function numberAt(samples: Uint16Array, channels: number, at: number, frames: number): number | undefined {
  if (samples[at * channels] === 0) return undefined
  const ahead = (GROUP - (samples[at * channels]! >> PART)) % GROUP
  if (at + ahead + GROUP > frames) return Number.NaN
  const parts = [0, 1, 2, 3].map((place) => samples[(at + ahead + place) * channels]!)
  if (parts.some((part, place) => part >> PART !== place)) return Number.NaN
  const group = parts.reduce(
    (sum, part, place) => sum + (place === 0 ? part & (FIRST - 1) : (part & MASK) * 2 ** (PART * place - 1)),
    0,
  )
  const from = group * GROUP - ahead
  return samples[at * channels] === stampOf(from) ? from : Number.NaN
}
