import assert from 'node:assert/strict'
import { rmSync, truncateSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { scratchDir } from '../../../kit/scratch.ts'
import { sound } from '../../../kit/sound.ts'
import { claimed, deliver, heard, offered, REPLICATED, uploaded } from './world.ts'

test('without the setting a job has no note, and the answer to a heartbeat says nothing of takes', async () => {
  const k = kit()
  const c = await claimed(k)
  assert.equal(c.note, undefined)
  const { json } = await c.agent.post(`/nodes/${c.id}/heartbeat`, { agentVersion: '1', hostname: 'hall' })
  assert.equal('kept' in json.data, false)
  await k.close()
})

test('a kept take is held until a destination has it, asked for when its bytes are gone, and let go of when it was deleted', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k)
  assert.equal(await heard(c), 'offer', 'it has not been delivered here')
  assert.equal((await deliver(c)).status, 201)
  assert.equal(await heard(c), 'hold')
  rmSync(k.takes, { recursive: true })
  assert.equal(await heard(c), 'offer')
  // The ordinary way, and idempotent.
  assert.equal((await deliver(c)).status, 201)
  assert.equal(await heard(c), 'hold')
  uploaded(k, c.recordingId)
  k.advance('1s')
  assert.equal(await heard(c), 'let_go')
  assert.equal((await k.as('admin').delete(`/recordings/${c.recordingId}`)).status, 204)
  assert.equal(await heard(c), 'let_go')
  assert.equal((await c.agent.post(`/nodes/${c.id}/recording-jobs/offer`, { note: c.note })).status, 409)
  await k.close()
})

test('a file that a power cut left empty is not here', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k)
  await deliver(c)
  const [file] = k.rows<{ path: string }>('SELECT path FROM recording_files')
  truncateSync(path.join(k.takes, file?.path ?? ''), 0)
  assert.equal(await heard(c), 'offer')
  await deliver(c)
  assert.equal(await heard(c), 'hold')
  await k.close()
})

test('a heartbeat is not lost by what it says of takes, and says nothing of those of others', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k)
  await deliver(c)
  const other = await k.enroll('Other')
  assert.equal(await heard({ ...other, recordingId: c.recordingId }), 'hold')
  for (const kept of ['x', [1], Array.from({ length: 17 }, (_, i) => `rec_${i}`)]) {
    const { json, status } = await c.agent.post(`/nodes/${c.id}/heartbeat`, {
      agentVersion: '1',
      hostname: 'hall',
      kept,
    })
    assert.deepEqual([status, 'kept' in json.data], [202, false])
  }
  await k.close()
})

test('a recording that got lost with its controller is made again by its note, once, and its take is delivered', async () => {
  const [one, two] = [kit(REPLICATED), kit(REPLICATED)]
  const lost = await claimed(one)
  await deliver(lost)
  const node = await two.enroll()
  assert.equal(node.id, lost.id)
  const again = { ...lost, agent: node.agent }
  assert.equal(await heard(again), 'offer')
  assert.equal((await deliver(again)).status, 404)
  two.forget()
  const offer = () => node.agent.post(`/nodes/${node.id}/recording-jobs/offer`, { note: lost.note })
  const { json, status } = await offer()
  assert.deepEqual([status, json.data.id, json.data.failureReason], [200, lost.jobId, 'lease_expired'])
  assert.deepEqual(two.trail(), ['recording_jobs.offer.succeeded succeeded'])
  assert.equal((await offer()).status, 200)
  assert.equal((await deliver(again)).status, 201)
  const { data } = (await two.as('admin').get(`/recordings/${lost.recordingId}`)).json
  assert.deepEqual([data.name, data.tags, data.status, data.cached], ['Lecture 7', ['physics'], 'cached', true])
  assert.equal((await two.as('admin').get('/recordings')).json.data.length, 1)
  assert.equal(await heard(again), 'hold')
  await one.close()
  await two.close()
})

test('a note opens for the recorder it was given to alone, and nothing else is one', async () => {
  const [one, two] = [kit(REPLICATED), kit(REPLICATED)]
  const { note } = await claimed(one)
  await two.enroll()
  const thief = await two.enroll('Thief')
  for (const text of [note, 'enc.v1:a:b:c', 'x', `${note}A`]) {
    const answer = await thief.agent.post(`/nodes/${thief.id}/recording-jobs/offer`, { note: text })
    assert.deepEqual([answer.status, answer.json.reason], [400, 'invalid_note'])
  }
  assert.deepEqual(two.rows('SELECT id FROM recordings'), [])
  await one.close()
  await two.close()
})

