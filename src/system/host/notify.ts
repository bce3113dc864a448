// Tells the service manager how a service is: sd_notify. Node has no AF_UNIX datagram sockets, so the manager's own
// program carries each message: one short child at start and stop, and every half watchdog period.

import type { Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import { NotStarted, run } from './run.ts'

/** What the service manager said when it started this process. */
export interface ManagerCall {
  /** `NOTIFY_SOCKET`. */
  socket: string
  /** Ms within which a sign of life has to come; undefined when none is asked for. */
  watchdogMs: number | undefined
}

/** What systemd says in the environment, if it is the one that started this process. */
export function managerOf(env: NodeJS.ProcessEnv): ManagerCall | undefined {
  const { NOTIFY_SOCKET: socket, WATCHDOG_PID: pid, WATCHDOG_USEC: usec } = env
  if (!socket) return undefined
  const watched = /^\d+$/.test(usec ?? '') && Number(usec) > 0 && (!pid || Number(pid) === process.pid)
  return { socket, watchdogMs: watched ? Number(usec) / 1000 : undefined }
}

export interface NotifierOptions {
  /** Whether what must go on goes on; without that no sign of life is given, and the manager starts the service anew. */
  alive: () => boolean
  command: string
  env: NodeJS.ProcessEnv
  log: Log
  manager: ManagerCall | undefined
  /** One line for people: what it does. */
  status: () => string
}

/** Nothing here rejects. */
export interface Notifier {
  /** The service can do its work now. */
  ready(): Promise<void>
  /** No more signs; resolves when the last was given. */
  stop(): Promise<void>
  /** The service ends, `status` says with what; signs of life go on, for the rest is done under the same watchdog. */
  stopping(status: string): Promise<void>
}

const SEND_TIMEOUT_MS = 5000
/** How often the status is told where no watchdog asks for more. */
const STATUS_MS = 30_000

/** Without a service manager nothing runs. */
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
    if (life.length === 0) log.error('nothing moves: no sign of life for the service manager')
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

/** Never rejects: who cannot be told must not stop the work. */
async function deliver({ command, env, log, manager }: NotifierOptions, words: string[]): Promise<void> {
  try {
    const told = { ...env, NOTIFY_SOCKET: manager!.socket }
    const { code, stderr } = await run(command, words, { env: told, timeoutMs: SEND_TIMEOUT_MS })
    if (code !== 0) log.warn('the service manager was not told', { code, stderr: stderr.slice(0, 200), words })
  } catch (e) {
    if (!(e instanceof NotStarted)) throw e
    log.warn('the service manager was not told', { error: faultWords(e), words })
  }
}
