// A large take to S3 while heartbeats come in: how long the loop is held, and what it costs in memory.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { ACCESS_KEY } from '../kit/s3.ts'
import { row, watched } from './eventloop.ts'
import type { Row } from './measure.ts'
import { listening, memory } from './programs.ts'
import { queued, send, take } from './upload.ts'
import { type Enrolled, fleet, type Place } from './world.ts'

const BYTES = 3_000_000_000
const LONGEST_MS = 300_000

export async function s3(place: Place): Promise<Row[]> {
  const one = await take(place, BYTES)
  const world = await fleet(place)
  const dir = fs.mkdtempSync(path.join(place.dir, 's3-'))
  const server = await listening(
    { args: [path.join(import.meta.dirname, 's3.server.ts')], program: process.execPath },
    dir,
  )
  try {
    const { pid } = world.controller
    let before = 0
    const { beside, perSecond, windows } = await watched(world, async ([node]) => {
      await send(world, node as Enrolled, one)
      const { send: upload } = await queued(world, {
        ...{
          accessKeyId: ACCESS_KEY,
          bucket: 'takes',
          endpoint: server.url,
          forcePathStyle: true,
          region: 'us-east-1',
        },
      })
      memory.forgetPeak(pid)
      before = memory.resident(pid)
      const from = performance.now()
      await upload(LONGEST_MS)
      return `${((performance.now() - from) / 1000).toFixed(1)} s`
    })
    return [
      row(
        's3 event-loop',
        windows,
        `3 GB from a recorder, then to S3 in ${beside}; ${perSecond.toFixed(0)} heartbeats/s`,
      ),
      {
        name: 's3 memory',
        measured: memory.peak(pid) - before,
        limit: 256,
        unit: 'MiB',
        bound: 'most',
        how: `highest VmHWM over the resident size before (${before.toFixed(0)} MiB); the same for a fifth of the take`,
      },
    ]
  } finally {
    await world.controller.stop()
    await server.stop()
    fs.rmSync(one.file)
  }
}
