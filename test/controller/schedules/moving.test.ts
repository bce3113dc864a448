import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daily, finishAll, type House, house, pass, takes } from './world.ts'

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

/** A daily series whose occurrence of Tuesday was moved to three in the afternoon. */
async function movedOut(home: House, newStartAt = '2026-03-03T15:00:00Z') {
  const { add, admin, k } = home
  const { id } = await add()
  const { json } = await admin.post(`/schedules/${id}/move-occurrence`, {
    newStartAt,
    occurrenceStartAt: '2026-03-03T10:00:00Z',
  })
  k.forget()
  k.advance('1s')
  const body = { movedTo: json.data.id as string, updatedAt: json.data.updatedAt as string }
  const undo = async (as = admin, sent = body) => {
    const answer = await as.post(`/schedules/${id}/undo-move`, sent)
    return [answer.status, answer.json.reason]
  }
  return { ...body, body, id, undo }
}

test('a move is undone in one step: the date comes back, the copy goes, what others did meanwhile stays', async () => {
  const home = await house()
  const { admin, get, k } = home
  const { id, movedTo, undo } = await movedOut(home)
  const { recurrence } = await get(id)
  const holiday = { action: 'skip', date: '2026-03-09' }
  await admin.patch(`/schedules/${id}`, {
    recurrence: { ...recurrence, exceptions: [...recurrence.exceptions, holiday] },
  })
  k.forget()
  assert.deepEqual(await undo(), [200, undefined])
  assert.deepEqual(k.trail(), [
    'schedules.occurrence.undo_move allowed',
    'schedules.occurrence.undo_move.succeeded succeeded',
  ])
  assert.deepEqual((await get(id)).recurrence.exceptions, [holiday])
  assert.equal((await admin.get(`/schedules/${movedTo}`)).status, 404)
  assert.deepEqual(await undo(), [409, 'move_not_undoable'])
  for (const span of ['1h', '1d', '5h']) {
    await pass(k, span)
    finishAll(k)
  }
  assert.deepEqual(
    takes(k).map((take) => take.slice(0, 11)),
    ['03-02T10:00', '03-03T10:00'],
  )
  await k.close()
})

test('the date that comes back is the next one, where it is', async () => {
  const home = await house()
  const { admin, get, k } = home
  const { id, undo } = await movedOut(home)
  await admin.post(`/schedules/${id}/skip-next`)
  assert.equal((await get(id)).nextRunAt, '2026-03-04T10:00:00.000Z')
  assert.deepEqual(await undo(), [200, undefined])
  assert.equal((await get(id)).nextRunAt, '2026-03-03T10:00:00.000Z')
  await k.close()
})

test('a move is not undone where work or the lecture would be lost', async () => {
  const refused = [409, 'move_not_undoable']
  const pause = { action: 'pause', startDate: '2026-03-01', endDate: '2026-03-05' }
  const cases: [what: string, change: (home: House, moved: Awaited<ReturnType<typeof movedOut>>) => unknown][] = [
    ['the copy was changed', ({ admin }, { movedTo }) => admin.patch(`/schedules/${movedTo}`, { tags: ['x'] })],
    ['the copy was deleted', ({ admin }, { movedTo }) => admin.send('DELETE', `/schedules/${movedTo}`)],
    ['the series is off', ({ admin }, { id }) => admin.patch(`/schedules/${id}`, { enabled: false })],
    [
      'the series pauses',
      async ({ admin, get }, { id }) => {
        const { recurrence } = await get(id)
        const exceptions = [...recurrence.exceptions, pause]
        await admin.patch(`/schedules/${id}`, { recurrence: { ...recurrence, exceptions } })
      },
    ],
    [
      'the series has other days',
      async ({ admin, get }, { id }) => {
        const { exceptions } = (await get(id)).recurrence
        const recurrence = { ...daily, daysOfWeek: ['friday'], exceptions, mode: 'weekly' }
        await admin.patch(`/schedules/${id}`, { recurrence })
      },
    ],
    ['the date is over', ({ k }) => k.advance('26h')],
  ]
  for (const [what, change] of cases) {
    const home = await house()
    const moved = await movedOut(home)
    await change(home, moved)
    const before = await home.get(moved.id)
    assert.deepEqual(await moved.undo(), refused, what)
    assert.deepEqual(await home.get(moved.id), before, what)
    await home.k.close()
  }
  const home = await house()
  const { undo } = await movedOut(home, '2026-03-02T09:30:00Z')
  await pass(home.k, '31m')
  assert.deepEqual(await undo(), refused, 'the copy has begun')
  await home.k.close()
})

test('whose copy is moved to a room that is not one’s own does not delete it', async () => {
  const home = await house()
  const { admin, k } = home
  const { body, movedTo, undo } = await movedOut(home)
  const ann = k.person('ann', ['operator'], [['room', 'hall']])
  const { json } = await admin.patch(`/schedules/${movedTo}`, { captureChannelSelection: [3] })
  const sent = { ...body, updatedAt: json.data.updatedAt }
  assert.deepEqual(await undo(ann, sent), [403, undefined])
  assert.deepEqual(await undo(admin, sent), [200, undefined])
  await k.close()
})
