// How much one pass of a runner takes on is a setting; what it leaves has its turn in the next ones.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rounds } from '../../../src/controller/scheduler/rounds.ts'
import { type Kit, kit } from '../../kit/kit.ts'
import { level, ONLY, stand, watched } from '../monitoring/watchdog/world.ts'
import { house, pass } from '../schedules/world.ts'

const resultOf = async (k: Kit, runner: string) => {
  await k.tick(runner)
  return k.ticker.status().find(({ name }) => name === runner)?.lastResult as Record<string, number>
}

test('everyone has a turn before anybody has a second, whoever comes and goes', () => {
  const rounds = new Rounds(2)
  const turns = (...all: string[]): string => {
    rounds.begin()
    const given = all.filter((id) => rounds.turn(id))
    rounds.end(new Set(all))
    return given.join('')
  }
  assert.equal(turns('a', 'b', 'c'), 'ab')
  assert.equal(turns('a', 'b', 'c'), 'c')
  assert.equal(turns('a', 'b', 'c', 'd'), 'ab')
  assert.equal(turns('b', 'c', 'd', 'e'), 'cd')
  assert.equal(turns('b', 'c', 'd', 'e'), 'e')
  assert.equal(turns('b'), 'b')
  assert.equal(turns('b'), 'b')
  assert.equal(turns(), '')
})

test('SVC_SCHEDULE_RUNNER_BATCH_SIZE', async () => {
  const { add, k } = await house({ env: { SVC_SCHEDULE_RUNNER_BATCH_SIZE: '2' } })
  k.sql('UPDATE nodes SET max_concurrent = 8')
  for (const channel of [1, 2, 3]) await add({ captureChannelSelection: [channel] })
  assert.deepEqual(await pass(k, '1h'), { started: 2 })
  assert.deepEqual(await pass(k), { started: 1 })
  assert.deepEqual(await pass(k), {})
  await k.close()
})

test('SVC_RECORDING_JOB_LEASE_RUNNER_BATCH_SIZE', async () => {
  const k = kit({ env: { SVC_RECORDING_JOB_LEASE_RUNNER_BATCH_SIZE: '2' } })
  for (const alias of ['A', 'B', 'C']) {
    const { agent, id } = await k.enroll(alias)
    await k.as('admin').post('/recordings', { nodeId: id })
    await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  }
  k.advance('1m')
  assert.deepEqual(await resultOf(k, 'job-lease'), { expired: 2, unclaimed: 0 })
  assert.deepEqual(await resultOf(k, 'job-lease'), { expired: 1, unclaimed: 0 })
  await k.close()
})

test('SVC_WATCHDOG_RUNNER_BATCH_SIZE', async () => {
  const { hear, k, record } = await watched(ONLY.signal, {}, { SVC_WATCHDOG_RUNNER_BATCH_SIZE: '1' })
  for (const channel of [1, 2]) await record({ captureChannelSelection: [channel] })
  const quiet = [level({ rms: -70 }), level({ channelIndex: 2, rms: -70 })]
  await k.tick('watchdog')
  await hear(60, quiet)
  await hear(60, quiet)
  await hear(60, quiet)
  assert.deepEqual(stand(k), ['scheduled_low_signal open', 'scheduled_low_signal open'])
  const { looked, watched: all } = await resultOf(k, 'watchdog')
  assert.deepEqual([looked, all], [1, 2])
  await k.close()
})

test('SVC_SWITCHER_ROUTING_RUNNER_BATCH_SIZE', async () => {
  const k = kit({ env: { SVC_SWITCHER_ROUTING_RUNNER_BATCH_SIZE: '2' } })
  const owner = k.as('owner')
  k.sql(`INSERT INTO rooms (id, site, name, created_at, updated_at) VALUES ('hall', 'North', 'Hall', '', '')`)
  for (const id of ['a', 'b', 'c']) {
    const made = await owner.post('/settings/switchers', { displayName: id, host: '127.0.0.1', id, port: 1 })
    assert.equal(made.status, 201, made.text)
    const mapped = await owner.put(`/settings/switchers/${id}/mappings`, {
      inputs: [{ input: 1, roomId: 'hall' }],
      outputs: [{ output: 1, userId: 'owner' }],
    })
    assert.equal(mapped.status, 200, mapped.text)
  }
  assert.equal((await resultOf(k, 'switcher-routing')).switchers, 2)
  assert.equal((await resultOf(k, 'switcher-routing')).switchers, 1)
  await k.close()
})
