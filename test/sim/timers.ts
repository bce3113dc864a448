// Puts the virtual clock in place of the machine's: timers, dates and chance of everything that is loaded afterwards.
import { scryptSync } from 'node:crypto'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import type { Time } from './time.ts'

const require = createRequire(import.meta.url)

/** What `setTimeout` and its like return. */
class Timer {
  readonly #arm: (timer: Timer) => ReturnType<Time['plan']>
  #entry: ReturnType<Time['plan']>

  constructor(arm: (timer: Timer) => ReturnType<Time['plan']>) {
    this.#arm = arm
    this.#entry = arm(this)
  }
  again(): void {
    this.#entry = this.#arm(this)
  }
  refresh(): this {
    this.close()
    this.again()
    return this
  }
  close(): this {
    this.#entry.cancelled = true
    return this
  }
  ref = (): this => this
  unref = (): this => this
  hasRef = (): boolean => true;
  [Symbol.dispose](): void {
    this.close()
  }
}

type Call = (...args: unknown[]) => void

const clear = (timer: unknown): void => {
  if (timer instanceof Timer) timer.close()
}

/** As Node has it: what is no sensible delay is one millisecond. */
const delay = (ms: unknown): number => (Number(ms) >= 1 && Number(ms) < 2 ** 31 ? Math.trunc(Number(ms)) : 1)

function timersOf(time: Time) {
  const after = (call: Call, ms?: unknown, ...args: unknown[]) =>
    new Timer(() => time.plan(delay(ms), () => call(...args)))
  const every = (call: Call, ms?: unknown, ...args: unknown[]) =>
    new Timer((timer) =>
      time.plan(delay(ms), () => {
        timer.again()
        call(...args)
      }),
    )
  const soon = (call: Call, ...args: unknown[]) => new Timer(() => time.plan(0, () => call(...args)))
  return {
    clearImmediate: clear,
    clearInterval: clear,
    clearTimeout: clear,
    setImmediate: soon,
    setInterval: every,
    setTimeout: after,
  }
}

function promisesOf(time: Time) {
  const pause = (ms: number, value: unknown, signal?: AbortSignal): Promise<unknown> =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const entry = time.plan(ms, () => {
        signal?.removeEventListener('abort', stop)
        resolve(value)
      })
      const stop = () => {
        entry.cancelled = true
        reject(
          Object.assign(new Error('The operation was aborted'), {
            cause: signal?.reason,
            code: 'ABORT_ERR',
            name: 'AbortError',
          }),
        )
      }
      signal?.addEventListener('abort', stop, { once: true })
    })
  return {
    setImmediate: (value?: unknown, options?: { signal?: AbortSignal }) => pause(0, value, options?.signal),
    setTimeout: (ms?: unknown, value?: unknown, options?: { signal?: AbortSignal }) =>
      pause(delay(ms), value, options?.signal),
  }
}

function datesOf(time: Time): DateConstructor {
  const Real = Date
  class VirtualDate extends Real {
    constructor(...args: unknown[]) {
      if (args.length === 0) super(time.wall())
      else super(...(args as [number]))
    }
    static override now(): number {
      return time.wall()
    }
    static override [Symbol.hasInstance](one: unknown): boolean {
      return Object.prototype.toString.call(one) === '[object Date]'
    }
  }
  return VirtualDate as DateConstructor
}

function chanceOf(time: Time) {
  const randomBytes = (size: number): Buffer => {
    const bytes = Buffer.alloc(size)
    time.random.fill(bytes)
    return bytes
  }
  const randomUUID = (): string => {
    const hex = randomBytes(16).toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
  }
  const randomInt = (least: number, most?: number): number =>
    most === undefined ? time.random.whole(0, least - 1) : time.random.whole(least, most - 1)
  return { randomBytes, randomInt, randomUUID }
}

/** At once, instead of on another thread, whose end no seed would decide. */
function hashingOf(time: Time) {
  const scrypt = (...args: unknown[]): void => {
    const done = args.pop() as (e: Error | null, key: Buffer) => void
    time.plan(50, () => done(null, scryptSync(...(args as Parameters<typeof scryptSync>))))
  }
  return { scrypt }
}

/** For good: this process has no other time any more. */
export function installTime(time: Time): void {
  const timers = timersOf(time)
  Object.assign(globalThis, timers, { Date: datesOf(time) })
  Object.assign(require('node:timers'), timers)
  Object.assign(require('node:timers/promises'), promisesOf(time))
  Object.assign(require('node:crypto'), chanceOf(time), hashingOf(time))
  performance.now = () => time.uptime()
  process.hrtime.bigint = () => BigInt(Math.round(time.uptime() * 1e6))
  Math.random = () => time.random.unit()
  AbortSignal.timeout = (ms) => {
    const abort = new AbortController()
    const late = () => abort.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
    time.plan(ms, late)
    return abort.signal
  }
  require('node:os').uptime = () => time.uptime() / 1000
  syncBuiltinESMExports()
}
