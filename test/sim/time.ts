// The virtual clock: everything that waits in a simulated world waits in one queue, and time is what its next entry says.
import { Random } from './random.ts'

/** One run of one program: what it had planned never happens once it is dead. */
export interface Life {
  dead: boolean
  machine: Machine
  name: string
}

/** A computer of the simulated site. */
export interface Machine {
  /** Another one after each start of the machine. */
  boot: number
  bootedAt: number
  name: string
  /** How far its wall clock is ahead of the true time, ms. */
  clockAheadMs: number
}

interface Entry {
  at: number
  cancelled: boolean
  life: Life | undefined
  order: number
  run: () => void
}

const realImmediate = setImmediate
/** All that follows from what was just done without any waiting is done when this resolves. */
const settled = (): Promise<void> => new Promise((resolve) => realImmediate(resolve))

/** Earlier first; of the same moment, what was planned first. */
const before = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

/** Holds the queue; there is one per world. Times are ms of true time since the world began. */
export class Time {
  now = 0
  /** Whose code is running; undefined: the world's own. */
  current: Life | undefined
  /** What a program threw that nobody caught: it would have ended there. */
  onCrash: (life: Life | undefined, error: unknown) => void = (_, error) => {
    throw error
  }
  /** A number that differs when anything at all happened otherwise. */
  trace = 0
  steps = 0
  /** Unix ms when the world began. */
  epoch = 0
  random = new Random(0)
  #queue: Entry[] = []
  #order = 0

  /** The next world: nothing of the one before will happen any more. */
  begin(epoch: number, seed: number): void {
    this.epoch = epoch
    this.random = new Random(seed)
    this.now = this.trace = this.steps = this.#order = 0
    this.#queue = []
  }

  /** How much waits. */
  get waiting(): number {
    return this.#queue.length
  }

  /** Unix ms, as the machine whose code runs has it. */
  wall(machine = this.current?.machine): number {
    return Math.floor(this.epoch + this.now + (machine?.clockAheadMs ?? 0))
  }

  /** Ms since the machine whose code runs was started. */
  uptime(): number {
    return this.now - (this.current?.machine.bootedAt ?? 0)
  }

  /** Plans `run` in so many ms, as part of a life; returns what cancels it. */
  plan(ms: number, run: () => void, life = this.current): Entry {
    const entry = { at: this.now + Math.max(0, ms), cancelled: false, life, order: this.#order++, run }
    this.#add(entry)
    return entry
  }

  /** Resolves in so many ms, for the life that asks. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.plan(ms, resolve))
  }

  /** Lets the world run until then. */
  async runUntil(end: number): Promise<void> {
    for (let next = this.#queue[0]; next && next.at <= end; next = this.#queue[0]) {
      this.#take()
      if (next.cancelled || next.life?.dead) continue
      this.now = Math.max(this.now, next.at)
      await this.#step(next)
    }
    this.now = Math.max(this.now, end)
  }

  async #step({ life, run }: Entry): Promise<void> {
    this.steps++
    this.trace = (Math.imul(this.trace, 31) + this.now * 1000 + (life?.name.length ?? 0)) | 0
    this.current = life
    try {
      run()
    } catch (e) {
      this.onCrash(life, e)
    }
    await settled()
    this.current = undefined
  }

  #add(entry: Entry): void {
    const queue = this.#queue
    let at = queue.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(entry, queue[parent]!)) break
      queue[at] = queue[parent]!
      at = parent
    }
    queue[at] = entry
  }

  #take(): void {
    const queue = this.#queue
    const last = queue.pop()!
    if (queue.length === 0) return
    let at = 0
    for (let child = 1; child < queue.length; child = 2 * at + 1) {
      if (child + 1 < queue.length && before(queue[child + 1]!, queue[child]!)) child++
      if (!before(queue[child]!, last)) break
      queue[at] = queue[child]!
      at = child
    }
    queue[at] = last
  }
}
