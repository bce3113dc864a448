import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { detachStore } from '../../../../src/controller/fleet/rooms/detach.store.ts'
import { kit } from '../../../kit/kit.ts'

async function hallWithRecordings(count: number) {
  const k = kit()
  await k.as('owner').post('/rooms', { id: 'hall', name: 'Hall', site: 'North' })
  k.sql(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO recordings (id, name, folder, source, status, recorded_at, room_id, updated_at)
     SELECT 'r' || i, 'Take', 'Ad Hoc', 'ad_hoc', 'cached', ?, 'hall', ? FROM n`,
    count,
    k.now(),
    k.now(),
  )
  k.forget()
  return k
}

const left = (k: Awaited<ReturnType<typeof hallWithRecordings>>) => [
  ...k.rows('SELECT count(*) AS n, count(room_id) AS rooms FROM recordings'),
  ...k.rows('SELECT count(*) AS noted FROM detached_recordings'),
]

test('a room with many recordings is deleted a few at a time; the recordings stay, without a room', async () => {
  const k = await hallWithRecordings(250)
  assert.equal((await k.as('owner').delete('/rooms/hall')).status, 204)
  assert.deepEqual(left(k), [{ n: 250, rooms: 0 }, { noted: 0 }])
  assert.deepEqual(k.trail(), ['rooms.delete allowed', 'rooms.delete.succeeded succeeded'])
  assert.equal((await k.as('owner').get('/recordings?limit=1')).json.meta.total, 250)
  await k.close()
})

test('a booked room keeps its recordings when its deletion is refused', async () => {
  const k = kit()
  await k.as('owner').post('/rooms', { id: 'hall', name: 'Hall', site: 'North' })
  k.sql(
    `INSERT INTO schedules (id, name, room_id, created_at, updated_at) VALUES ('s', 'S', 'hall', ?, ?)`,
    k.now(),
    k.now(),
  )
  k.sql(
    `INSERT INTO recordings (id, name, folder, source, status, recorded_at, room_id, updated_at)
     VALUES ('r', 'Take', 'Ad Hoc', 'ad_hoc', 'cached', ?, 'hall', ?)`,
    k.now(),
    k.now(),
  )
  const refused = await k.as('owner').delete('/rooms/hall')
  assert.deepEqual([refused.status, refused.json.reason], [409, 'room_in_use'])
  assert.deepEqual(k.rows('SELECT room_id AS room FROM recordings'), [{ room: 'hall' }])
  await k.close()
})

test('recordings come back to their room when it is booked while they are being detached', async () => {
  const k = await hallWithRecordings(250)
  const deleting = k.as('owner').delete('/rooms/hall')
  // Booked between two batches.
  while (k.rows('SELECT 1 FROM recordings WHERE room_id IS NULL').length === 0) await setImmediate()
  k.sql(
    `INSERT INTO schedules (id, name, room_id, created_at, updated_at) VALUES ('s', 'S', 'hall', ?, ?)`,
    k.now(),
    k.now(),
  )
  const refused = await deleting
  assert.deepEqual([refused.status, refused.json.reason], [409, 'room_in_use'])
  assert.deepEqual(left(k), [{ n: 250, rooms: 250 }, { noted: 0 }])
  await k.close()
})

test('recordings come back to their room at the next start when its deletion was interrupted', async () => {
  const k = await hallWithRecordings(250)
  // What a process leaves that is killed between two batches.
  k.sql(`INSERT INTO detachments (id, kind, owner_id) VALUES (7, 'room', 'hall')`)
  k.sql(`INSERT INTO detached_recordings (detachment_id, recording_id) SELECT 7, id FROM recordings LIMIT 200`)
  k.sql(`UPDATE recordings SET room_id = NULL WHERE id IN (SELECT recording_id FROM detached_recordings)`)
  await detachStore(k.db).recover()
  assert.deepEqual(left(k), [{ n: 250, rooms: 250 }, { noted: 0 }])
  await k.close()
})

test('a deleted room stays deleted when what was noted for its return cannot be cleared', async () => {
  const k = await hallWithRecordings(2)
  k.sql(`CREATE TRIGGER full BEFORE DELETE ON detached_recordings BEGIN SELECT RAISE(ABORT, 'disk'); END`)
  assert.equal((await k.as('owner').delete('/rooms/hall')).status, 204)
  assert.deepEqual(left(k), [{ n: 2, rooms: 0 }, { noted: 2 }])
  k.sql('DROP TRIGGER full')
  await detachStore(k.db).recover()
  assert.deepEqual(left(k), [{ n: 2, rooms: 0 }, { noted: 0 }])
  await k.close()
})

test('the next room of the same id gets nothing of the deleted one, made while its notes are cleared', async () => {
  const k = await hallWithRecordings(250)
  const deleting = k.as('owner').delete('/rooms/hall')
  // As soon as it is gone, before the second batch of notes.
  while (k.rows("SELECT 1 FROM rooms WHERE id = 'hall'").length > 0) await setImmediate()
  assert.ok(k.rows('SELECT 1 FROM detached_recordings').length > 0, 'its notes are still there')
  assert.equal((await k.as('owner').post('/rooms', { id: 'hall', name: 'Mine', site: 'South' })).status, 201)
  assert.equal((await deleting).status, 204)
  assert.deepEqual(left(k), [{ n: 250, rooms: 0 }, { noted: 0 }])
  await detachStore(k.db).recover()
  assert.deepEqual(left(k), [{ n: 250, rooms: 0 }, { noted: 0 }])
  await k.close()
})

test('what a rule denies is not deleted: the rule would not hold for its recordings any more', async () => {
  const k = await hallWithRecordings(2)
  k.sql("INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'room', 'hall', NULL)")
  const refused = await k.as('owner').delete('/rooms/hall')
  assert.deepEqual([refused.status, refused.json.reason], [403, undefined])
  const boss = k.person('tom', ['technician'], [['site', 'North']])
  k.sql("UPDATE access_policies SET subject_type = 'user', subject_id = 'nobody'")
  const answer = await boss.delete('/rooms/hall')
  assert.deepEqual([answer.status, answer.json.reason], [409, 'denied_by_rule'])
  assert.deepEqual(left(k), [{ n: 2, rooms: 2 }, { noted: 0 }])
  k.sql('DELETE FROM access_policies')
  assert.equal((await boss.delete('/rooms/hall')).status, 204)
  await k.close()
})

test('who sees one site makes no room or schedule of an id that was used elsewhere; the owner may', async () => {
  const k = kit()
  const owner = k.as('owner')
  assert.equal((await owner.post('/rooms', { id: 'hall', name: 'Hall', site: 'North' })).status, 201)
  const tom = k.person('tom', ['technician'], [['site', 'South']])
  const mine = { id: 'hall', name: 'Mine', site: 'South' }
  const [there, gone] = [
    await tom.post('/rooms', mine),
    (await owner.delete('/rooms/hall')) && (await tom.post('/rooms', mine)),
  ]
  assert.deepEqual([there.json.reason, gone.json.reason], ['id_used_before', 'id_used_before'], 'alike')
  assert.equal((await owner.get('/rooms/fresh')).status, 404)
  assert.equal(
    (await tom.post('/rooms', { ...mine, id: 'fresh' })).status,
    201,
    'to have asked for it is not to have made it',
  )
  assert.equal((await owner.post('/rooms', { ...mine, name: 'Again' })).status, 201)
  await k.close()
})
