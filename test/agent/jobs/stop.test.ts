import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LinkError } from '../../../src/agent/link/link.ts'
import { job, status, until, world } from './kit.ts'

test('a stop of the agent does not wait for the next try of an upload that is refused for now', async (t) => {
  const w = world(t, { retryMaxSeconds: 3600, retryMinSeconds: 3600, stopGraceSeconds: 3600 })
  w.link.refusals = [new LinkError('down', 503)]
  w.runner.accept(w.link.add(job('a')))
  await until(() => w.names().includes('cache_upload_failed'))
  const ended = await Promise.race([w.runner.stop().then(() => 'ended'), sleep(15_000, 'waits', { ref: false })])
  assert.equal(ended, 'ended')
  assert.equal(status(w.workDir), 'uploading')
})

test('a stop of the agent waits for an upload that is under way', async (t) => {
  const w = world(t, { stopGraceSeconds: 20 })
  const [going, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  w.link.onUpload = () => {
    going.resolve()
    return arrived.promise
  }
  w.runner.accept(w.link.add(job('a')))
  await going.promise
  const stopped = w.runner.stop()
  await sleep(200)
  arrived.resolve()
  await stopped
  assert.deepEqual([w.link.uploads.length, status(w.workDir)], [1, undefined])
})

test('whoever waits for capacity hears when it is free', async (t) => {
  const w = world(t)
  const free: number[] = []
  const forget = w.runner.onFreed(() => void free.push(w.runner.freeCapacity()))
  w.runner.accept(w.link.add(job('a')))
  assert.equal(w.runner.freeCapacity(), 0)
  await until(() => free.includes(1))
  w.runner.setCapacity(3)
  assert.equal(free.at(-1), 3)
  forget()
  w.runner.setCapacity(1)
  assert.equal(free.at(-1), 3)
})
