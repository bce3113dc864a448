import { Readable } from 'node:stream'
import type { Clock } from '../../kernel/clock.ts'
import { type PcmFormat, streamFrameBytes, streamSampleBytes } from '../audio/format.rules.ts'
import type { Source, SourceEnd } from './source.ts'

const TICK_MS = 20
/** Peak of each tone: -12 dBFS. */
const PEAK = 10 ** (-12 / 20)

interface ToneOptions {
  /** Fails like a lost device after so many seconds of audio. */
  failAfter?: number
  /** Faster than real time. */
  speed: number
  /** Goes silent, without ending, after so many seconds of audio. */
  stallAfter?: number
}

export const isTestDevice = (device: string): boolean => device.startsWith('test:')

/** `test:speed=10,fail-after=2`; a bare word, as in `test:tone`, only names the source. Throws on an option it does not know. */
export function toneOptions(device: string): ToneOptions {
  const options: ToneOptions = { speed: 1 }
  for (const word of device.slice('test:'.length).split(',').filter(Boolean)) {
    if (!word.includes('=')) continue
    const [key, value] = word.split('=')
    const number = Number(value)
    if (!(number > 0)) throw new Error(`test source: ${word} is not a positive number`)
    if (key === 'speed') options.speed = number
    else if (key === 'fail-after') options.failAfter = number
    else if (key === 'stall-after') options.stallAfter = number
    else throw new Error(`test source: unknown option ${key}`)
  }
  return options
}

function putSample(out: Buffer, at: number, value: number, format: PcmFormat['format']): void {
  if (format === 'S16_LE') out.writeInt16LE(Math.round(value * 0x7fff), at)
  else if (format === 'S24_3LE') out.writeIntLE(Math.round(value * 0x7fffff), at, 3)
  else if (format === 'S24_LE') out.writeInt32LE(Math.round(value * 0x7fffff), at)
  else if (format === 'S32_LE') out.writeInt32LE(Math.round(value * 0x7fffffff), at)
  else out.writeFloatLE(value, at)
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** One period of all tones together: channel n (from 1) carries 100 n Hz. A function of the sample index alone. */
export function tonePeriod(f: PcmFormat): Buffer {
  const frames = f.rate / gcd(f.rate, 100)
  const size = streamSampleBytes(f.format)
  const out = Buffer.alloc(frames * streamFrameBytes(f))
  for (let frame = 0; frame < frames; frame++)
    for (let channel = 0; channel < f.channels; channel++) {
      const turns = ((100 * (channel + 1) * frame) % f.rate) / f.rate
      putSample(out, (frame * f.channels + channel) * size, PEAK * Math.sin(2 * Math.PI * turns), f.format)
    }
  return out
}

/** Frames `from`..`to` of the endless tone. */
function tones(period: Buffer, frameBytes: number, from: number, to: number): Buffer {
  const out = Buffer.allocUnsafe((to - from) * frameBytes)
  let source = (from * frameBytes) % period.length
  for (let at = 0; at < out.length; source = 0) at += period.copy(out, at, source)
  return out
}

/**
 * A microphone for machines without one. Paced by the monotonic clock: at any moment it has given exactly the
 * samples that are due, however late a timer fires.
 */
export function toneSource(f: PcmFormat, options: ToneOptions, clock: Clock): Source {
  const period = tonePeriod(f)
  const frameBytes = streamFrameBytes(f)
  const started = clock.monotonic()
  const last = Math.round(Math.min(options.failAfter ?? Infinity, options.stallAfter ?? Infinity) * f.rate)
  const pcm = new Readable({ highWaterMark: 1 << 20, read: () => {} })
  const end = Promise.withResolvers<SourceEnd>()
  let sent = 0
  let over = false
  const finish = (result: SourceEnd) => {
    if (over) return
    over = true
    clearInterval(timer)
    pcm.push(null)
    end.resolve(result)
  }
  const tick = () => {
    const due = Math.min(last, Math.floor(((clock.monotonic() - started) / 1000) * options.speed * f.rate))
    while (sent < due && pcm.readableLength < pcm.readableHighWaterMark) {
      const to = Math.min(due, sent + Math.max(1, Math.floor(65_536 / frameBytes)))
      pcm.push(tones(period, frameBytes, sent, to))
      sent = to
    }
    if (sent === last && options.failAfter !== undefined)
      finish({ code: 1, stderr: 'test source: read error: No such device', stopped: false })
  }
  const timer = setInterval(tick, TICK_MS)
  const stop = () => finish({ code: 0, stderr: '', stopped: true })
  return { ended: end.promise, kill: stop, pcm, stderr: () => '', stop }
}
