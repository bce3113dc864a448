// Answers of any kind to an agent's own client of the controller, thousands a second: what it throws is what its callers expect.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import * as os from 'node:os'
import * as path from 'node:path'
import { createLink } from '../../src/agent/link/client.ts'
import { type Link, LinkError } from '../../src/agent/link/link.ts'
import { API_PREFIX } from '../../src/wire/headers.ts'
import { type Dice, dice } from '../sweeps/fuzz.ts'
import { NOISE, NONSENSE, type Said } from './badanswers.ts'
import { assertFlat, heldMiB } from './memory.ts'

const TOGETHER = 16
/** These take seconds, or megabytes. */
const DEAR = ['endless', 'endlessHead', 'huge', 'silent', 'slow']
const DEAR_SHARE = 0.02
/** Answers of a controller among the others, so that what stays open is used again. */
const RIGHT_SHARE = 0.1
const NODE = 'node_1'

const job = {
  command: {
    captureChannels: 2,
    captureDevice: 'default',
    captureFormat: 'S16_LE',
    captureSampleRate: 48_000,
    channelMap: { entries: [{ included: true, sourceChannelIndex: 1 }], sourceChannels: 2 },
    durationSeconds: 10,
    outputFileName: 'rec_1.wav',
  },
  id: 'job_1',
  nodeId: NODE,
  recordingId: 'rec_1',
  status: 'running',
}
const config = {
  audioDefaults: { captureDevice: 'default' },
  liveListen: { requested: true },
  liveMeters: { framesPerSecond: 4, requested: true },
  recorderCachePolicies: [],
  recordingCapacity: { maxConcurrentRecordings: 2 },
}
const beat = { agentVersion: '1', hostname: 'h', ipAddresses: [], runtime: {}, status: 'online' as const }

/** What a controller would answer. */
function right(url: string): Said {
  const data = url.includes('claim')
    ? [job]
    : url.includes('config')
      ? config
      : url.includes('assignments')
        ? [{ id: 'a' }]
        : url.includes('bootstrap')
          ? { controllerToken: 'svc_node_x' }
          : url.includes('pair')
            ? { nodeId: NODE, token: 'svc_bs_1' }
            : url.includes('cache-file')
              ? { file: { checksum: 'sha256:00' } }
              : job
  const headers = { 'content-type': 'application/json', date: new Date().toUTCString(), etag: '"1"' }
  return { body: Buffer.from(JSON.stringify({ data })), headers, status: 200 }
}

/** Every call there is, with the arguments of an ordinary day. */
function callsOf(link: Link, file: string): (() => Promise<unknown>)[] {
  const { signal } = new AbortController()
  const upload = { contentType: 'audio/wav', durationSeconds: 1, fileName: 'a.wav', jobId: 'job_1', path: file }
  const chunk = { audio: Buffer.alloc(2000), capturedAt: 0, durationMs: 10, rendition: 'raw' as const, sequence: 1 }
  const frame = { capturedAt: new Date().toISOString(), interfaceId: 'i', levels: [], nodeId: NODE }
  const key = { hostKeys: [], interfaces: [], privateKey: 'k', publicKey: 'p', username: 'u' }
  return [
    () => link.bootstrap('svc_bs_1', key),
    () => link.channelMapAssignments(),
    () => link.claim([], 0, signal),
    () => link.config(),
    () => link.config({ etag: '"1"', signal, waitSeconds: 0 }),
    () => link.healthEvent({ details: {}, id: 'a', severity: 'info', type: 'agent.started' }),
    () => link.heartbeat(beat),
    () => link.inventory([]),
    () => link.jobHeartbeat('job_1'),
    () => link.listenChunk(chunk as never),
    () => link.meterFrame(frame as never),
    () => link.pair('K7QM3XPD'),
    () => link.readJob('job_1'),
    () => link.reportCancelled('job_1', 'x'),
    () => link.reportFailed('job_1', 'x'),
    () => link.upload({ ...upload, recordingId: 'rec_1' }, signal),
  ]
}

/** `counts` hears of each answer by its kind. */
function foolish(d: Dice, counts: Record<string, number>): http.Server {
  const cheap = Object.entries({ ...NOISE, ...NONSENSE }).filter(([name]) => !DEAR.includes(name))
  const dear = Object.entries({ ...NOISE, ...NONSENSE }).filter(([name]) => DEAR.includes(name))
  return http.createServer((request, response) => {
    request.socket.on('error', () => request.socket.destroy())
    request.resume().once('end', async () => {
      const said = right(request.url!.slice(API_PREFIX.length))
      if (d.chance(RIGHT_SHARE)) return void response.writeHead(said.status, said.headers).end(said.body)
      const [name, twist] = d.of(d.chance(DEAR_SHARE) ? dear : cheap)
      counts[name] = (counts[name] ?? 0) + 1
      await twist(d, said, request.socket)
    })
  })
}

/** So many answers. @throws AssertionError with what a call threw that is no LinkError, or when memory grows */
export async function linkRounds(count: number, seed: number, tell: (line: string) => void): Promise<void> {
  const d = dice(seed)
  const counts: Record<string, number> = {}
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-nonsense-'))
  const file = path.join(dir, 'a.wav')
  fs.writeFileSync(file, Buffer.alloc(5000, 1))
  const server = foolish(d, counts)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const patience = { connectTimeoutMs: 5000, readTimeoutMs: 3000, requestTimeoutMs: 20_000 }
  const link = createLink({ allowInsecure: false, nodeId: NODE, token: () => 'svc_node_x', url, ...patience })
  const calls = callsOf(link, file)
  const ends = { threw: 0, took: 0 }
  const memory: number[] = []
  const every = Math.max(1, Math.floor(count / 40))
  let made = 0
  const worker = async () => {
    while (made < count) {
      if (++made % every === 0) memory.push(heldMiB())
      if (made % (10 * every) === 0) tell(`${made} answers, ${memory.at(-1)!.toFixed(0)} MiB held`)
      const call = d.of(calls)
      await call().then(
        () => ends.took++,
        (e) => {
          assert.ok(e instanceof LinkError, `seed=${seed}, answer ${made}, ${call}: ${e?.stack ?? e}`)
          ends.threw++
        },
      )
    }
  }
  try {
    await Promise.all(Array.from({ length: TOGETHER }, worker))
    tell(`seed=${seed} ${made} answers to the client of an agent: ${ends.took} taken, ${ends.threw} refused`)
    tell(JSON.stringify(counts))
    tell(assertFlat('the client', memory))
  } finally {
    link.close()
    server.closeAllConnections()
    server.close()
    fs.rmSync(dir, { recursive: true })
  }
}
