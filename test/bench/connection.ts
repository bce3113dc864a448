// Connections as an agent has them: each is kept, with one request on it at a time.
import { once } from 'node:events'
import * as net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerReader } from './load.ts'

/** The work again and again, so much apart; `signal` ends it with an error. */
export async function paced(everyMs: number, signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) {
    const from = performance.now()
    await work()
    await sleep(Math.max(0, everyMs - (performance.now() - from)), undefined, { signal })
  }
}
export interface Connection {
  /** The head of the answer. */
  ask(request: Buffer): Promise<string>
  /** The same question again as soon as it was answered: a long poll. */
  asking(request: Buffer, signal: AbortSignal): Promise<void>
  close(): void
}

/** One keep-alive connection, one request at a time; `answered` hears of each answer. @throws Error for any but 2xx. */
export async function connect(base: string, answered: () => void = () => {}): Promise<Connection> {
  const { hostname, port } = new URL(base)
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let waiting: PromiseWithResolvers<string> | undefined
  const read = answerReader((status, head) => {
    answered()
    if (status < 200 || status > 299) waiting?.reject(new Error(`answered ${head}`))
    else waiting?.resolve(head)
  })
  socket.on('data', read)
  const gone = () => waiting?.reject(new Error('the connection has gone'))
  socket.on('error', gone)
  socket.on('close', gone)
  const ask = (request: Buffer): Promise<string> => {
    waiting = Promise.withResolvers()
    socket.write(request)
    return waiting.promise
  }
  return {
    ask,
    async asking(request, signal) {
      while (!signal.aborted) await ask(request)
    },
    close: () => socket.destroy(),
  }
}
