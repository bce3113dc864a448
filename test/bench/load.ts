// A load generator that costs little: prepared request bytes over raw keep-alive connections, one in flight on each.
import { once } from 'node:events'
import * as net from 'node:net'

export interface Request {
  body?: string
  headers?: Record<string, string>
  method: string
  path: string
  token: string
}

/** What one run of load saw. */
export interface Load {
  /** Milliseconds, of each request. */
  latencies: number[]
  perSecond: number
}

/** The bytes of a request as an agent or a browser would send it. */
export function bytesOf({ body, headers = {}, method, path, token }: Request): Buffer {
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    `authorization: Bearer ${token}`,
    'user-agent: roomtone-bench',
    'accept: application/json',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`)
}

/** Each request on a connection of its own, again and again for `seconds`. @throws Error for any answer but 2xx. */
export async function load(base: string, requests: readonly Buffer[], seconds: number): Promise<Load> {
  const { hostname, port } = new URL(base)
  const latencies: number[] = []
  const from = performance.now()
  const until = from + seconds * 1000
  await Promise.all(requests.map((request) => repeat(Number(port), hostname, request, until, latencies)))
  return { latencies, perSecond: latencies.length / ((performance.now() - from) / 1000) }
}

async function repeat(port: number, host: string, request: Buffer, until: number, latencies: number[]): Promise<void> {
  const socket = net.connect({ port, host, noDelay: true })
  await once(socket, 'connect')
  await new Promise<void>((resolve, reject) => {
    let sent = 0
    const send = () => {
      sent = performance.now()
      socket.write(request)
    }
    const answers = answerReader((status, head) => {
      latencies.push(performance.now() - sent)
      if (status < 200 || status > 299) reject(new Error(`answered ${head}`))
      else if (performance.now() < until) send()
      else resolve()
    })
    socket.on('data', answers)
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed the connection')))
    send()
  }).finally(() => socket.destroy())
}

const END = Buffer.from('\r\n\r\n')

/** Cuts a stream of answers at their Content-Length (204 has none); `told` hears of each when its last byte is there. */
export function answerReader(told: (status: number, head: string) => void): (chunk: Buffer) => void {
  let held: Buffer[] = []
  let have = 0
  let need = 0
  let head = ''
  return (chunk) => {
    held.push(chunk)
    have += chunk.length
    if (need === 0) {
      const whole = held.length === 1 ? chunk : Buffer.concat(held)
      const at = whole.indexOf(END)
      if (at < 0) return
      head = whole.toString('latin1', 0, at)
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
      if (length === undefined && !head.startsWith('HTTP/1.1 204'))
        throw new Error(`an answer without Content-Length: ${head}`)
      need = at + END.length + Number(length ?? 0)
    }
    if (have < need) return
    held = []
    have = 0
    need = 0
    told(Number(head.slice(9, 12)), head)
  }
}
