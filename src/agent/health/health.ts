// Health events: written to the local log first, then sent in order; after an outage the rest of the log follows.
import * as fsp from 'node:fs/promises'
import { type Clock, iso } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { AgentHealthEvent } from '../../wire/nodes.ts'
import { type Link, LinkError } from '../link/link.ts'
import { backoffMs, createBell } from '../proc/bell.ts'
import type { Happening, Report } from './report.ts'
import { counterOf, type HealthStore, type StoredEvent } from './store.ts'

export interface HealthOptions {
  clock: Clock
  /** Holds the number of the last event the controller took. */
  cursorFile: string
  link: Pick<Link, 'healthEvent'>
  log: Log
  nodeId: string
  /** Whether there is a token to send with. */
  online: () => boolean
  store: HealthStore
}

/** Owner of the local health log and of its delivery. */
export interface Health {
  report: Report
  /** The link is up again: do not wait for the next attempt. */
  nudge(): void
  start(): Promise<void>
  /** Everything reported is on disk; what the controller took within `graceMs` is sent. */
  stop(graceMs: number): Promise<void>
}

/** Events that wait for the disk. More than these within one write means something is looping. */
const MOST_WAITING = 1000
const MOST_DETAIL_CHARACTERS = 32_768
const BATCH = 50
const RETRY_MAX_MS = 30_000

/** Details as JSON will have them; what cannot be told, or is far too long, must not stop the event itself. */
function plainDetails(details: Record<string, unknown> = {}): Record<string, unknown> {
  try {
    const text = JSON.stringify(details)
    return text.length > MOST_DETAIL_CHARACTERS ? { shortened: text.slice(0, 1000) } : JSON.parse(text)
  } catch {
    return { unreadable: true }
  }
}

/** The controller refuses an event about a recording or schedule it does not know (any more): then without it. */
function withoutSubject({ recordingId, scheduleId, ...event }: AgentHealthEvent): AgentHealthEvent | undefined {
  if (recordingId === undefined && scheduleId === undefined) return undefined
  const subject = { ...(recordingId ? { recordingId } : {}), ...(scheduleId ? { scheduleId } : {}) }
  return { ...event, details: { ...event.details, ...subject } }
}

export function createHealth(options: HealthOptions): Health {
  const { clock, cursorFile, link, log, nodeId, online, store } = options
  const news = createBell()
  const retry = createBell()
  const idle = createBell()
  let counter = 0
  let cursor = 0
  /** Reported, not on disk: normally for a moment, on a full disk until there is room. */
  let unwritten: StoredEvent[] = []
  let early: (Happening & { at: number })[] = []
  let started = false
  let stopping = false
  let writing: Promise<void> = Promise.resolve()
  let sending: Promise<void> = Promise.resolve()

  const toEvent = ({ at, details, recordingId, severity, type }: Happening & { at: number }): StoredEvent => {
    const openedAt = iso(at)
    const id = `node_event_${nodeId.slice(0, 100)}_${openedAt.replace(/[:.]/g, '-')}_${++counter}`
    return { details: plainDetails(details), id, openedAt, severity, type, ...(recordingId ? { recordingId } : {}) }
  }
  const write = async (): Promise<void> => {
    // A copy: more may be reported while the disk works.
    const batch = [...unwritten]
    if (batch.length === 0) return
    try {
      await store.append(batch)
      unwritten = unwritten.slice(batch.length)
    } catch (e) {
      // A full or read-only disk: the events stay in memory, are sent from there, and written when there is room.
      log.warn('health log cannot be written', { error: (e as Error).message, waiting: batch.length })
    }
    news.ring()
  }
  const take = (happening: Happening & { at: number }): void => {
    unwritten.push(toEvent(happening))
    writing = writing.then(write)
  }
  const report: Report = (happening) => {
    const level = { critical: 'error', info: 'info', warning: 'warn' } as const
    log[level[happening.severity]](happening.type, {
      ...plainDetails(happening.details),
      recordingId: happening.recordingId,
    })
    if (unwritten.length + early.length >= MOST_WAITING) return
    const timed = { ...happening, at: clock.now() }
    if (started) take(timed)
    else early.push(timed)
  }

  const next = async (): Promise<StoredEvent[]> => {
    const stored = await store.after(cursor, BATCH).catch((e) => {
      log.warn('health log cannot be read', { error: (e as Error).message })
      return []
    })
    return stored.length > 0 ? stored : unwritten.filter((event) => counterOf(event) > cursor).slice(0, BATCH)
  }
  /** Whether the event is settled: taken, or refused for good. */
  const deliver = async (event: AgentHealthEvent): Promise<boolean> => {
    try {
      await link.healthEvent(event)
      return true
    } catch (e) {
      if (!(e instanceof LinkError)) throw e
      const general = e.status === 403 || e.status === 404 ? withoutSubject(event) : undefined
      if (general) return deliver(general)
      if (e.status !== 400 && e.status !== 413 && e.status !== 422) return false
      log.warn('the controller refused a health event; it stays in the local log only', {
        id: event.id,
        error: e.message,
      })
      return true
    }
  }
  const advance = async (to: number): Promise<void> => {
    cursor = to
    try {
      await fsp.writeFile(`${cursorFile}.new`, `${to}\n`)
      await fsp.rename(`${cursorFile}.new`, cursorFile)
    } catch (e) {
      // Costs a repetition after the next start, which the controller recognises by the id (decision 9).
      log.debug('health cursor cannot be written', { error: (e as Error).message })
    }
  }
  const send = async (): Promise<void> => {
    for (let failures = 0; !stopping; ) {
      const batch = await next()
      if (batch.length === 0) {
        idle.ring()
        await news.wait()
        continue
      }
      for (const event of batch) {
        if (stopping) return
        if (online() && (await deliver(event))) {
          failures = 0
          await advance(counterOf(event))
          continue
        }
        failures++
        idle.ring()
        await retry.wait(backoffMs(failures, RETRY_MAX_MS))
        break
      }
    }
  }
  const start = async (): Promise<void> => {
    const last = await store.open().catch((e) => {
      log.warn('health log cannot be opened', { error: (e as Error).message })
      return 0
    })
    cursor = Number.parseInt(await fsp.readFile(cursorFile, 'utf8').catch(() => '0'), 10) || 0
    counter = Math.max(last, cursor)
    started = true
    for (const happening of early) take(happening)
    early = []
    sending = send()
  }
  const stop = async (graceMs: number): Promise<void> => {
    await writing
    if (started && cursor < counter && online()) {
      // One more attempt for what is left; the log keeps it if the controller is away.
      retry.ring()
      await idle.wait(graceMs)
    }
    stopping = true
    news.ring()
    retry.ring()
    await Promise.race([sending, new Promise((resolve) => setTimeout(resolve, graceMs).unref())])
  }
  return { nudge: () => retry.ring(), report, start, stop }
}
