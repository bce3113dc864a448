// A room to listen to: a bus with sound on it, a link that keeps what is sent, and the service between them.

import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PcmFormat, streamFrameBytes } from '../../../src/agent/audio/format.rules.ts'
import { createBus, type Opening } from '../../../src/agent/capture/bus.ts'
import { tonePeriod } from '../../../src/agent/capture/tones.ts'
import { EMBEDDED_MODEL } from '../../../src/agent/enhance/model.rules.ts'
import type { Happening } from '../../../src/agent/health/report.ts'
import type { LiveChunk } from '../../../src/agent/link/link.ts'
import { Listen, type ListenDeps } from '../../../src/agent/listen/listen.ts'
import type { NodeConfig } from '../../../src/wire/nodes.ts'

/** What a controller says: `undefined` where it does not know of live audio. */
export const asked = (listening: boolean | undefined, enhanced = false): NodeConfig => ({
  ...(listening === undefined ? {} : { liveListen: { requested: listening } }),
  monitorEnhancement: { engine: 'deepfilternet3', requested: enhanced },
  recorderCachePolicies: [],
  recordingCapacity: { maxConcurrentRecordings: 1 },
})

export const STEREO: PcmFormat = { channels: 2, format: 'S16_LE', rate: 48_000 }
export const openingOf = (interfaceRef: string, format = STEREO): Opening => ({
  device: `plug${interfaceRef}`,
  format,
  interfaceRef,
  test: true,
})

/** Resolves when it is so; a test that waits in vain is ended by the runner. */
export async function until(what: () => boolean): Promise<void> {
  while (!what()) await sleep(5)
}

export class Room {
  readonly bus = createBus()
  readonly events: Happening[] = []
  readonly sent: LiveChunk[] = []
  readonly listen: Listen
  /** What a request meets on its way. */
  way: (chunk: LiveChunk, signal: AbortSignal | undefined) => Promise<void> = async () => {}
  /** ms of the world; goes on with the sound. */
  now = 1_800_000_000_000
  subscriptions = 0
  readonly #place = new Map<Opening, number>()

  constructor(t: TestContext, more: Partial<ListenDeps> = {}) {
    const { bus } = this
    const subscribe: typeof bus.subscribe = (listener) => {
      this.subscriptions++
      const end = bus.subscribe(listener)
      return () => {
        this.subscriptions--
        end()
      }
    }
    this.listen = new Listen({
      bus: { ...bus, subscribe },
      clock: { monotonic: () => this.now, now: () => this.now },
      heartbeatMs: 5000,
      link: {
        listenChunk: async (chunk, signal) => {
          await this.way(chunk, signal)
          this.sent.push(chunk)
        },
      },
      model: EMBEDDED_MODEL,
      report: (happening) => this.events.push(happening),
      ...more,
    })
    this.listen.start()
    t.after(() => this.listen.stop())
  }

  get types(): string[] {
    return this.events.map(({ type }) => type.replace('agent.listen_monitor.', ''))
  }

  /** What one rendition sounds like, put together. */
  heard(rendition: LiveChunk['rendition'] = 'raw'): number[] {
    return this.sent.filter((chunk) => chunk.rendition === rendition).flatMap((chunk) => [...pcmOf(chunk)])
  }

  /** Everything that could go has gone. */
  async settle(): Promise<void> {
    for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve))
  }

  /** The next of the test tones, in blocks of 20 ms. */
  play(opening: Opening, seconds: number): void {
    const period = tonePeriod(opening.format)
    const frame = streamFrameBytes(opening.format)
    const size = (opening.format.rate / 50) * frame
    for (let n = 0; n < Math.round(seconds * 50); n++) {
      const at = this.#place.get(opening) ?? 0
      const twice = Buffer.concat(Array(Math.ceil(size / period.length) + 1).fill(period))
      this.sound(opening, twice.subarray(at, at + size))
      this.#place.set(opening, (at + size) % period.length)
    }
  }

  /** Whole frames that come this moment. */
  sound(opening: Opening, frames: Buffer): void {
    this.now += (frames.length / streamFrameBytes(opening.format) / opening.format.rate) * 1000
    this.bus.block(opening, frames, this.now)
  }
}

export const pcmOf = ({ audio }: LiveChunk): Int16Array => new Int16Array(Uint8Array.from(audio.subarray(44)).buffer)
