// A take that is at an object store alone, read through the controller: how fast beside the store itself, and in how much memory.
import * as fs from 'node:fs'
import * as http from 'node:http'
import * as path from 'node:path'
import { Objects } from '../../src/controller/uploads/library/objects.s3.ts'
import { ACCESS_KEY, SECRET_KEY } from '../kit/s3.ts'
import { elapsed, inTurn, median, type Row } from './measure.ts'
import { listening, memory } from './programs.ts'
import { queued, send, take } from './upload.ts'
import { type Enrolled, enroll, fleet, type Place } from './world.ts'

const BYTES = 200_000_000
const ROUNDS = 3
const LONGEST_MS = 120_000

export async function library(place: Place): Promise<Row[]> {
  const one = await take(place, BYTES)
  const world = await fleet(place)
  const dir = fs.mkdtempSync(path.join(place.dir, 'library-'))
  const program = { args: [path.join(import.meta.dirname, 'library.server.ts')], program: process.execPath }
  const server = await listening(program, dir)
  try {
    const [node] = await enroll(world, 1)
    await send(world, node as Enrolled, one)
    const s3 = {
      accessKeyId: ACCESS_KEY,
      bucket: 'takes',
      endpoint: server.url,
      forcePathStyle: true,
      region: 'us-east-1',
    }
    const { id, send: sent } = await queued(world, s3, { keepsLibrary: true })
    const key = await sent(LONGEST_MS)
    fs.rmSync(path.join(world.data, 'recordings'), { force: true, recursive: true })
    fs.mkdirSync(path.join(world.data, 'recordings'))
    const objects = new Objects({ ...s3, secretAccessKey: SECRET_KEY })
    const direct = () =>
      objects.open({ etag: null, key }, { end: BYTES - 1, size: BYTES, start: 0 }, never).then(drained)
    const through = () => got(`${world.controller.url}/api/v1/recordings/${id}/file`, world.token).then(drained)
    const both = async () => {
      const [own, read] = await inTurn(
        ROUNDS,
        () => elapsed(direct),
        () => elapsed(through),
      )
      return [median(own), median(read)] as const
    }
    const { pid } = world.controller
    // The first read loads the client of the store.
    await through()
    memory.forgetPeak(pid)
    const before = memory.resident(pid)
    const [own, read] = await both()
    const grown = memory.peak(pid) - before
    await drained(await got(`${server.url}/unpaced`, ''))
    const [fastest, throughFastest] = await both()
    await objects.close()
    return [
      {
        name: 'read-through',
        measured: own / read,
        limit: 0.8,
        unit: 'of the store',
        bound: 'least',
        how: `median of ${ROUNDS}: 200 MB at ${speed(read)}, from a store on a line of a gigabit at ${speed(own)}; ${(fastest / throughFastest).toFixed(2)} of one in memory on the same cores (${speed(fastest)})`,
      },
      {
        name: 'read-through memory',
        measured: grown,
        limit: 16,
        unit: 'MiB',
        bound: 'most',
        how: `highest VmHWM of ${ROUNDS} reads over the resident size after the first (${before.toFixed(0)} MiB)`,
      },
    ]
  } finally {
    await world.controller.stop()
    await server.stop()
    fs.rmSync(one.file)
  }
}

const never = new AbortController().signal
const speed = (ms: number): string => `${(BYTES / 1000 / ms).toFixed(0)} MB/s`

const got = (url: string, token: string): Promise<http.IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = http.get(url, { headers: { authorization: `Bearer ${token}` } }, resolve)
    request.once('error', reject)
  })

const drained = (stream: NodeJS.ReadableStream): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.once('end', resolve).once('error', reject).resume()
  })
