import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { smallDisk } from '../../kit/disk.ts'
import { job, wav, world } from '../jobs/kit.ts'
import { policy } from './kit.ts'

test('on a small disk the copies of earlier takes make way for the next one, which is whole', async (t) => {
  const dir = smallDisk(t, 3_500_000)
  if (!dir) return
  const w = world(t, {}, dir)
  const take = (id: string, durationSeconds: number) =>
    job(id, { durationSeconds, recorderCacheRetention: policy({ maxAgeDays: 30 }) })
  const copies = () => fs.readdirSync(path.join(dir, 'cache')).sort()
  for (const id of ['a', 'b', 'c']) {
    w.runner.accept(w.link.add(take(id, 5)))
    await w.runner.idle()
  }
  // Three takes of 0.96 MB; the fourth needs 1.15 MB.
  assert.deepEqual([copies(), w.names().includes('disk_space_cleanup_attempted')], [['a', 'b', 'c'], false])
  w.runner.accept(w.link.add(take('d', 6)))
  await w.runner.idle()
  assert.deepEqual(copies(), ['b', 'c', 'd'])
  assert.equal(wav(w.link.uploads.at(-1)!.bytes).dataBytes, 6 * 48_000 * 4)
  const told = w.names().filter((name) => name.startsWith('disk_space') || name === 'sweep_completed')
  assert.deepEqual(told, ['sweep_completed', 'disk_space_cleanup_attempted', 'disk_space_recovered'])
})
