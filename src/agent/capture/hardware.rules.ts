// Which names mean the same hardware, and which streams of it serve which take.
import type { CaptureBackend } from '../../wire/nodes.ts'
import type { PcmFormat, SampleFormat } from '../audio/format.rules.ts'
import { alsaCard } from '../inventory/alsa.rules.ts'

/** One key for every name of the same hardware: with and without the plug layer, by position and by keyword. */
export function hardwareKey(backend: CaptureBackend, device: string): string {
  const found = backend === 'alsa' ? alsaCard(device) : undefined
  if (found) return `alsa:hw:${found.card},${found.device}`
  return device.startsWith('test:') ? device : `${backend}:${device}`
}

const definite = (key: string): boolean => key.startsWith('alsa:hw:') || key.startsWith('test:')

/** Whether two keys may stand for one card all the same: `default` and PipeWire's names do not say which they use. */
export const mayCollide = (a: string, b: string): boolean =>
  a !== b &&
  !(definite(a) && definite(b)) &&
  !a.startsWith('test:') &&
  !b.startsWith('test:') &&
  (a.startsWith('alsa:') || b.startsWith('alsa:'))

/** Bits a sample format carries; a float has no more than its mantissa. */
const BITS: Record<SampleFormat, number> = { S16_LE: 16, S24_LE: 24, S24_3LE: 24, FLOAT_LE: 25, S32_LE: 32 }

/** Whether a take that asks for `wanted` may share a stream: its rate, no fewer channels, none of its bits taken. */
export const shares = (stream: PcmFormat, wanted: PcmFormat): boolean =>
  stream.rate === wanted.rate && stream.channels >= wanted.channels && BITS[stream.format] >= BITS[wanted.format]

/**
 * Whether a device that was opened for `opened` and gives `stream` gives `wanted` what it would get by itself. `opened`
 * counts only when it was opened by the same name: the plug layer gives what the hardware refuses.
 */
export const equals = (stream: PcmFormat, opened: PcmFormat, wanted: PcmFormat): boolean =>
  Math.max(stream.channels, opened.channels) >= wanted.channels &&
  [stream, opened].some((f) => f.rate === wanted.rate && f.format === wanted.format)

/** The stable ref of a card named by its id; undefined for everything else. */
export function refOf(key: string): string | undefined {
  const hit = /^alsa:hw:([^,]*[^\d,][^,]*),(\d+)$/.exec(key)
  return hit ? `hw:CARD=${hit[1]},DEV=${hit[2]}` : undefined
}
