// All chance of a simulated world comes from one seed.

/** The same numbers for the same seed, on every machine (sfc32). */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0
    this.#b = (seed / 2 ** 32) | 0
    this.#c = stream | 0
    for (let n = 0; n < 15; n++) this.#next()
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return sum >>> 0
  }

  /** 0 <= x < 1. */
  unit(): number {
    return this.#next() / 2 ** 32
  }

  /** A whole number, both ends included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.unit() * (most - least + 1))
  }

  /** Between the two, mostly near `least`. */
  skewed(least: number, most: number): number {
    return least + (most - least) * this.unit() ** 4
  }

  chance(probability: number): boolean {
    return this.unit() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.whole(0, list.length - 1)] as T
  }

  fill(bytes: Uint8Array): void {
    for (let n = 0; n < bytes.length; n++) bytes[n] = this.#next()
  }
}
