// All open devices of this machine: each piece of hardware is opened only once, however many want it.
import type { CaptureBackend } from '../../wire/nodes.ts'
import { alsaCard } from '../inventory/alsa.rules.ts'
import type { Opening } from './bus.ts'
import type { Taker, Tap } from './feed.ts'
import { hardwareKey, mayCollide } from './hardware.rules.ts'
import { Slot, type SlotDeps, type Want } from './slot.ts'

interface FeedsDeps extends SlotDeps {
  /** Id of the card with that number now; undefined when there is none. */
  cardId?: (number: number) => Promise<string | undefined>
}

/** Somebody who listens for a moment while nobody takes. */
interface Visit {
  /** A take needs the device: it is not his any more. */
  onTaken: () => void
  want: Want
}

/** Owns all open devices. */
export class Feeds {
  readonly #deps: FeedsDeps
  readonly #slots = new Map<string, Slot>()
  #standby: Want | undefined
  #stopped = false
  #visit: Visit | undefined

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
    this.#endVisit(want.hardware)
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
   * Keeps a device open for somebody who listens on the bus, unless a take has it or may need it under another name: then
   * undefined. A take that begins ends the visit and gets the device as it gets it from the meters. One visit at a time.
   * @returns what ends it
   */
  visit(want: Want, onTaken: () => void): (() => void) | undefined {
    const taken = [...this.#slots].some(
      ([key, slot]) => slot.wanted && (key === want.hardware || mayCollide(key, want.hardware)),
    )
    if (this.#stopped || this.#visit || taken) return undefined
    const visit = { onTaken, want }
    this.#visit = visit
    this.#placeStandby()
    return () => {
      if (this.#visit !== visit) return
      this.#visit = undefined
      this.#placeStandby()
    }
  }

  /** What the bus calls this hardware while it is open, and why it cannot be opened. */
  about(hardware: string): { fault?: string | undefined; opening?: Opening | undefined } {
    const slot = this.#slots.get(hardware)
    return { fault: slot?.fault, opening: slot?.opening }
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

  /** Closes what is open for the meters or a visit while a take may need the same card under another name. */
  #placeStandby(): void {
    const wants = this.#idleWants()
    for (const { hardware } of wants) this.#slot(hardware)
    for (const [key, slot] of this.#slots) slot.standby(wants.find(({ hardware }) => hardware === key))
  }

  #idleWants(): Want[] {
    const [standby, visit] = [this.#standby, this.#visit?.want]
    // A visitor listens to what the meters have open; what is closed he opens in his own way.
    const shared = standby?.hardware === visit?.hardware && standby && this.#slots.get(standby.hardware)?.opening
    const wanted = shared ? [standby] : [visit, standby].filter((want, i, all) => i === 0 || !inTheWay(all[0], want))
    const free = ({ hardware }: Want) =>
      ![...this.#slots].some(([key, slot]) => slot.wanted && mayCollide(key, hardware))
    return this.#stopped ? [] : wanted.filter((want) => want !== undefined).filter(free)
  }

  #endVisit(hardware: string): void {
    const visit = this.#visit
    if (!visit || (visit.want.hardware !== hardware && !mayCollide(visit.want.hardware, hardware))) return
    this.#visit = undefined
    visit.onTaken()
  }

  /** Resolves when no idle device that may be the same card is still being closed. */
  async #quiet(hardware: string): Promise<void> {
    const rivals = [...this.#slots].filter(([key, slot]) => mayCollide(key, hardware) && !slot.wanted)
    await Promise.all(rivals.map(([, slot]) => slot.settled()))
  }
}

/** Whether one of two idle wants has to wait for the other. */
const inTheWay = (first: Want | undefined, second: Want | undefined): boolean =>
  first !== undefined &&
  second !== undefined &&
  (first.hardware === second.hardware || mayCollide(first.hardware, second.hardware))
