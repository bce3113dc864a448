import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listenSessions } from '../../../../src/controller/monitoring/listen/sessions.store.ts'
import { kit } from '../../../kit/kit.ts'
import { chunkNumber, send } from './chunks.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')

/** A node that has just sent a chunk, and somebody who may listen to it. */
async function studio() {
  const k = kit()
  const { id, node, agent } = await k.enroll()
  await send(agent, id, 1)
  const ann = k.person('ann', ['operator'], [['site', 'North']])
  const start = async (body: object = {}, principal = ann) =>
    (await principal.post(`/nodes/${id}/listen`, body)).json.data
  const poll = (sid: string, principal = ann, more = '') =>
    principal.get(`/nodes/${id}/listen/stream?sessionId=${sid}${more}`)
  const stop = (sid: string, principal = ann) => principal.delete(`/nodes/${id}/listen/${sid}`)
  return { k, id, node, agent, ann, start, poll, stop }
}

test('none -> POST -> live: the answer names where to listen and where to stop', async () => {
  const { k, id, ann } = await studio()
  const answer = await ann.post(`/nodes/${id}/listen`, { enhance: true })
  assert.equal(answer.status, 202)
  const { sessionId, ...rest } = answer.json.data
  assert.match(sessionId, /^listen_/)
  assert.deepEqual(rest, {
    enhance: true,
    mode: 'agent_audio_chunk',
    nodeId: id,
    startedAt: k.now(),
    stopUrl: `/api/v1/nodes/${id}/listen/${sessionId}`,
    streamUrl: `/api/v1/nodes/${id}/listen/stream?sessionId=${sessionId}`,
    targetLatencyMs: 1000,
  })
  await k.close()
})

test('before the first audio of the node the session says audio all the same: nothing else is ever sent', async () => {
  const { k, start } = await studio()
  k.advance('6s')
  const session = await start()
  assert.equal(session.mode, 'agent_audio_chunk')
  assert.equal(session.targetLatencyMs, 1500)
  await k.close()
})

test('the first answer of a session waits for the first chunk, the later ones do not', async () => {
  const { k, id, agent, start, poll } = await studio()
  k.advance('6s')
  const { sessionId } = await start()
  const first = poll(sessionId)
  // The recorder hears of the listener and sends; the answer has been waiting.
  await send(agent, id, 2)
  assert.equal((await first).status, 200)
  k.advance('6s')
  assert.equal((await poll(sessionId)).status, 409)
  await k.close()
})

test('only the literal true asks for enhanced audio', async () => {
  const { k, start } = await studio()
  for (const enhance of ['true', 1, null, [true], undefined]) assert.equal((await start({ enhance })).enhance, false)
  await k.close()
})

test('live -> GET stream -> live: polling keeps it for as long as it goes on', async () => {
  const { k, id, agent, start, poll } = await studio()
  const { sessionId } = await start()
  for (let i = 0; i < 5; i++) {
    k.advance('4m')
    await send(agent, id, i)
    assert.equal((await poll(sessionId)).status, 200)
  }
  await k.close()
})

test('live -> no poll for 300 s -> evicted: 404', async () => {
  const { k, id, agent, start, poll, stop } = await studio()
  const { sessionId } = await start()
  k.advance('301s')
  await send(agent, id, 2)
  const answer = await poll(sessionId)
  assert.equal(answer.status, 404)
  assert.equal((await stop(sessionId)).status, 404)
  await k.close()
})

test('how long a session waits for a poll is a setting', async () => {
  const k = kit({ env: { SVC_LISTEN_SESSION_TTL_SECONDS: '10' } })
  const { id, agent } = await k.enroll()
  const { sessionId } = (await k.as('admin').post(`/nodes/${id}/listen`)).json.data
  k.advance('11s')
  await send(agent, id, 1)
  assert.equal((await k.as('admin').get(`/nodes/${id}/listen/stream?sessionId=${sessionId}`)).status, 404)
  await k.close()
})

test('live -> DELETE -> stopped: 204, then 404 for all that follows', async () => {
  const { k, start, poll, stop } = await studio()
  const { sessionId } = await start()
  k.forget()
  assert.equal((await stop(sessionId)).status, 204)
  assert.equal((await stop(sessionId)).status, 404)
  assert.equal((await poll(sessionId)).status, 404)
  assert.deepEqual(k.trail(), [
    'listen.monitor.stop allowed',
    'listen.monitor.stop.succeeded succeeded',
    'listen.monitor.stop allowed',
    'listen.monitor.stop.failed failed session_not_found',
    'listen.monitor.stream allowed',
    'listen.monitor.stream.failed failed session_not_found',
  ])
  await k.close()
})

