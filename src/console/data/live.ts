// One change stream for each visible tab: what changed is read again, nothing polls (docs/contract/api.md: Change stream).
import type { Change, Hello } from '../../wire/changes.ts'
import { whileSeen } from './seen.ts'
import { reconnectMs } from './sse.rules.ts'

/** `lostSince` (Unix ms) only after some seconds without a connection: a short outage is not worth a word. */
export interface LiveState {
  lostSince?: number
  /** The controller runs another version than this page. */
  outdated: boolean
}

interface Parts {
  changed(change: Change): void
  /** Whether the session still stands; called when the stream cannot be had. */
  check(): void
  /** Everything is to be read again. */
  resync(): void
  tell(state: LiveState): void
}

const QUIET_MS = 3000
/** The controller says something every 20 seconds at most: a line that is silent for longer is dead, and no error tells of it. */
const SILENT_MS = 40_000

/** @returns how to end it */
export function startLive({ changed, check, resync, tell }: Parts): () => void {
  let attempt = 0
  let greeted = false
  let version: string | undefined
  let lostAt: number | undefined
  let source: EventSource | undefined
  let state: LiveState = { outdated: false }
  const timers: Record<string, number> = {}
  const later = (name: string, fn: () => void, ms: number): void => {
    clearTimeout(timers[name])
    timers[name] = window.setTimeout(fn, ms)
  }
  const set = (next: LiveState): void => {
    state = next
    tell(state)
  }
  const close = (): void => {
    clearTimeout(timers.silent)
    source?.close()
    source = undefined
  }
  const heardHello = (hello: Hello): void => {
    attempt = 0
    lostAt = undefined
    clearTimeout(timers.lost)
    version ??= hello.version
    set({ outdated: hello.version !== version })
    // What changed while nobody listened is not told again.
    if (greeted) resync()
    greeted = true
  }
  const lost = (): void => {
    close()
    lostAt ??= Date.now()
    const since = lostAt
    later('lost', () => set({ ...state, lostSince: since }), Math.max(0, since + QUIET_MS - Date.now()))
    check()
    later('again', open, reconnectMs(++attempt, Math.random()))
  }
  const open = (): void => {
    close()
    clearTimeout(timers.again)
    source = new EventSource('/api/v1/events')
    const on = (name: string, heard: (data: string) => void): void =>
      source?.addEventListener(name, (e) => {
        later('silent', lost, SILENT_MS)
        heard(e.data)
      })
    on('hello', (data) => heardHello(JSON.parse(data) as Hello))
    on('change', (data) => changed(JSON.parse(data) as Change))
    on('ping', () => {})
    on('resync', () => resync())
    source.onerror = lost
    later('silent', lost, SILENT_MS)
  }
  const hidden = (): void => {
    clearTimeout(timers.again)
    close()
  }
  const online = (): void => {
    if (!document.hidden && lostAt !== undefined) open()
  }
  const unseen = whileSeen(() => !source && open(), hidden)
  window.addEventListener('online', online)
  open()
  return () => {
    unseen()
    window.removeEventListener('online', online)
    for (const timer of Object.values(timers)) clearTimeout(timer)
    close()
  }
}
