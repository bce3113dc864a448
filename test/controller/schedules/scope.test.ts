import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type House, house } from './world.ts'

type Row = { id: string }
const seen = async (principal: ReturnType<House['k']['person']>) =>
  (await principal.get('/schedules')).json.data?.map((s: Row) => s.id).sort()

async function rooms() {
  const home = await house()
  await home.add({ id: 'in-hall' })
  await home.add({ id: 'in-booth', captureChannelSelection: [3] })
  return home
}

// Everything one may try with a schedule, and what it answers when it is allowed.
const TRIES: [method: string, path: string, body: object | undefined, status: number][] = [
  ['GET', '', undefined, 200],
  ['GET', '/actions', undefined, 200],
  ['GET', '/occurrences', undefined, 200],
  ['PATCH', '', { name: 'X' }, 200],
  ['POST', '/run-now', undefined, 202],
  ['POST', '/skip-next', undefined, 200],
  ['POST', '/move-occurrence', { occurrenceStartAt: '2026-03-03T10:00:00Z', newStartAt: '2026-03-03T12:00:00Z' }, 201],
  ['DELETE', '', undefined, 204],
]

const WAYS: [what: string, roles: 'operator' | undefined, grants: [string, string][], roster: string[]][] = [
  ['an operator with a grant on the room', 'operator', [['room', 'hall']], []],
  ['a person whose roster row lets them view and book', undefined, [], ['view', 'book']],
  [
    'an operator with a grant on the schedule, who needs the room for new ones',
    'operator',
    [
      ['room', 'hall'],
      ['schedule', 'in-hall'],
    ],
    [],
  ],
]

for (const [what, role, grants, roster] of WAYS)
  test(`${what} sees and manages exactly the schedules of the room`, async () => {
    const home = await rooms()
    const { admin, body, k } = home
    const principal = k.person('ann', role ? [role] : [], grants)
    const entries = [{ subjectType: 'user', subjectId: 'ann', capabilities: roster }]
    await admin.put('/rooms/hall/roster', { entries })
    if (role) assert.deepEqual(await seen(principal), ['in-hall'])
    else assert.equal((await principal.get('/schedules')).status, 403, 'a list has no room: only the permission counts')
    if (role) {
      const calendar = (await principal.get('/schedules/calendar')).json
      assert.equal(calendar.meta.scheduleCount, 1)
      assert.equal((await principal.get('/schedules/export')).text.split('\n').length, 2)
      assert.equal((await principal.post('/schedules/export', { scheduleIds: ['in-hall', 'in-booth'] })).status, 404)
    }
    for (const [method, path, sent] of TRIES)
      assert.equal((await principal.send(method, `/schedules/in-booth${path}`, sent)).status, 403, `${method} ${path}`)
    for (const [method, path, sent, status] of TRIES) {
      const answer = await principal.send(method, `/schedules/in-hall${path}`, sent)
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    }
    assert.equal((await principal.post('/schedules', body())).status, 201)
    assert.equal((await principal.post('/schedules', body({ captureChannelSelection: [3] }))).status, 403)
    await k.close()
  })

test('a schedule cannot be moved into a room that is not one’s own', async () => {
  const { k } = await rooms()
  const ann = k.person('ann', ['operator'], [['room', 'hall']])
  assert.equal((await ann.patch('/schedules/in-hall', { captureChannelSelection: [3] })).status, 403)
  assert.equal((await ann.patch('/schedules/in-hall', { captureChannelSelection: [1] })).status, 200)
  await k.close()
})

test('a grant on the node or its site lets one make schedules on any of its channels', async () => {
  const { body, k, nodeId } = await house()
  for (const [name, grant] of [
    ['ann', ['node', nodeId]],
    ['bob', ['site', 'North']],
  ] as [string, [string, string]][]) {
    const principal = k.person(name, ['operator'], [grant])
    for (const channel of [1, 3])
      assert.equal((await principal.post('/schedules', body({ captureChannelSelection: [channel] }))).status, 201, name)
  }
  const stranger = k.person('cid', ['operator'], [['site', 'South']])
  assert.equal((await stranger.post('/schedules', body())).status, 403)
  await k.close()
})

test('viewing is not booking, and a deny beats owner', async () => {
  const { admin, k } = await rooms()
  const entries = [{ subjectType: 'user', subjectId: 'ann', capabilities: ['view'] }]
  await admin.put('/rooms/hall/roster', { entries })
  const ann = k.person('ann', [])
  assert.equal((await ann.get('/schedules/in-hall')).status, 200)
  assert.equal((await ann.post('/schedules/in-hall/skip-next')).status, 403)
  k.sql(`INSERT INTO access_policies VALUES ('p', 0, 'deny', 'user', 'olga', 'room', 'hall', NULL)`)
  const olga = k.person('olga', ['owner'])
  assert.deepEqual(await seen(olga), ['in-booth'])
  assert.equal((await olga.get('/schedules/in-hall')).status, 403)
  await k.close()
})

test('settings named anew must be in scope; the built-ins are everybody’s', async () => {
  const { admin, body, k } = await house()
  const profile = (await admin.post('/settings/recording-profiles', { name: 'P', codec: 'wav', bitrateKbps: 128 })).json
    .data
  const ann = k.person('ann', ['operator'], [['room', 'hall']])
  const denied = await ann.post('/schedules', body({ recordingProfileId: profile.id }))
  assert.deepEqual([denied.status, denied.json.permission], [403, 'schedule:manage'])
  const { json } = await ann.post('/schedules', body())
  assert.equal((await ann.patch(`/schedules/${json.data.id}`, { recordingProfileId: profile.id })).status, 403)
  // What somebody else chose stays; it is not hers to judge.
  await admin.patch(`/schedules/${json.data.id}`, { recordingProfileId: profile.id })
  assert.equal(
    (await ann.patch(`/schedules/${json.data.id}`, { name: 'X', recordingProfileId: profile.id })).status,
    200,
  )
  await k.close()
})
