import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

test('a room with many recordings is deleted a few at a time; the recordings stay, without a room', async () => {
  const k = kit()
  await k.as('owner').post('/rooms', { id: 'hall', name: 'Hall', site: 'North' })
  k.sql(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
     INSERT INTO recordings (id, name, folder, source, status, recorded_at, room_id, updated_at)
     SELECT 'r' || i, 'Take', 'Ad Hoc', 'ad_hoc', 'cached', ?, 'hall', ? FROM n`,
    k.now(),
    k.now(),
  )
  k.forget()
  assert.equal((await k.as('owner').delete('/rooms/hall')).status, 204)
  assert.deepEqual(k.rows('SELECT count(*) AS n, count(room_id) AS rooms FROM recordings'), [{ n: 250, rooms: 0 }])
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
