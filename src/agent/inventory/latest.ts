import type { Inventory } from './inventory.ts'

/** The devices as they were last listed. A change while they are being listed is not missed: they are listed again. */
export class LatestInventory {
  readonly #collect: () => Promise<Inventory>
  readonly #clock: { monotonic(): number }
  readonly #keepMs: number
  #changes = 0
  #collected: { at: number; changes: number; inventory: Inventory } | undefined

  /** A list is good for `keepMs`, unless `changed` is called. */
  constructor(collect: () => Promise<Inventory>, clock: { monotonic(): number }, keepMs: number) {
    this.#collect = collect
    this.#clock = clock
    this.#keepMs = keepMs
  }

  changed(): void {
    this.#changes++
  }

  async get(): Promise<Inventory> {
    const at = this.#clock.monotonic()
    const known = this.#collected
    if (known && known.changes === this.#changes && at - known.at < this.#keepMs) return known.inventory
    const changes = this.#changes
    const inventory = await this.#collect()
    this.#collected = { at, changes, inventory }
    return inventory
  }
}
