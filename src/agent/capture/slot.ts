import type { Clock } from '../../kernel/clock.ts'
import type { PcmFormat } from '../audio/format.rules.ts'
import type { Opening, SoundBus } from './bus.ts'
import { Feed, type FeedSettings, type Taker } from './feed.ts'
import { equals, shares } from './hardware.rules.ts'
import type { Device } from './source.ts'

/** How a taker wants a device opened. */
export interface Want {
  asked: PcmFormat
  device: Device
  /** Key of the hardware (hardwareKey). */
  hardware: string
  /** Program and arguments: another way of opening gives another stream. */
  how: string
  /** What the bus calls the device: its stable ref. */
  interfaceRef: string
  /** Whoever wants it tells of it himself when it cannot be opened: the bus does not. */
  quiet?: true
}

export interface SlotDeps {
  bus: SoundBus
  clock: Clock
  settings: FeedSettings
}

/** One piece of hardware: who wants it, and the single feed that has it open. */
export class Slot {
  readonly #deps: SlotDeps
  /** Number of channels of the hardware; 0 while unknown. */
  width = 0
  readonly #quiet: () => Promise<void>
  readonly #wants = new Map<Taker, Want>()
  /** Pending while the device is being closed or lent. */
  #busy: Promise<unknown> | undefined
  #feed: Feed | undefined
  /** How the open feed was opened. */
  #opened: Want | undefined
  #refusing: NodeJS.Timeout | undefined
  #standby: Want | undefined

  /** `quiet`: resolves when no other name of the same hardware is in the way. */
  constructor(deps: SlotDeps, quiet: () => Promise<void>) {
    this.#deps = deps
    this.#quiet = quiet
  }

  /** Whether a take needs the hardware. */
  get wanted(): boolean {
    return this.#wants.size > 0
  }

  get used(): boolean {
    return this.wanted || this.#feed !== undefined || this.#busy !== undefined
  }

  /** What the bus calls the open device. */
  get opening(): Opening | undefined {
    return this.#feed?.opening
  }

  /** Why the device is not open though it should be. */
  get fault(): string | undefined {
    return this.#feed?.fault
  }

  enter(taker: Taker, want: Want): void {
    this.#wants.set(taker, want)
    // Deferred: the caller does not have its tap yet, and an idle feed of the same hardware must be closed first.
    this.#block(this.#quiet)
  }

  /** Resolves when the device is released, if nobody else takes from it. */
  async leave(taker: Taker): Promise<void> {
    const feed = this.#feed
    if (!this.#wants.delete(taker)) return
    feed?.takers.delete(taker)
    feed?.drained()
    this.#settle()
    if (feed && feed !== this.#feed) await this.settled()
  }

  drained(): void {
    this.#feed?.drained()
  }

  standby(want: Want | undefined): void {
    if (this.#standby === want) return
    this.#standby = want
    this.#settle()
  }

  /** Resolves when the device is neither being closed nor lent. */
  async settled(): Promise<void> {
    while (this.#busy) await this.#busy
  }

  async spare<T>(work: () => Promise<T>): Promise<T | undefined> {
    while (this.#busy) await this.#busy
    if (this.#feed || this.wanted) return undefined
    let result: T | undefined
    await this.#block(async () => {
      result = await work()
    })
    return result
  }

  async close(): Promise<void> {
    clearTimeout(this.#refusing)
    this.#wants.clear()
    this.#standby = undefined
    this.#settle()
    await this.settled()
  }

  /** Runs one piece of work at a time, then settles again. Rejects as the work does. */
  #block(work: () => Promise<void>): Promise<void> {
    const before = this.#busy
    const done = (async () => {
      await before
      await work()
    })()
    const after = () => {
      if (this.#busy !== over) return
      this.#busy = undefined
      this.#settle()
    }
    const over: Promise<void> = done.then(after, after)
    this.#busy = over
    return done
  }

  /** Opens, shares or closes the device according to what is wanted. */
  #settle(): void {
    if (this.#busy) return
    const waiting = [...this.#wants].filter(([taker]) => !this.#feed?.takers.has(taker))
    if (!this.#feed) this.#open(waiting)
    const left = waiting.filter(([taker, want]) => !this.#attach(taker, want))
    if (left.length > 0) this.#refuseOrReplace(left)
    else if (this.#feed && this.#feed.takers.size === 0 && !this.#idles()) this.#closeFeed()
  }

  #open(waiting: [Taker, Want][]): void {
    const want = waiting[0]?.[1] ?? this.#standby
    if (!want) return
    // All who ask for the same at the same time are served: as many channels as the widest of them needs.
    const alike = waiting.map(([, w]) => w).filter((w) => w.how === want.how && sameSamples(w, want))
    const needed = Math.max(want.asked.channels, ...alike.map((w) => w.asked.channels))
    const { bus, clock, settings } = this.#deps
    const { device, interfaceRef, quiet } = want
    // All channels it has, so that later takes find theirs. Each take keeps only what it asked for.
    const asked = { ...want.asked, channels: Math.max(needed, this.width) }
    this.#opened = want
    const told = quiet ? { ...bus, unavailable: () => undefined } : bus
    this.#feed = new Feed({ asked, bus: told, clock, device, interfaceRef, needed, settings })
  }

  /** Attaches a taker to the open device if that suits it; says whether it did. */
  #attach(taker: Taker, want: Want): boolean {
    const feed = this.#feed!
    if (want !== this.#opened && !this.#serves(taker, want)) return false
    const [asked, got] = [want.asked, feed.stream]
    // A later taker was not there when the format was negotiated.
    if (asked.format !== got.format || asked.rate !== got.rate)
      taker.told('warning', 'capture_format_adjusted', { asked, got })
    feed.add(taker)
    return true
  }

  #serves(taker: Taker, { asked, device, how }: Want): boolean {
    const [feed, opened] = [this.#feed!, this.#opened!]
    const { stream } = feed
    if (how !== opened.how || !taker.suits(stream)) return false
    // An idle device that delivers nothing is reopened by the name the take knows.
    const idle = feed.takers.size === 0
    if (idle && !feed.live) return false
    const same = equals(stream, device.name === opened.device.name ? feed.asked : stream, asked)
    return same || (!idle && shares(stream, asked))
  }

  /** Reopens a device that is idle or never delivered a sample; running takes are not disturbed. */
  #refuseOrReplace(left: [Taker, Want][]): void {
    const feed = this.#feed!
    const wider = left.some(([, w]) => w.how === this.#opened!.how && sameSamples(w, this.#opened!))
    if (feed.takers.size === 0 || (!feed.begun && wider)) {
      this.#closeFeed()
      return
    }
    const { channels, format, rate } = feed.stream
    const said = `the device is open for another take: ${channels} channels, ${format}, ${rate} Hz`
    for (const [taker, { device }] of left)
      taker.failed({ code: undefined, device: device.name, fault: 'device_unavailable', said })
    clearTimeout(this.#refusing)
    this.#refusing = setTimeout(() => this.#settle(), this.#deps.settings.retryPauseSeconds * 1000)
  }

  /** Whether the open device is what the meters want. */
  #idles(): boolean {
    const [standby, feed] = [this.#standby, this.#feed!]
    return standby?.how === this.#opened!.how && standby !== undefined && equals(feed.stream, feed.asked, standby.asked)
  }

  #closeFeed(): void {
    const feed = this.#feed
    if (!feed) return
    this.#feed = this.#opened = undefined
    void this.#block(() => feed.close())
  }
}

const sameSamples = (a: Want, b: Want): boolean => a.asked.rate === b.asked.rate && a.asked.format === b.asked.format
