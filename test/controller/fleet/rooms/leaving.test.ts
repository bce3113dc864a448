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
  k.sql(
    `INSERT INTO detached_recordings (kind, owner_id, recording_id) SELECT 'room', 'hall', id FROM recordings LIMIT 200`,
  )
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
