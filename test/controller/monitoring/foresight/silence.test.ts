// A recorder that goes silent just before it is needed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lines, watched } from './world.ts'

/** The recorder is well until so many seconds before the recording at 10:00. */
async function before(seconds: number) {
  const world = await watched()
  world.runtime.heartbeatSeconds = 5
  await world.add({ name: 'Lecture' })
  const left = (Date.parse('2026-03-02T10:00:00Z') - Date.parse(world.k.now())) / 1000
  await world.pass(left - seconds)
  assert.deepEqual(lines(world), [])
  return world
}

test('one that stops a minute before is told in half a minute, names what is at stake, and stays until it begins', async () => {
  const world = await before(60)
  const { agent, beat, k, nodeId, pass, told } = world
  await pass(20, true)
  assert.deepEqual(lines(world), [], 'a heartbeat or two may be lost')
  await pass(10, true)
  assert.deepEqual(lines(world), ['recorder_offline critical open'])
  assert.deepEqual(
    [told()[0]?.details.scheduleName, told()[0]?.details.nextStart],
    ['Lecture', '2026-03-02T10:00:00.000Z'],
  )
  await pass(90, true)
  assert.equal(k.rows('SELECT 1 FROM recording_jobs').length, 1, 'it is due')
  assert.deepEqual(lines(world), ['recorder_offline critical open'], 'and it has not begun')
  await beat()
  await agent.post(`/nodes/${nodeId}/recording-jobs/claim-next`)
  await pass(30)
  assert.deepEqual(lines(world), ['recorder_offline critical take_began'])
  await k.close()
})

test('one that is not needed soon, or does not say how often it reports, is not doubted', async () => {
  const world = await before(1200)
  await world.pass(60, true)
  assert.deepEqual(lines(world), [])
  await world.k.close()
  const older = await watched()
  await older.add()
  await older.pass((Date.parse('2026-03-02T10:00:00Z') - Date.parse(older.k.now())) / 1000 - 60)
  await older.pass(50, true)
  assert.deepEqual(lines(older), [])
  await older.k.close()
})

test('one that reports slowly is doubted later', async () => {
  const world = await watched()
  const { k, pass, runtime } = world
  runtime.heartbeatSeconds = 30
  await world.add()
  await pass((Date.parse('2026-03-02T10:00:00Z') - Date.parse(k.now())) / 1000 - 300)
  await pass(110, true)
  assert.deepEqual(lines(world), [])
  await pass(20, true)
  assert.deepEqual(lines(world), ['recorder_offline critical open'])
  await k.close()
})
