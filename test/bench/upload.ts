import { execFileSync } from 'node:child_process'
import { createHash, randomFillSync } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as http from 'node:http'
import * as path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { HEADERS } from '../../src/wire/headers.ts'
import { SECRET_KEY } from '../kit/s3.ts'
import { elapsed, inTurn, median, type Row } from './measure.ts'
import { memory } from './programs.ts'
import { type Enrolled, enroll, type Fleet, fleet, type Place } from './world.ts'

const BYTES = 1_000_000_000
const ROUNDS = 3

export interface Take {
  bytes: number
  digest: string
  file: string
}

/** A gigabyte, or as much as is said, that no file system can shrink. */
export async function take({ dir }: Place, bytes = BYTES): Promise<Take> {
  const file = path.join(dir, 'take.wav')
  const to = fs.openSync(file, 'w')
  const block = Buffer.alloc(4_000_000)
  for (let done = 0; done < bytes; done += block.length) {
    randomFillSync(block)
    if (done === 0) block.write('RIFF\0\0\0\0WAVE', 'latin1')
    fs.writeSync(to, block)
  }
  fs.fsyncSync(to)
  fs.closeSync(to)
  const hash = createHash('sha256')
  await pipeline(fs.createReadStream(file, { highWaterMark: 1 << 20 }), hash)
  return { bytes, file, digest: hash.digest('base64') }
}

/** Destination, policy and queue item of the one take there is; `more` of the destination. */
export async function queued({ call }: Fleet, s3: object, more: object = {}) {
  const { data: destination } = await call('POST', '/settings/upload-destinations', {
    ...{ displayName: 'Bench', enabled: true, kind: 's3', s3, s3SecretAccessKey: SECRET_KEY },
    ...more,
  })
  const { data: policy } = await call('POST', '/settings/upload-policies', {
    destinationId: destination.id,
    name: 'Bench',
  })
  const { data: list } = await call('GET', '/recordings?limit=1')
  const { id } = list[0]
  const { data: item } = await call('POST', `/recordings/${id}/upload-queue`, { uploadPolicyId: policy.id })
  return {
    id,
    /** Has it sent, and waits. Resolves with the object's key. */
    async send(longestMs: number): Promise<string> {
      const from = performance.now()
      await call('POST', '/upload-runner/run')
      for (;;) {
        const { data } = await call('GET', `/upload-queue/${item.id}`)
        if (data.item.status === 'succeeded') return data.item.fileName
        const isOver = performance.now() - from > longestMs
        if (isOver || (data.item.lastError && data.item.status !== 'queued')) throw new Error(JSON.stringify(data.item))
        await sleep(200)
      }
    },
  }
}

/** One take recorded, claimed and sent as an agent does it. Resolves with the milliseconds of the PUT alone. */
export async function send(world: Fleet, node: Enrolled, { bytes, digest, file }: Take): Promise<number> {
  const { data: recording, job } = await world.call('POST', '/recordings', { nodeId: node.id, durationSeconds: 10 })
  await world.call('POST', `/nodes/${node.id}/recording-jobs/claim-next`, {}, node.token)
  const headers = {
    authorization: `Bearer ${node.token}`,
    'content-length': bytes,
    'content-type': 'audio/wav',
    [HEADERS.contentDigest]: `sha-256=:${digest}:`,
    [HEADERS.fileName]: 'take.wav',
    [HEADERS.jobId]: job.id,
  }
  const url = `${world.controller.url}/api/v1/recordings/${recording.id}/cache-file`
  return elapsed(async () => {
    const request = http.request(url, { method: 'PUT', headers })
    const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
    await pipeline(fs.createReadStream(file, { highWaterMark: 256 * 1024 }), request)
    const [answer] = await answered
    const text = (await answer.toArray()).join('')
    if (answer.statusCode !== 201) throw new Error(`the upload answered ${answer.statusCode}: ${text}`)
  })
}

/** A take of 1 GB against copying it and reading its checksum with the machine's own programs. */
export async function upload(place: Place): Promise<Row[]> {
  const one = await take(place)
  const world = await fleet(place)
  try {
    const [node] = (await enroll(world, 1)) as [Enrolled]
    const { pid } = world.controller
    memory.forgetPeak(pid)
    const before = memory.resident(pid)
    const [copies, uploads] = await inTurn(
      ROUNDS,
      () => copied(place, one),
      () => send(world, node, one).then((ms) => swept(world, ms)),
    )
    return rows(copies, uploads, memory.peak(pid) - before, before)
  } finally {
    await world.controller.stop()
    fs.rmSync(one.file)
  }
}

/** `cp` and `sha256sum`; that the copy is not even synced to the disk is to the yardstick's favour. */
async function copied({ dir }: Place, { file }: Take): Promise<number> {
  const copy = path.join(dir, 'copy.wav')
  const ms = await elapsed(async () => {
    execFileSync('cp', [file, copy])
    execFileSync('sha256sum', [copy])
  })
  fs.rmSync(copy)
  execFileSync('sync', ['-f', dir])
  return ms
}

// The next round finds the disk as this one did.
function swept({ data }: Fleet, ms: number): number {
  fs.rmSync(path.join(data, 'recordings', 'ad-hoc'), { recursive: true, force: true })
  execFileSync('sync', ['-f', data])
  return ms
}

function rows(copies: number[], uploads: number[], growth: number, before: number): Row[] {
  const pairs = uploads.map((ms, i) => (copies[i] as number) / ms)
  const seconds = (list: number[]) => list.map((ms) => (ms / 1000).toFixed(2)).join(' ')
  return [
    {
      name: 'upload',
      measured: median(pairs),
      limit: 0.6,
      unit: 'of cp',
      bound: 'least',
      how: `1 GB, durable at the 201: ${seconds(uploads)} s; cp + sha256sum, unsynced: ${seconds(copies)} s`,
    },
    {
      name: 'upload memory',
      measured: growth,
      limit: 48,
      unit: 'MiB',
      bound: 'most',
      how: `highest VmHWM in ${uploads.length} uploads over the resident size before (${before.toFixed(0)} MiB)`,
    },
  ]
}
