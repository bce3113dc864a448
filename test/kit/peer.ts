// Another program over HTTP, on loopback: answers as the test says, remembers what it was asked.
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  body: string
  headers: http.IncomingHttpHeaders
  method: string
  url: string
}

export type Reply = (asked: Asked, response: http.ServerResponse) => void

export const json =
  (body: unknown, status = 200): Reply =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

export async function peer(reply: Reply) {
  const asked: Asked[] = []
  const state = { reply }
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const one = { body, headers: request.headers, method: request.method ?? '', url: request.url ?? '' }
    asked.push(one)
    for (const tell of arrived.splice(0)) tell()
    state.reply(one, response)
  })
  const arrived: (() => void)[] = []
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A test that failed before its end must not hold the run.
  server.unref()
  const port = (server.address() as AddressInfo).port
  return {
    asked,
    port,
    url: `http://127.0.0.1:${port}`,
    answers: (next: Reply) => {
      state.reply = next
    },
    /** Resolves when the next request has come. */
    next: (): Promise<void> => new Promise((resolve) => arrived.push(() => resolve())),
    close: async () => {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
