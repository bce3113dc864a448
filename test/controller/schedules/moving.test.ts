import assert from 'node:assert/strict'
import { test } from 'node:test'
import { house } from './world.ts'

test('an occurrence that cannot be moved: the answer says why', async () => {
  const { add, admin, k } = await house()
  const { id } = await add()
  const error = async (occurrenceStartAt: string) => {
    const { json, status } = await admin.post(`/schedules/${id}/move-occurrence`, {
      newStartAt: '2026-03-09T09:00:00Z',
      occurrenceStartAt,
    })
    assert.deepEqual([status, json.reason], [409, 'occurrence_not_movable'])
    return json.error
  }
  assert.equal(await error('2026-03-01T10:00:00Z'), 'A past occurrence cannot be moved')
  assert.match(await error('2026-03-02T10:00:01Z'), /^No occurrence of this schedule starts then/)
  await admin.patch(`/schedules/${id}`, { enabled: false })
  assert.match(await error('2026-03-02T10:00:00Z'), /^A disabled schedule/)
  await k.close()
})

test('two who skip the same occurrence skip one', async () => {
  const { add, admin, k } = await house()
  const { id, nextRunAt } = await add()
  const skip = () => admin.post(`/schedules/${id}/skip-next`, { nextRunAt })
  const both = await Promise.all([skip(), skip()])
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409])
  assert.equal(both.find(({ status }) => status === 409)?.json.reason, 'next_occurrence_changed')
  const { recurrence } = (await admin.get(`/schedules/${id}`)).json.data
  assert.deepEqual(recurrence.exceptions, [{ action: 'skip', date: '2026-03-02' }])
  await k.close()
})
