// Senders that take their time, on real sockets.
import { once } from 'node:events'
import * as net from 'node:net'

export interface Slow {
  /** All the server has said so far. */
  said: () => string
  /** Resolves when the server has closed. */
  closed: Promise<unknown>
  socket: net.Socket
}

/** Sends a request's head and the beginning of its body, `from` an own address; resolves when the server has begun with it. */
export async function slowly(
  url: string,
  request: string,
  headers: Record<string, string>,
  begin = '{',
  from?: string,
): Promise<Slow> {
  const { hostname, port } = new URL(url)
  const socket = net.connect({ host: hostname, localAddress: from, port: Number(port) })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  const lines = Object.entries({ host: 'controller', expect: '100-continue', ...headers }).map(([k, v]) => `${k}: ${v}`)
  socket.write(`${request} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  // It says 100 when it begins, or answers at once.
  await Promise.race([once(socket, 'data'), closed])
  if (!socket.destroyed) socket.write(begin)
  return { closed, said: () => text, socket }
}

/** The status of the last answer, without the "go on". */
export const statusOf = (slow: Slow): number => Number([...slow.said().matchAll(/HTTP\/1\.1 (\d+)/g)].at(-1)?.[1] ?? 0)
