// Health events: written to the local log first, then sent in order; after an outage the rest of the log follows.
import * as fsp from 'node:fs/promises'
import { type Clock, iso } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import type { AgentHealthEvent } from '../../wire/nodes.ts'
import { type Link, LinkError } from '../link/link.ts'
import { backoffMs, createBell } from '../proc/bell.ts'
import type { Happening, Report } from './report.ts'
import { counterOf, type HealthStore, type StoredEvent } from './store.ts'

interface HealthOptions {
  clock: Clock
  /** Holds the number of the last event the controller accepted. */
  cursorFile: string
  link: Pick<Link, 'healthEvent'>
  log: Log
  nodeId: string
  /** Whether there is a token to send with. */
  online: () => boolean
  /** Until a disk that took nothing is tried again; default 10 s. */
  rewriteMs?: number
  store: HealthStore
}

/** Events that may wait for the disk. More than these during one write means something is looping. */
const MAX_WAITING_EVENTS = 1000
const MAX_DETAIL_CHARACTERS = 32_768
const BATCH = 50
const RETRY_MAX_MS = 30_000
const REWRITE_MS = 10_000

/** Details as plain JSON; details that cannot be serialized or are far too long must not stop the event itself. */
function plainDetails(details: Record<string, unknown> = {}): Record<string, unknown> {
  try {
    const text = JSON.stringify(details)
    return text.length > MAX_DETAIL_CHARACTERS ? { shortened: text.slice(0, 1000) } : JSON.parse(text)
  } catch {
    return { unreadable: true }
  }
}

/** The controller refuses events about an unknown recording or schedule; they are then sent without it. */
function withoutSubject({ recordingId, scheduleId, ...event }: AgentHealthEvent): AgentHealthEvent | undefined {
  if (recordingId === undefined && scheduleId === undefined) return undefined
  const subject = { ...(recordingId ? { recordingId } : {}), ...(scheduleId ? { scheduleId } : {}) }
  return { ...event, details: { ...event.details, ...subject } }
}

const LEVELS = { critical: 'error', info: 'info', warning: 'warn' } as const

type Timed = Happening & { at: number }

/** Owns the local health log and its delivery. */
export class Health {
  readonly #options: HealthOptions
  readonly #news = createBell()
  readonly #retry = createBell()
  readonly #idle = createBell()
  /** Retry-After of the controller, ms. */
  #pauseMs = 0
  /** While the disk takes nothing. */
  #rewrite: NodeJS.Timeout | undefined
  #counter = 0
  #cursor = 0
  /** Reported and not yet on disk: usually for a moment, on a full disk until there is room. */
  #unwritten: StoredEvent[] = []
  #early: Timed[] = []
  #started = false
  #leaving = false
  #stopping = false
  #writing: Promise<void> = Promise.resolve()
  #sending: Promise<void> = Promise.resolve()

  constructor(options: HealthOptions) {
    this.#options = options
  }