test('a take that was lost is no capture under way: what the device is to record next begins', async () => {
  const [one, two] = [kit(REPLICATED), kit(REPLICATED)]
  const other = await one.enroll('Other')
  // Ids count from one in either world.
  await one.as('admin').post('/recordings', { durationSeconds: 10, nodeId: other.id })
  const lost = await claimed(one)
  await two.enroll('Other')
  const node = await two.enroll()
  await node.agent.post(`/nodes/${node.id}/recording-jobs/offer`, { note: lost.note })
  const begun = await two.as('admin').post('/recordings', { durationSeconds: 10, nodeId: node.id })
  assert.equal(begun.status, 202, begun.text)
  await one.close()
  await two.close()
})

test('what is stored of a recording that was rebuilt is not replaced by way of its note', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k)
  const take = sound(50_000)
  await deliver(c, take)
  uploaded(k, c.recordingId)
  k.advance('30d')
  k.sql('DELETE FROM recording_jobs')
  assert.equal(await heard(c), 'let_go')
  const { json } = await offered(c)
  assert.equal(json.data.status, 'completed')
  for (const bytes of [sound(400), sound(60_000)]) {
    const answer = await deliver(c, bytes)
    assert.deepEqual([answer.status, answer.json.reason], [409, 'take_already_stored'])
  }
  assert.equal((await deliver(c, take)).status, 201, 'the same bytes may come again')
  await k.close()
})

test('what retention took before the recordings were rebuilt is let go of', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k)
  await deliver(c)
  k.sql('DELETE FROM recording_jobs')
  k.sql('DELETE FROM recording_files')
  k.sql("UPDATE recordings SET status = 'completed'")
  assert.equal(await heard(c), 'let_go')
  await k.close()
})

test('an offer while another job of the recording is under way leaves that one, and the recording, alone', async () => {
  const [one, two] = [kit(REPLICATED), kit(REPLICATED)]
  const lost = await claimed(one)
  const now = await claimed(two)
  assert.equal(now.recordingId, lost.recordingId)
  two.sql("UPDATE recording_jobs SET id = 'job_again'")
  const { json, status } = await offered({ ...now, note: lost.note })
  assert.deepEqual([status, json.data.id, json.data.status], [200, lost.jobId, 'failed'])
  assert.deepEqual(two.rows("SELECT status FROM recording_jobs WHERE id = 'job_again'"), [{ status: 'running' }])
  assert.deepEqual(two.rows('SELECT status FROM recordings'), [{ status: 'recording' }])
  assert.equal((await deliver(now)).json.reason, 'superseded_by_retry')
  await one.close()
  await two.close()
})

test('a deletion is remembered while recorders keep no takes, too', async () => {
  const dir = scratchDir('roomtone-deleted-')
  const file = path.join(dir, 'roomtone.db')
  const before = kit({ ...REPLICATED, file })
  const c = await claimed(before)
  await deliver(c)
  await before.close()
  const without = kit({ file })
  assert.equal((await without.as('admin').delete(`/recordings/${c.recordingId}`)).status, 204)
  await without.close()
  const k = kit({ ...REPLICATED, file })
  const agent = k.bearer(c.token)
  assert.equal(await heard({ ...c, agent }), 'let_go')
  assert.equal((await offered({ ...c, agent })).json.reason, 'recording_deleted')
  await k.close()
})

test('a clock that runs ahead for a while makes no deletion forgotten', async () => {
  const k = kit(REPLICATED)
  const gone = await claimed(k)
  await deliver(gone)
  k.advance('1m')
  const other = await claimed(k)
  await deliver(other)
  assert.equal((await k.as('admin').delete(`/recordings/${gone.recordingId}`)).status, 204)
  await k.jump('120d')
  assert.equal((await k.as('admin').delete(`/recordings/${other.recordingId}`)).status, 204)
  await k.jump('-120d')
  assert.equal(await heard(gone), 'let_go')
  k.advance('91d')
  const last = await claimed(k)
  await deliver(last)
  await k.as('admin').delete(`/recordings/${last.recordingId}`)
  assert.equal(await heard(gone), 'offer', 'it is forgotten after 90 days')
  await k.close()
})

test('the note of the widest channel map with the longest labels can be offered', async () => {
  const k = kit(REPLICATED)
  const label = (i: number) => `${i}${'漢'.repeat(157)}`
  const entries = Array.from({ length: 128 }, (_, i) => ({
    included: true,
    label: label(i),
    outputChannelIndex: i + 1,
    sourceChannelIndex: i + 1,
  }))
  const c = await claimed(k, undefined, { channelMap: { entries } })
  assert.ok(c.note.length > 80_000)
  assert.equal((await offered(c)).status, 200)
  await k.close()
})