test('a session belongs to the one who started it: others get 404, a manager of nodes may stop it', async () => {
  const { k, start, poll, stop } = await studio()
  const { sessionId } = await start()
  const bob = k.person('bob', ['operator'], [['site', 'North']])
  assert.equal((await poll(sessionId, bob)).status, 404)
  assert.equal((await poll(sessionId, k.as('owner'))).status, 404)
  assert.equal((await stop(sessionId, bob)).status, 404)
  assert.equal((await poll(sessionId)).status, 200)
  assert.equal((await stop(sessionId, k.as('admin'))).status, 204)
  await k.close()
})

test('a session ends with its login: another login of the same person does not find it', async () => {
  const { k, start, poll } = await studio()
  const { sessionId } = await start()
  k.sql(`UPDATE sessions SET id = 'another-login' WHERE user_id = 'ann'`)
  assert.equal((await poll(sessionId)).status, 404)
  await k.close()
})

test('a session of one node is none of another', async () => {
  const { k, start, ann } = await studio()
  const { sessionId } = await start()
  const other = await k.enroll('B')
  assert.equal((await ann.get(`/nodes/${other.id}/listen/stream?sessionId=${sessionId}`)).status, 404)
  await k.close()
})

test('a permission or grant that is taken ends the listening at the next poll', async () => {
  const { k, start, poll } = await studio()
  const { sessionId } = await start()
  k.sql(`DELETE FROM user_grants WHERE user_id = 'ann'`)
  assert.equal((await poll(sessionId)).status, 403)
  await k.close()
})

test('no session named: 400', async () => {
  const { k, id, ann } = await studio()
  const answer = await ann.get(`/nodes/${id}/listen/stream`)
  assert.equal(answer.status, 400)
  assert.equal(answer.json.reason, 'session_required')
  await k.close()
})

test('an unknown node is 404 for those whom scope does not bind', async () => {
  const { k } = await studio()
  assert.equal((await k.as('admin').post('/nodes/nobody/listen')).status, 404)
  assert.equal((await k.as('admin').get('/nodes/nobody/listen/stream?sessionId=x')).status, 404)
  await k.close()
})

test('one room of a node is not enough to hear its mix: every channel must be in reach', async () => {
  const { k, id, node } = await studio()
  const iid = node.interfaces[0].id
  k.sql(`INSERT INTO rooms VALUES ('hall', 'North', 'Hall', NULL, NULL, NULL, NULL, ?, ?)`, k.now(), k.now())
  k.sql(`UPDATE channels SET room_id = 'hall' WHERE interface_id = ? AND idx = 1`, iid)
  const bob = k.person('bob', ['operator'], [['room', 'hall']])
  k.forget()
  const refused = await bob.post(`/nodes/${id}/listen`)
  assert.equal(refused.status, 403)
  assert.deepEqual(refused.json, { error: 'Forbidden', permission: 'listen:monitor' })
  assert.deepEqual(k.trail(), [
    'listen.monitor.start allowed',
    'listen.monitor.start.failed denied missing_resource_scope',
  ])
  k.sql(`UPDATE channels SET room_id = 'hall' WHERE interface_id = ?`, iid)
  assert.equal((await bob.post(`/nodes/${id}/listen`)).status, 202)
  await k.close()
})

test('a seat in the room that may listen is enough without a role', async () => {
  const { k, id, node } = await studio()
  k.sql(`INSERT INTO rooms VALUES ('hall', 'North', 'Hall', NULL, NULL, NULL, NULL, ?, ?)`, k.now(), k.now())
  k.sql(`UPDATE channels SET room_id = 'hall' WHERE interface_id = ?`, node.interfaces[0].id)
  const bob = k.person('bob', [])
  k.sql(`INSERT INTO room_roster VALUES ('hall', 'user', 'bob', 'view', 'manual', '')`)
  assert.equal((await bob.post(`/nodes/${id}/listen`)).status, 403)
  k.sql(`INSERT INTO room_roster VALUES ('hall', 'user', 'bob', 'listen', 'manual', '')`)
  const started = await bob.post(`/nodes/${id}/listen`)
  assert.equal(started.status, 202)
  const { sessionId } = started.json.data
  assert.equal(chunkNumber(bytes((await bob.get(`/nodes/${id}/listen/stream?sessionId=${sessionId}`)).text)), 1)
  await k.close()
})

test('a person who forgets to stop keeps so many sessions: the one unseen for longest goes', () => {
  let n = 0
  const ids = { make: () => `listen_${++n}`, uuid: () => '' }
  const stopped: string[] = []
  const sessions = listenSessions(ids, 300, (node) => stopped.push(node))
  const principal = { id: 'ann', sessionId: 's' } as never
  const now = '2026-03-02T09:00:00.000Z'
  for (let i = 0; i < 40; i++) sessions.start(principal, 'n1', false, now)
  assert.equal(sessions.count(now), 32)
  assert.equal(sessions.find('n1', 'listen_8', now), undefined)
  assert.ok(sessions.find('n1', 'listen_9', now))
})