  readonly report: Report = (happening) => {
    const { clock, log } = this.#options
    const { details, recordingId, severity, type } = happening
    log[LEVELS[severity]](type, { ...plainDetails(details), recordingId })
    if (this.#unwritten.length + this.#early.length >= MAX_WAITING_EVENTS) return
    const timed = { ...happening, at: clock.now() }
    if (this.#started) this.#take(timed)
    else this.#early.push(timed)
  }

  /** The link is up again: tries at once. */
  nudge(): void {
    this.#retry.ring()
  }

  /** Finds where the log and its delivery ended, and starts sending what is missing. */
  async start(): Promise<void> {
    const { cursorFile, log, store } = this.#options
    const last = await store.open().catch((e) => {
      // Events are still sent from memory.
      log.warn('health log not opened', { error: faultWords(e) })
      return 0
    })
    this.#cursor = Number.parseInt(await fsp.readFile(cursorFile, 'utf8').catch(() => '0'), 10) || 0
    this.#counter = Math.max(last, this.#cursor)
    this.#started = true
    for (const happening of this.#early) this.#take(happening)
    this.#early = []
    this.#sending = this.#send()
  }

  /** Writes everything reported to disk and sends what it can within `graceMs`; the log keeps the rest. */
  async stop(graceMs: number): Promise<void> {
    this.#leaving = true
    clearTimeout(this.#rewrite)
    await this.#writeSoon()
    if (this.#started && this.#cursor < this.#counter && this.#options.online()) {
      this.#retry.ring()
      await this.#idle.wait(graceMs)
    }
    this.#stopping = true
    this.#news.ring()
    this.#retry.ring()
    const late = new Promise<'late'>((resolve) => setTimeout(resolve, graceMs, 'late').unref())
    // Still being read for sending: closed with the process.
    if ((await Promise.race([this.#sending, late])) === 'late') return
    await this.#options.store.close().catch((e) => this.#options.log.warn('health log not closed', errorFields(e)))
  }

  #take({ at, details, recordingId, severity, type }: Timed): void {
    const openedAt = iso(at)
    const number = ++this.#counter
    const id = `node_event_${this.#options.nodeId.slice(0, 100)}_${openedAt.replace(/[:.]/g, '-')}_${number}`
    const subject = recordingId ? { recordingId } : {}
    this.#unwritten.push({ details: plainDetails(details), id, openedAt, severity, type, ...subject })
    void this.#writeSoon()
  }

  /** Resolves when what is reported by now is written, or the disk has refused it. */
  #writeSoon(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    const { rewriteMs = REWRITE_MS, store } = this.#options
    // A copy: more may be reported while the disk works.
    const batch = [...this.#unwritten]
    if (batch.length === 0) return
    clearTimeout(this.#rewrite)
    try {
      await store.append(batch)
      this.#unwritten = this.#unwritten.slice(batch.length)
      this.#rewrite = undefined
    } catch (e) {
      // A full or read-only disk: the events stay in memory, are sent from there, and written when there is room.
      if (this.#rewrite === undefined) this.#tellUnwritten(e)
      if (!this.#leaving) this.#rewrite = setTimeout(() => void this.#writeSoon(), rewriteMs)
    }
    this.#news.ring()
  }

  #tellUnwritten(e: unknown): void {
    const details = { error: faultWords(e), waiting: this.#unwritten.length }
    const message = 'health events could not be written and are kept in memory: check the disk of the agent directory'
    this.#options.log.warn(message, details)
  }

  async #next(): Promise<StoredEvent[]> {
    const { log, store } = this.#options
    const stored = await store.after(this.#cursor, BATCH).catch((e) => {
      // Events in memory can still be sent.
      log.warn('health log not read', { error: faultWords(e) })
      return []
    })
    if (stored.length > 0) return stored
    return this.#unwritten.filter((event) => counterOf(event) > this.#cursor).slice(0, BATCH)
  }

  /** Whether the event is settled: accepted, or refused for good. */
  async #deliver(event: AgentHealthEvent): Promise<boolean> {
    const { link, log } = this.#options
    try {
      await link.healthEvent(event)
      return true
    } catch (e) {
      if (!(e instanceof LinkError)) throw e
      const general = e.status === 403 || e.status === 404 ? withoutSubject(event) : undefined
      if (general) return this.#deliver(general)
      this.#pauseMs = e.retryAfterMs
      if (e.status !== 400 && e.status !== 413 && e.status !== 422) return false
      const fields = { id: event.id, error: e.message }
      log.warn('health event refused by the controller: kept in the local log only', fields)
      return true
    }
  }

  async #advance(to: number): Promise<void> {
    const { cursorFile, log } = this.#options
    this.#cursor = to
    try {
      await fsp.writeFile(`${cursorFile}.new`, `${to}\n`)
      await fsp.rename(`${cursorFile}.new`, cursorFile)
    } catch (e) {
      // Costs a duplicate after the next start, which the controller recognises by its ID (docs/contract/agent.md: Health
      // events).
      log.debug('health cursor not written', { error: faultWords(e) })
    }
  }

  async #send(): Promise<void> {
    for (let failures = 0; !this.#stopping; ) {
      const batch = await this.#next()
      if (batch.length === 0) {
        this.#idle.ring()
        await this.#news.wait()
        continue
      }
      const settled = await this.#sendBatch(batch)
      failures = settled > 0 ? 0 : failures
      if (settled === batch.length || this.#stopping) continue
      failures++
      this.#idle.ring()
      await this.#retry.wait(Math.max(backoffMs(failures, RETRY_MAX_MS, Math.random()), this.#pauseMs))
      this.#pauseMs = 0
    }
  }

  /** How many of the batch, from its beginning, are settled. */
  async #sendBatch(batch: StoredEvent[]): Promise<number> {
    let settled = 0
    for (const event of batch) {
      if (this.#stopping || !this.#options.online() || !(await this.#deliver(event))) break
      await this.#advance(counterOf(event))
      settled++
    }
    return settled
  }
}
