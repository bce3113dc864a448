// What the open devices give, for everybody who listens along: meters, live audio. Takes do not go this way.
import type { PcmFormat } from '../audio/format.rules.ts'

/** One opening of one device. A device that was lost and is back, or runs in another format, is another opening. */
export interface Opening {
  /** As it was opened, `plughw:CARD=Desk,DEV=0` for example. */
  readonly device: string
  /** Layout of the stream: interleaved frames, S24_LE in four bytes. */
  readonly format: PcmFormat
  /** Stable system ref of the interface where it is known, else the device's name: what meter frames are about. */
  readonly interfaceRef: string
  /** A generator stands in for the microphone. */
  readonly test: boolean
}

export interface Listener {
  /**
   * Whole frames in order; `capturedAt`: Unix ms of the last of them. Called in the way of a capture: it returns at once,
   * never throws, and copies what it keeps, for the memory belongs to the take.
   */
  block(opening: Opening, frames: Buffer, capturedAt: number): void
  /** Frames the device lost at this place; a take has silence there. */
  gap?(opening: Opening, seconds: number): void
  opened?(opening: Opening): void
  /** No more of it. `fault`: words of the program that captured, when it was not closed on purpose. */
  closed?(opening: Opening, fault?: string): void
  /** A device that is wanted cannot be opened. */
  unavailable?(device: string, fault: string): void
}

/** The publishing side, for the capture; whoever subscribes late hears of what is open already. */
export interface SoundBus extends Required<Listener> {
  /** What is open now. */
  openings(): Opening[]
  /** Returns the way to stop listening. */
  subscribe(listener: Listener): () => void
}

/** `onFault`: what a listener threw, which hears nothing more: no meter may end a take. Default: nobody is told. */
export function createBus(onFault: (error: unknown) => void = () => undefined): SoundBus {
  const listeners = new Set<Listener>()
  const open = new Set<Opening>()
  const tell = (listener: Listener, news: (listener: Listener) => void) => {
    try {
      news(listener)
    } catch (e) {
      // In the way of a capture: it has to go on.
      listeners.delete(listener)
      onFault(e)
    }
  }
  const tellAll = (news: (listener: Listener) => void) => {
    for (const listener of listeners) tell(listener, news)
  }
  return {
    openings: () => [...open],
    subscribe: (listener) => {
      listeners.add(listener)
      for (const opening of open) tell(listener, (l) => l.opened?.(opening))
      return () => void listeners.delete(listener)
    },
    block: (opening, frames, capturedAt) => tellAll((l) => l.block(opening, frames, capturedAt)),
    gap: (opening, seconds) => tellAll((l) => l.gap?.(opening, seconds)),
    opened: (opening) => {
      open.add(opening)
      tellAll((l) => l.opened?.(opening))
    },
    closed: (opening, fault) => {
      open.delete(opening)
      tellAll((l) => l.closed?.(opening, fault))
    },
    unavailable: (device, fault) => tellAll((l) => l.unavailable?.(device, fault)),
  }
}
