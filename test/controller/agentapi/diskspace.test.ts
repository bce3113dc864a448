import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import { reservedBytes } from '../../../src/controller/http/diskspace.ts'
import { cannotMount, SmallDisk } from '../../e2e/disks.ts'
import { listening } from '../../kit/http.ts'
import { kit } from '../../kit/kit.ts'
import { slowly } from '../../kit/slow.ts'
import { until } from '../../kit/whole.ts'
import { chunked, counted, wav } from '../recordings/chunks/world.ts'

const MIB = 2 ** 20
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-mount-'))
const why = cannotMount(scratch)
fs.rmSync(scratch, { recursive: true })

test('the reserve is a twentieth of a small disk, and never more than 64 MiB', () => {
  assert.deepEqual([100 * MIB, 4 * 2 ** 40].map(reservedBytes), [5 * MIB, 64 * MIB])
})

test('a recorder fills the disk up to the reserve; stopping and deleting go on', { skip: why }, async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-room-'))
  const disk = new SmallDisk(dir, 64 * MIB)
  t.after(() => {
    disk.unmount()
    fs.rmSync(dir, { recursive: true })
  })
  const k = kit({ file: path.join(dir, 'roomtone.db'), env: { SVC_DATA_DIR: dir, SVC_RECORDING_CACHE_DIR: dir } })
  const take = await chunked(k)
  const statuses = new Set<number>()
  let reason: string | undefined
  let index = 0
  for (const frames of [2_000_000, 200_000, 2000])
    for (let status = 201; status === 201; index++) {
      const answer = await take.put(index, wav(counted(index, frames)))
      status = answer.status
      statuses.add(status)
      reason = answer.json.reason
      if (status !== 201) assert.ok(answer.headers.get('retry-after'))
    }
  assert.deepEqual([[...statuses], reason], [[201, 507], 'cache_write_failed'])
  const admin = k.as('admin')
  assert.equal((await admin.post(`/recordings/${take.recordingId}/stop`)).status, 200)
  await take.agent.post(`/recording-jobs/${take.job.id}/failed`)
  assert.equal((await admin.delete(`/recordings/${take.recordingId}`)).status, 204)
  const { bavail, blocks } = fs.statfsSync(dir)
  assert.ok(bavail > blocks / 2, 'what was deleted is free again')
  await k.close()
})

test('a node has 32 uploads under way at once', async () => {
  const k = kit()
  const take = await chunked(k)
  const { close, url } = await listening(k)
  const headers = { authorization: `Bearer ${take.token}`, 'content-length': '100000' }
  const put = (n: number) => slowly(url, `PUT /api/v1/recordings/${take.recordingId}/cache-file?chunk=${n}`, headers)
  const open = []
  for (let n = 0; n < 32; n++) open.push(await put(n))
  await until('all to be heard', () => fs.readdirSync(path.join(k.takes, '.incoming')).length === 32)
  const answer = await take.put(40, wav(counted(0, 100)))
  assert.deepEqual([answer.status, answer.json.reason], [429, 'too_many_uploads'])
  for (const one of open) one.socket.destroy()
  await until('their places to be free', async () => (await take.put(41, wav(counted(0, 100)))).status === 201)
  await close()
  await k.close()
})
