// Opens the device of a scheduled take once before it begins, and tells the controller what is heard.
import { iso } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import type { NodeConfig } from '../../wire/nodes.ts'
import type { PlannedPreflight, SoundReading } from '../../wire/soundreadings.ts'
import type { Opening } from '../capture/bus.ts'
import type { Feeds } from '../capture/feeds.ts'
import type { Want } from '../capture/slot.ts'
import { createBell, type Service } from '../proc/bell.ts'
import type { Ear } from './ear.ts'
import type { SoundPoster } from './poster.ts'
import { PrintTally } from './tally.rules.ts'

interface PreflightDeps {
  ear: Ear
  feeds: Pick<Feeds, 'about' | 'visit'>
  log: Log
  /** The controller's time, Unix ms. */
  now: () => number
  poster: Pick<SoundPoster, 'post'>
  /** How long a device may take until it is heard, ms. */
  patienceMs?: number
  /** How the take will open its device. */
  want: (command: PlannedPreflight['command']) => Promise<Want>
}

/** As long as is listened. */
const LISTENED_SECONDS = 4
const PATIENCE_MS = 15_000
/** So shortly before its take nothing is opened any more. */
const LAST_MOMENT_MS = 30_000
/** A device that is in use is tried again. */
const AGAIN_MS = 20_000
/** Longest wait at once: the controller's clock may be set. */
const LONGEST_WAIT_MS = 60_000

const keyOf = ({ scheduleId, startsAt }: PlannedPreflight): string => `${scheduleId} ${startsAt}`

/** What became of one attempt to listen. */
type Outcome = { fault: string } | { tally: PrintTally } | 'in_use'

/** One preflight at a time, the earliest take first. Takes always come first: they end it at any moment. */
export class Preflights implements Service {
  readonly #bell = createBell()
  readonly #deps: PreflightDeps
  /** Those that were told, or were too late; only of what is still planned. */
  #done = new Set<string>()
  /** Not to be tried again before, Unix ms of the controller. */
  readonly #notBefore = new Map<string, number>()
  #planned: PlannedPreflight[] = []
  #running: Promise<void> = Promise.resolve()
  readonly #stopping = new AbortController()

  constructor(deps: PreflightDeps) {
    this.#deps = deps
  }

  /** An older controller plans none. */
  apply({ preflights = [] }: Pick<NodeConfig, 'preflights'>): void {
    this.#planned = preflights.toSorted((a, b) => a.startsAt.localeCompare(b.startsAt))
    const known = new Set(preflights.map(keyOf))
    this.#done = this.#done.intersection(known)
    for (const key of this.#notBefore.keys()) if (!known.has(key)) this.#notBefore.delete(key)
    this.#bell.ring()
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#bell.ring()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const due = this.#planned.filter((one) => !this.#done.has(keyOf(one)))
      const next = due.find((one) => this.#dueAt(one) <= this.#deps.now())
      if (next) await this.#attempt(next)
      else {
        const waits = due.map((one) => this.#dueAt(one) - this.#deps.now())
        await this.#bell.wait(Math.max(0, Math.min(LONGEST_WAIT_MS, ...waits)))
      }
    }
  }

  #dueAt(planned: PlannedPreflight): number {
    return Math.max(Date.parse(planned.listenAt), this.#notBefore.get(keyOf(planned)) ?? 0)
  }

  async #attempt(planned: PlannedPreflight): Promise<void> {
    const { log, now } = this.#deps
    const key = keyOf(planned)
    const left = Date.parse(planned.startsAt) - now()
    const outcome = left > LAST_MOMENT_MS ? await this.#outcome(planned) : undefined
    if (outcome === 'in_use') {
      this.#notBefore.set(key, now() + AGAIN_MS)
      return
    }
    this.#done.add(key)
    if (!outcome || this.#stopping.signal.aborted) return
    log.info('listened before a take', { scheduleId: planned.scheduleId, ...('fault' in outcome ? outcome : {}) })
    this.#deps.poster.post(this.#readingOf(planned, outcome), left)
  }

  #readingOf(planned: PlannedPreflight, outcome: Exclude<Outcome, 'in_use'>): SoundReading {
    const { scheduleId, startsAt } = planned
    const about = { heardAt: iso(Math.round(this.#deps.now())), scheduleId, startsAt }
    if ('fault' in outcome) return { kind: 'unopened', ...about, fault: outcome.fault.slice(-500) }
    const prints = outcome.tally.prints(planned.command.channels)
    if (prints.length === 0)
      return { kind: 'unopened', ...about, fault: 'the device has none of the channels of the take' }
    return { kind: 'preflight', ...about, prints, seconds: outcome.tally.seconds }
  }

  /** Undefined for a test tone, which says nothing about a room. */
  async #outcome({ command }: PlannedPreflight): Promise<Outcome | undefined> {
    try {
      const want = await this.#deps.want(command)
      return want.device.test ? undefined : await this.#listen(want)
    } catch (e) {
      this.#deps.log.warn('no preflight: the device cannot be opened as the take will', errorFields(e))
      return { fault: faultWords(e) }
    }
  }

  #listen(want: Want): Promise<Outcome> {
    const { ear, feeds, patienceMs = PATIENCE_MS } = this.#deps
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    const { signal } = this.#stopping
    const inUse = () => resolve('in_use')
    const leave = feeds.visit({ ...want, quiet: true }, inUse)
    if (!leave || signal.aborted) return Promise.resolve('in_use')
    const tally = new PrintTally()
    const silence = ear.listen((opening: Opening, slice) => {
      if (tally.seconds >= LISTENED_SECONDS || opening !== feeds.about(want.hardware).opening) return
      tally.add(slice)
      if (tally.seconds >= LISTENED_SECONDS) resolve({ tally })
    })
    const late = setTimeout(() => {
      const { fault } = feeds.about(want.hardware)
      resolve({ fault: fault ?? `nothing was heard within ${patienceMs / 1000} seconds` })
    }, patienceMs)
    signal.addEventListener('abort', inUse)
    return promise.finally(() => {
      clearTimeout(late)
      signal.removeEventListener('abort', inUse)
      silence()
      leave()
    })
  }
}
