// A matrix switcher on loopback: 24 outputs, real sockets, and whatever mood a test needs.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import * as net from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

export const OUTPUTS = 24

export interface Matrix {
  /** Every command received, in order. */
  commands: string[]
  /** Lines sent in place of the right answer to a command that begins so. */
  instead: Map<string, string[] | 'silence' | 'close'>
  /** The device ignores what it is told to set. */
  stubborn: boolean
  /** Bytes sent when somebody connects. */
  greeting: Buffer
  /** Bytes received that are telnet commands. */
  negotiated: number[][]
  port: number
  routes: number[]
  close(): Promise<void>
}

export async function matrix(): Promise<Matrix> {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}) // it may be cut off: that is what some tests do
    socket.on('close', () => sockets.delete(socket))
    if (device.greeting.length > 0) socket.write(device.greeting)
    let rest = ''
    let said: Promise<void> = Promise.resolve()
    socket.on('data', (chunk) => {
      const lines = (rest + Buffer.from(plain(chunk)).toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      // One answer after the other, as the device works.
      for (const line of lines) said = said.then(() => answer(socket, line))
    })
  })
  const device: Matrix = {
    commands: [],
    greeting: Buffer.alloc(0),
    instead: new Map(),
    negotiated: [],
    port: 0,
    routes: Array(OUTPUTS + 1).fill(0),
    stubborn: false,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  /** The bytes without telnet commands. */
  const plain = (chunk: Buffer): number[] => {
    const out: number[] = []
    for (let i = 0; i < chunk.length; i++) {
      if (chunk[i] !== 255) out.push(chunk[i] as number)
      else {
        device.negotiated.push([...chunk.subarray(i, i + 3)])
        i += 2
      }
    }
    return out
  }
  const told = () => device.routes.slice(1).map((input, i) => `OUT${i + 1} AS IN${input}`)
  const right = (line: string): string[] => {
    const set = /^SET OUT(\d+) AS IN(\d+)$/.exec(line)
    if (set && !device.stubborn) device.routes[Number(set[1])] = Number(set[2])
    if (line === 'GET OUT0 AS') return told()
    if (line === 'STA') return ['='.repeat(20), 'F/W Version : V1.23', 'POWER ON']
    if (line === 'GET CONFIG')
      return ['CONFIG', 'SET RIP 10.0.0.9', 'SET MAC 00:11', ...told().map((one) => `SET ${one}`)]
    return /^SET /.test(line) ? [line.slice(4)] : ['CMD ERR']
  }
  const answer = async (socket: net.Socket, line: string): Promise<void> => {
    device.commands.push(line)
    const wrong = [...device.instead].find(([start]) => line.startsWith(start))?.[1]
    if (wrong === 'silence') return
    if (wrong === 'close') return void socket.destroy()
    // In two pieces, cut within a line: what is complete is decided by lines alone.
    const text = (wrong ?? right(line)).map((one) => `${one}\r\n`).join('')
    const cut = Math.floor(text.length / 2)
    socket.write(text.slice(0, cut))
    await nextTurn()
    socket.write(text.slice(cut))
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  device.port = (server.address() as AddressInfo).port
  return device
}
