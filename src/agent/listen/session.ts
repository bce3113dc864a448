import type { Clock } from '../../kernel/clock.ts'
import type { Listener, Opening, SoundBus } from '../capture/bus.ts'
import type { Report } from '../health/report.ts'
import type { Link } from '../link/link.ts'
import type { Demand } from './demand.rules.ts'
import type { EnhancedRun, LiveEnhancer } from './enhancer.ts'
import { createMonitor, type Monitor } from './monitor.ts'
import { Outbox } from './outbox.ts'
import { LIVE_RATE, msOf, type Piece } from './pieces.rules.ts'

export interface SessionDeps {
  bus: SoundBus
  clock: Clock
  enhancer: LiveEnhancer
  /** How often to send a piece to a controller that does not say whether anybody listens. */
  heartbeatMs: number
  link: Pick<Link, 'listenChunk'>
  report: Report
}

/** One open device that is listened to. */
interface Hearing {
  monitor: Monitor
  opening: Opening
}

/** Exists while somebody listens, as long as they want the same pieces. */
export class ListenSession {
  readonly #deps: SessionDeps
  readonly #kind: Pick<Demand, 'pieceMs' | 'raw'>
  readonly #enhanced: Outbox
  readonly #raw: Outbox
  #hearing: Hearing | undefined
  #lastPut = Number.NEGATIVE_INFINITY
  /** System ref of the device heard first: it is heard again once it is reopened. */
  #preferred: string | undefined
  #unsubscribe: (() => void) | undefined
  #wantsEnhanced = false

  constructor(deps: SessionDeps, kind: Pick<Demand, 'pieceMs' | 'raw'>) {
    this.#deps = deps
    this.#kind = kind
    const { clock, link, report } = deps
    // Makes no pieces while none gets through; the last waiting one shows when the connection is back.
    const onStuck = (stuck: boolean) => (stuck ? this.#pause() : this.#listen())
    this.#raw = new Outbox({ clock, link, onStuck, rendition: 'raw', report })
    this.#enhanced = new Outbox({ clock, link, onStuck: () => undefined, rendition: 'enhanced', report })
    this.#listen()
  }

  /** Whether the demand can be met without starting over. */
  suits({ pieceMs, raw }: Demand): boolean {
    return pieceMs === this.#kind.pieceMs && raw === this.#kind.raw
  }

  want(enhanced: boolean): void {
    this.#wantsEnhanced = enhanced
    this.#deps.enhancer.want(enhanced && this.#unsubscribe !== undefined)
  }

  /** Resolves once nothing is under way. */
  async stop(): Promise<void> {
    this.#pause()
    await Promise.all([this.#raw.stop(), this.#enhanced.stop()])
  }

  #listen(): void {
    const { bus } = this.#deps
    const listener: Listener = {
      block: (opening, frames, capturedAt) => {
        if (opening === this.#hearing?.opening) this.#hearing.monitor.block(frames, capturedAt)
      },
      closed: () => this.#choose(),
      gap: (opening, seconds) => {
        if (opening === this.#hearing?.opening) this.#hearing.monitor.gap(seconds)
      },
      opened: () => this.#choose(),
    }
    this.#unsubscribe = bus.subscribe(listener)
    this.want(this.#wantsEnhanced)
  }

  #pause(): void {
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.#deps.enhancer.want(false)
    this.#hear(undefined)
  }

  /** The device heard first, else the one that is open longest: as a rule the one that is metered. */
  #choose(): void {
    const openings = this.#deps.bus.openings()
    const opening = openings.find(({ interfaceRef }) => interfaceRef === this.#preferred) ?? openings[0]
    if (opening !== this.#hearing?.opening) this.#hear(opening)
  }

  #hear(opening: Opening | undefined): void {
    this.#hearing?.monitor.end()
    this.#hearing = undefined
    if (!opening) return
    this.#preferred ??= opening.interfaceRef
    const { pieceMs } = this.#kind
    const run: EnhancedRun = {
      onCut: (cut) => this.#enhanced.put(monitor.stamped(cut)),
      pieceSamples: (pieceMs * LIVE_RATE) / 1000,
    }
    const monitor = createMonitor(opening, pieceMs, {
      full: (samples, index) => this.#deps.enhancer.push(run, samples, index),
      piece: (piece) => this.#put(piece),
    })
    this.#hearing = { monitor, opening }
  }

  #put(piece: Piece): void {
    const { clock, heartbeatMs } = this.#deps
    const now = clock.monotonic()
    if (this.#kind.raw === 'samples' && now - this.#lastPut < heartbeatMs - msOf(piece.pcm.length) / 2) return
    this.#lastPut = now
    this.#raw.put(piece)
  }
}
