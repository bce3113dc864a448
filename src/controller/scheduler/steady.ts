import type { Clock } from '../../kernel/clock.ts'

// A larger step of the wall clock is a jump; smaller ones, as a time server makes them, are followed at once.
const JUMP_MS = 500

/** A jump of the wall clock. */
export interface Jump {
  /** What the clock said before it. */
  before: string
  /** Later (or, below zero, earlier) by so many ms. */
  by: number
  /** What it says now. */
  now: string
}

/**
 * The controller's clock. It runs with the monotonic clock, so that no code sees the wall clock jump. The clock watch
 * calls `jump`, shifts what is stored, and then lets this clock `follow`.
 */
export class SteadyClock implements Clock {
  private readonly machine: Clock
  /** Wall clock minus monotonic clock, ms. */
  private ahead: number

  constructor(machine: Clock) {
    this.machine = machine
    this.ahead = machine.now() - machine.monotonic()
  }

  now = (): number => Math.floor(this.machine.monotonic() + this.ahead)
  monotonic = (): number => this.machine.monotonic()

  /** By how much the wall clock has jumped, ms; 0 when it has not. Small steps are followed here. */
  jump(): number {
    const by = this.machine.now() - this.machine.monotonic() - this.ahead
    if (Math.abs(by) >= JUMP_MS) return Math.round(by)
    this.ahead += by
    return 0
  }

  /** Moves `now` by so many ms. */
  follow(by: number): void {
    this.ahead += by
  }
}
