// Something between agent and controller that is not always a controller.
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'

/** `error`: 500 to everything; `portal`: a friendly page, 200, to everything, as a captive portal does; `kind`: passes on. */
export type Mood = 'error' | 'kind' | 'portal'

export interface Moody {
  mood: Mood
  /** Requests answered while not kind, as `METHOD path`. */
  readonly refused: string[]
  url: string
  close(): Promise<void>
}

const ANSWERS = {
  error: { body: 'upstream exploded', status: 500, type: 'text/plain' },
  portal: { body: '<!doctype html><title>Welcome to the guest network</title>', status: 200, type: 'text/html' },
}

/** `target`: the controller's address. */
export async function standBetween(target: string): Promise<Moody> {
  const server = http.createServer((request, response) => {
    if (moody.mood !== 'kind') {
      moody.refused.push(`${request.method} ${request.url}`)
      const { body, status, type } = ANSWERS[moody.mood]
      // Read to its end, as a portal would: nothing tells the sender that nobody keeps it.
      request.resume().once('end', () => response.writeHead(status, { 'content-type': type }).end(body))
      return
    }
    const { headers, method } = request
    const onward = http.request(new URL(request.url!, target), { headers, method }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  const { port } = server.address() as AddressInfo
  const moody: Moody = { close, mood: 'kind', refused: [], url: `http://127.0.0.1:${port}` }
  return moody
}
