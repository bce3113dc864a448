import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topics } from '../../../src/controller/scheduler/notifier.ts'
import { kit } from '../../kit/kit.ts'

async function world() {
  const k = kit()
  const { id, agent } = await k.enroll()
  const admin = k.as('admin')
  const config = async (more = '', headers = {}) => agent.get(`/nodes/${id}/config${more}`, headers)
  const demand = async () => {
    const { liveListen, monitorEnhancement } = (await config()).json.data
    return [liveListen.requested, monitorEnhancement.requested]
  }
  const start = async (enhance: boolean) =>
    (await admin.post(`/nodes/${id}/listen`, { enhance })).json.data.sessionId as string
  return { k, id, admin, config, demand, start }
}

test('the config says whether anybody listens, and whether to enhanced audio', async () => {
  const { k, id, admin, demand, start } = await world()
  assert.deepEqual(await demand(), [false, false])
  const raw = await start(false)
  assert.deepEqual(await demand(), [true, false])
  const enhanced = await start(true)
  assert.deepEqual(await demand(), [true, true])
  await admin.delete(`/nodes/${id}/listen/${enhanced}`)
  assert.deepEqual(await demand(), [true, false])
  await admin.delete(`/nodes/${id}/listen/${raw}`)
  assert.deepEqual(await demand(), [false, false])
  await k.close()
})

test('live, enhance -> last poll more than 15 s ago -> no longer requested; the next poll requests it again', async () => {
  const { k, id, admin, demand, start } = await world()
  const sid = await start(true)
  k.advance('15s')
  assert.deepEqual(await demand(), [true, true])
  k.advance('1s')
  assert.deepEqual(await demand(), [false, false])
  await admin.get(`/nodes/${id}/listen/stream?sessionId=${sid}&waitSeconds=0`)
  assert.deepEqual(await demand(), [true, true])
  await k.close()
})

test('a listener of one node asks nothing of another', async () => {
  const { k, start } = await world()
  await start(true)
  const other = await k.enroll('B')
  assert.equal((await other.agent.get(`/nodes/${other.id}/config`)).json.data.liveListen.requested, false)
  await k.close()
})

test('a long poll hears at once that somebody listens', async () => {
  const { k, id, config, start } = await world()
  const first = await config()
  const etag = first.headers.get('etag') as string
  assert.match(etag, /^"[\w-]+"$/)
  const waiting = config('?waitSeconds=25', { 'if-none-match': etag })
  while (k.notifier.listeners(topics.config(id)) === 0) await new Promise((resolve) => setImmediate(resolve))
  await start(false)
  const second = await waiting
  assert.equal(second.json.data.liveListen.requested, true)
  assert.notEqual(second.headers.get('etag'), etag)
  await k.close()
})

test('a long poll hears at once of other capacities, audio defaults and retention policies', async () => {
  const { k, id, admin, config } = await world()
  const policy = { action: 'delete_cache', name: 'Week', enabled: true, maxAgeDays: 7, scope: 'recorder_cache' }
  const changes: [what: string, act: () => Promise<{ status: number }>][] = [
    ['recordingCapacity', () => admin.patch(`/nodes/${id}`, { recordingCapacity: { maxConcurrentRecordings: 3 } })],
    ['audioDefaults', () => admin.patch(`/nodes/${id}`, { audioDefaults: { captureChannels: 4 } })],
    ['recorderCachePolicies', () => admin.post('/settings/retention-policies', policy)],
  ]
  for (const [what, act] of changes) {
    const known = await config()
    const waiting = config('?waitSeconds=25', { 'if-none-match': known.headers.get('etag') as string })
    while (k.notifier.listeners(topics.config(id)) === 0) await new Promise((resolve) => setImmediate(resolve))
    assert.ok((await act()).status < 300, what)
    assert.notDeepEqual((await waiting).json.data[what], known.json.data[what])
  }
  await k.close()
})

test('a config that is another one already is not waited for; without a change the answer is the same config', async () => {
  const { k, config, start } = await world()
  const { headers } = await config()
  await start(false)
  const etag = headers.get('etag') as string
  assert.equal((await config('?waitSeconds=30', { 'if-none-match': etag })).json.data.liveListen.requested, true)
  const now = (await config()).headers.get('etag') as string
  const waiting = config('?waitSeconds=30', { 'if-none-match': now })
  k.notifier.close()
  assert.equal((await waiting).headers.get('etag'), now)
  assert.equal((await config('?waitSeconds=31')).status, 400)
  await k.close()
})
