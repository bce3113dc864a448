// Reports the state of a service to systemd (sd_notify). Node has no AF_UNIX datagram sockets, so systemd-notify sends
// each message: one short child at start and stop, and every half watchdog period.

import type { Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import { NotStarted, run } from './run.ts'

/** How systemd wants to be notified. */
export interface ManagerCall {
  /** `NOTIFY_SOCKET`. */
  socket: string
  /** Watchdog timeout, ms; undefined without a watchdog. */
  watchdogMs: number | undefined
}

/** Undefined when systemd did not start this process. */
export function managerOf(env: NodeJS.ProcessEnv): ManagerCall | undefined {
  const { NOTIFY_SOCKET: socket, WATCHDOG_PID: pid, WATCHDOG_USEC: usec } = env
  if (!socket) return undefined
  const watched = /^\d+$/.test(usec ?? '') && Number(usec) > 0 && (!pid || Number(pid) === process.pid)
  return { socket, watchdogMs: watched ? Number(usec) / 1000 : undefined }
}

export interface NotifierOptions {
  /** Whether the service still makes progress. While false no watchdog ping is sent, so systemd restarts the service. */
  alive: () => boolean
  command: string
  env: NodeJS.ProcessEnv
  log: Log
  manager: ManagerCall | undefined
  /** One line for people: what the service is doing. */
  status: () => string
}

/** Nothing here rejects. */
export interface Notifier {
  /** The service is ready to work. */
  ready(): Promise<void>
  /** Sends no more; resolves once the last message is out. */
  stop(): Promise<void>
  /** The service is shutting down; `status` says what it waits for. Watchdog pings continue until `stop`. */
  stopping(status: string): Promise<void>
}

const SEND_TIMEOUT_MS = 5000
/** How often the status is sent unless the watchdog needs more. */
const STATUS_MS = 30_000

/** Does nothing without systemd. */
export function createNotifier(options: NotifierOptions): Notifier {
  const { alive, log, manager } = options
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> = Promise.resolve()
  let status = ''

  const send = (...words: string[]): Promise<void> => {
    sending = sending.then(() => deliver(options, words))
    return sending
  }
  const news = (): string[] => {
    const line = `STATUS=${options.status()}`
    if (line === status) return []
    status = line
    return [line]
  }
  const tick = (): void => {
    const life = alive() ? ['WATCHDOG=1'] : []
    if (life.length === 0) log.error('no progress: withholding the systemd watchdog ping')
    const words = [...(manager?.watchdogMs === undefined ? [] : life), ...news()]
    if (words.length > 0) void send(...words)
  }

  return {
    ready: async () => {
      if (!manager) return
      timer ??= setInterval(tick, Math.min(STATUS_MS, (manager.watchdogMs ?? Number.POSITIVE_INFINITY) / 2))
      await send('READY=1', ...(manager.watchdogMs === undefined ? [] : ['WATCHDOG=1']), ...news())
    },
    stop: async () => {
      clearInterval(timer)
      await sending
    },
    stopping: async (words) => {
      if (manager) await send('STOPPING=1', `STATUS=${words}`)
    },
  }
}

/** Never rejects: a failed notification must not stop the service. */
async function deliver({ command, env, log, manager }: NotifierOptions, words: string[]): Promise<void> {
  try {
    const told = { ...env, NOTIFY_SOCKET: manager!.socket }
    const { code, stderr } = await run(command, words, { env: told, timeoutMs: SEND_TIMEOUT_MS })
    if (code !== 0)
      log.warn('could not report the service state to systemd, which may restart it', {
        code,
        stderr: stderr.slice(0, 200),
        words,
      })
  } catch (e) {
    if (!(e instanceof NotStarted)) throw e
    log.warn('could not report the service state to systemd, which may restart it', {
      error: faultWords(e),
      words,
    })
  }
}
