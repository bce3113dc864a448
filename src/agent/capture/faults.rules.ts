import { type PcmFormat, SAMPLE_FORMATS, type SampleFormat } from '../audio/format.rules.ts'

const LOST =
  /input\/output error|no such device|device disconnected|device removed|cannot find card|unknown pcm|broken pipe|file descriptor in bad state/i
const BUSY_OR_ABSENT =
  /no such device|no such file or directory|cannot find card|unknown pcm|device or resource busy|jack server is not running/i

export type Fault = 'device_lost' | 'device_unavailable' | 'format_refused' | 'ended_early'

/** What an ending of a source says, from its exit and its words together. */
export function faultOf(code: number | undefined, stderr: string): Fault {
  if (
    /channels count non available|sample format non available|rate .*not available|broken configuration/i.test(stderr)
  )
    return 'format_refused'
  if (code !== undefined && BUSY_OR_ABSENT.test(stderr)) return 'device_unavailable'
  if (LOST.test(stderr)) return 'device_lost'
  return 'ended_early'
}

/** The rate the device really runs at, when arecord says it is another than asked. */
export function rateGot(stderr: string): number | undefined {
  const hit = /rate is not accurate \(requested = \d+ ?Hz, got = (\d+) ?Hz\)/i.exec(stderr)
  return hit ? Number(hit[1]) : undefined
}

/** Audio the device had no room for while nobody read it: arecord says so and goes on. */
export function overruns(stderr: string): { count: number; seconds: number } | undefined {
  const lengths = [...stderr.matchAll(/overrun!!! \(at least ([\d.]+) ms long\)/g)].map((hit) => Number(hit[1]))
  return lengths.length > 0 ? { count: lengths.length, seconds: lengths.reduce((a, b) => a + b) / 1000 } : undefined
}

const range = (text: string | undefined): [number, number] | undefined => {
  const numbers = text?.match(/\d+/g)?.map(Number)
  return numbers ? [numbers[0]!, numbers.at(-1)!] : undefined
}

const nearest = (asked: number, [least, most]: [number, number]): number => Math.min(Math.max(asked, least), most)

/** Wider before narrower: bits may be added, not taken. */
const BY_WIDTH: SampleFormat[] = ['S24_3LE', 'S24_LE', 'S32_LE', 'FLOAT_LE', 'S16_LE']

/**
 * What to open instead, from `arecord --dump-hw-params`: the smallest channel count that holds the asked ones
 * (or all there are), the asked format or the next that keeps its bits, the nearest rate.
 * Undefined when the text does not say, or offers what was just refused.
 */
export function negotiated(dump: string, asked: PcmFormat): PcmFormat | undefined {
  const line = (name: string) => new RegExp(`^${name}: *(.*)$`, 'm').exec(dump)?.[1]
  const channels = range(line('CHANNELS'))
  const rates = range(line('RATE'))
  const names = line('FORMAT')?.split(/\s+/) ?? []
  const formats = SAMPLE_FORMATS.filter((f) => names.includes(f))
  if (!channels || formats.length === 0) return undefined
  const format = formats.includes(asked.format) ? asked.format : BY_WIDTH.find((f) => formats.includes(f))!
  const rate = rates ? nearest(asked.rate, rates) : asked.rate
  const fits = nearest(asked.channels, channels)
  const next = { channels: fits, format, rate }
  const same = fits === asked.channels && format === asked.format && rate === asked.rate
  // Inside the range and refused all the same: the range has holes, its end is a count the device surely has.
  return same ? (channels[1] > fits ? { ...next, channels: channels[1] } : undefined) : next
}
