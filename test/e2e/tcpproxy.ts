// A cable between agent and controller that keeps its address while the controller restarts, and can be made slow.
import { once } from 'node:events'
import * as net from 'node:net'
import { Transform } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Cable {
  /** Bytes per second towards the controller; undefined = as fast as it goes. */
  speed: number | undefined
  /** Where it leads: the controller's latest address. */
  target: string
  url: string
  close(): Promise<void>
  /** Ends every connection there is; new ones go to `target`. */
  cut(): void
}

/** A stream that lets `speed()` bytes per second through, a twentieth of them at a time. */
function brake(speed: () => number | undefined): Transform {
  return new Transform({
    async transform(chunk: Buffer, _, done) {
      const piece = Math.ceil((speed() ?? Number.POSITIVE_INFINITY) / 20)
      for (let at = 0; at < chunk.length; at += piece) {
        if (Number.isFinite(piece)) await sleep(50)
        this.push(chunk.subarray(at, at + piece))
      }
      done()
    },
  })
}

export async function layCable(): Promise<Cable> {
  const ends = new Set<net.Socket>()
  const server = net.createServer((near) => {
    const far = net.connect(Number(new URL(cable.target).port), '127.0.0.1')
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(end)
      // Whatever breaks one end breaks the other: a killed program must look like one.
      end.on('error', () => other.destroy())
      end.on('close', () => {
        ends.delete(end)
        other.destroySoon()
      })
    }
    near.pipe(brake(() => cable.speed)).pipe(far)
    far.pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const cut = () => {
    for (const end of ends) end.destroy()
  }
  const close = async () => {
    server.close()
    cut()
    await once(server, 'close')
  }
  const cable: Cable = { close, cut, speed: undefined, target: 'http://127.0.0.1:1', url: `http://127.0.0.1:${port}` }
  return cable
}
