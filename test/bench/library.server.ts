// An object store that sends objects no faster than a line of a gigabit, or as fast as it can; tells its address as the
// controller does.
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { s3Server } from '../kit/s3.ts'

// A gigabit of Ethernet, less what its frames and TCP take.
const BYTES_PER_SECOND = 117_000_000
const PIECE = 512 * 1024

let paced = true
const server = await s3Server({
  keeps: true,
  interfere: (request, response, operation) => {
    if (request.url === '/unpaced') {
      paced = false
      response.end()
      return true
    }
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    if (operation !== 'get' || first === undefined || !paced) return false
    const [object] = server.objects.values()
    const body = object?.body as Buffer
    const size = Number(last) + 1 - Number(first)
    const headers = { 'content-length': size, 'content-range': `bytes ${first}-${last}/${body.length}` }
    response.writeHead(206, { ...headers, etag: object?.etag ?? '' })
    void sendAtPace(response, body.subarray(Number(first), Number(first) + size))
    return true
  },
})

async function sendAtPace(response: ServerResponse, body: Buffer): Promise<void> {
  const from = performance.now()
  for (let at = 0; at < body.length && !response.destroyed; at += PIECE) {
    const early = (at / BYTES_PER_SECOND) * 1000 - (performance.now() - from)
    if (early > 1) await sleep(early)
    if (!response.write(body.subarray(at, at + PIECE)))
      await new Promise<void>((resolve) => response.once('drain', resolve).once('close', resolve))
  }
  response.end()
}

console.log(JSON.stringify({ url: server.endpoint }))
process.once('SIGTERM', () => void server.close())
