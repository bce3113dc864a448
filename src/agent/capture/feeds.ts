// All open devices of this machine: each piece of hardware is opened only once, however many want it.
import type { CaptureBackend } from '../../wire/nodes.ts'
import { alsaCard } from '../inventory/alsa.rules.ts'
import type { Taker, Tap } from './feed.ts'
import { hardwareKey, mayCollide } from './hardware.rules.ts'
import { Slot, type SlotDeps, type Want } from './slot.ts'

interface FeedsDeps extends SlotDeps {
  /** Id of the card with that number now; undefined when there is none. */
  cardId?: (number: number) => Promise<string | undefined>
}

/** Owns all open devices. */
export class Feeds {
  readonly #deps: FeedsDeps
  readonly #slots = new Map<string, Slot>()
  #standby: Want | undefined
  #stopped = false

  constructor(deps: FeedsDeps) {
    this.#deps = deps
  }

  /** Key of a device's hardware. Card numbers are replaced by card IDs, because numbers change when cards are replugged. */
  async hardware(backend: CaptureBackend, device: string): Promise<string> {
    const found = backend === 'alsa' ? alsaCard(device) : undefined
    const numbered = found && /^\d+$/.test(found.card) ? found : undefined
    const id = numbered && (await this.#deps.cardId?.(Number(numbered.card)))
    return hardwareKey(backend, id ? `hw:CARD=${id},DEV=${numbered.device}` : device)
  }

  /** Starts taking: from the open device if that suits, else as soon as it can be opened. */
  take(want: Want, taker: Taker): Tap {
    const slot = this.#slot(want.hardware)
    slot.enter(taker, want)
    this.#placeStandby()
    return {
      drained: () => slot.drained(),
      release: async () => {
        const left = slot.leave(taker)
        this.#placeStandby()
        await left
      },
    }
  }

  /** Learns how many channels each interface has: devices are opened with all of them. */
  learn(interfaces: { channelCount: number; systemRef?: string | undefined }[]): void {
    for (const { channelCount, systemRef } of interfaces)
      if (systemRef?.startsWith('hw:')) this.#slot(hardwareKey('alsa', systemRef)).width = channelCount
  }

  /** What to keep open while nobody takes; undefined: nothing. Takes always come first. */
  standby(want: Want | undefined): void {
    this.#standby = want
    this.#placeStandby()
  }

  /**
   * Runs work that needs the hardware exclusively; takes wait for its end. Does nothing and resolves with undefined if the
   * device is open or wanted.
   */
  async spare<T>(hardware: string, work: () => Promise<T>): Promise<T | undefined> {
    const others = [...this.#slots].filter(([key]) => key !== hardware && mayCollide(key, hardware))
    if (others.some(([, slot]) => slot.used)) return undefined
    return this.#slot(hardware).spare(work)
  }

  /** Resolves when every device is released. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.standby(undefined)
    await Promise.all([...this.#slots.values()].map((slot) => slot.close()))
  }

  #slot(hardware: string): Slot {
    let slot = this.#slots.get(hardware)
    if (!slot) {
      slot = new Slot(this.#deps, () => this.#quiet(hardware))
      this.#slots.set(hardware, slot)
    }
    return slot
  }

  /** Closes the meters' device while a take may need the same card under another name. */
  #placeStandby(): void {
    const want = this.#stopped ? undefined : this.#standby
    const inTheWay = [...this.#slots].some(([key, slot]) => want && slot.wanted && mayCollide(key, want.hardware))
    if (want && !inTheWay) this.#slot(want.hardware)
    for (const [key, slot] of this.#slots) slot.standby(want && !inTheWay && key === want.hardware ? want : undefined)
  }

  /** Resolves when no idle device that may be the same card is still being closed. */
  async #quiet(hardware: string): Promise<void> {
    const rivals = [...this.#slots].filter(([key, slot]) => mayCollide(key, hardware) && !slot.wanted)
    await Promise.all(rivals.map(([, slot]) => slot.settled()))
  }
}
