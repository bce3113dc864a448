// A wall clock that can be put while programs run by it; the monotonic one is left alone.
import * as fs from 'node:fs'

const LIBRARY = fs.globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0]

/** Why no clock can be moved here; false when it can. */
export const immovable = (): string | false =>
  !LIBRARY && 'no clock to move without faketime: run scripts/setup --tests'

export class WallClock {
  readonly #file: string
  /** Seconds. */
  #ahead = 0

  constructor(file: string, ahead = 0) {
    this.#file = file
    this.put(ahead)
  }

  /** What it says now, Unix ms. */
  now(): number {
    return Date.now() + this.#ahead * 1000
  }

  /** Environment of the programs that live by it. */
  get env(): Record<string, string> {
    return {
      DONT_FAKE_MONOTONIC: '1',
      FAKETIME_NO_CACHE: '1',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      LD_PRELOAD: LIBRARY ?? '',
      NO_FAKE_STAT: '1',
    }
  }

  /** Ahead of where it is by so many seconds more. */
  put(seconds: number): void {
    this.#ahead += seconds
    fs.writeFileSync(`${this.#file}.new`, `${this.#ahead < 0 ? '-' : '+'}${Math.abs(this.#ahead)}`)
    fs.renameSync(`${this.#file}.new`, this.#file)
  }

  /** The true time again. */
  right(): void {
    this.put(-this.#ahead)
  }
}
