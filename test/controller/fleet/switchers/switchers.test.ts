import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { changes, desired } from '../../../../src/controller/fleet/switchers/switchers.rules.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { type Matrix, matrix } from '../../../kit/matrix.ts'

function rooms(k: Kit): void {
  for (const id of ['hall', 'booth'])
    k.sql(
      'INSERT INTO rooms VALUES (?, ?, ?, NULL, NULL, NULL, NULL, ?, ?)',
      id,
      'North',
      `Room ${id}`,
      k.now(),
      k.now(),
    )
}
const SWITCHER = { displayName: 'Foyer', host: '127.0.0.1', id: 'foyer', port: 1 }

test('create, read, change and delete; the password goes in and never comes out', async () => {
  const k = kit()
  const owner = k.as('owner')
  const made = await owner.post('/settings/switchers', { ...SWITCHER, password: 'matrix-secret', username: 'svc' })
  assert.equal(made.status, 201, made.text)
  const { createdAt: _, updatedAt: __, ...data } = made.json.data
  assert.deepEqual(data, {
    displayName: 'Foyer',
    enabled: true,
    hasPassword: true,
    host: '127.0.0.1',
    id: 'foyer',
    inputs: 24,
    mode: 'observe',
    model: 'avpro-ac-max',
    outputs: 24,
    port: 1,
    username: 'svc',
  })
  assert.equal((await owner.post('/settings/switchers', SWITCHER)).json.reason, 'switcher_exists')
  const patched = await owner.patch('/settings/switchers/foyer', { mode: 'enforce', password: '', username: null })
  assert.deepEqual(
    [patched.json.data.mode, patched.json.data.hasPassword, patched.json.data.username],
    ['enforce', false, undefined],
  )
  for (const wrong of [{}, { model: 'avpro-ac-max' }, { port: 0 }, { mode: 'off' }, { host: 'a b' }])
    assert.equal((await owner.patch('/settings/switchers/foyer', wrong)).status, 400, JSON.stringify(wrong))
  assert.equal((await owner.delete('/settings/switchers/foyer')).status, 204)
  assert.equal((await owner.get('/settings/switchers/foyer')).status, 404)
  const kept = JSON.stringify([k.rows('SELECT * FROM audit_events'), k.rows('SELECT * FROM switchers'), k.logged])
  assert.equal(kept.includes('matrix-secret'), false)
  await k.close()
})

test('without a grant nobody but owner and admin learns of a switcher, its host or any person', async () => {
  const k = kit()
  rooms(k)
  k.person('ann', ['viewer'])
  await k.as('owner').post('/settings/switchers', SWITCHER)
  const map = { inputs: [{ input: 1, roomId: 'hall' }], outputs: [{ output: 1, userId: 'ann' }] }
  assert.equal((await k.as('admin').put('/settings/switchers/foyer/mappings', map)).status, 200)
  for (const role of ['operator', 'viewer'] as const) {
    const principal = k.as(role)
    assert.deepEqual((await principal.get('/settings/switchers')).json.data, [])
    for (const path of ['', '/mappings']) {
      const { json, status } = await principal.get(`/settings/switchers/foyer${path}`)
      assert.deepEqual([status, json], [403, { error: 'Forbidden', permission: 'switcher:read' }])
    }
    const { rooms, users } = (await principal.get('/settings/switcher-mapping-options')).json.data
    assert.deepEqual([rooms, users.length > 0], [[], role === 'operator'], role)
  }
  assert.equal((await k.as('operator').put('/settings/switchers/foyer/mappings', map)).status, 403)
  const hall = k.person('hal', ['viewer'], [['room', 'hall']])
  assert.equal((await hall.get('/settings/switchers/foyer')).json.data.host, '127.0.0.1')
  assert.deepEqual((await hall.get('/settings/switchers/foyer/mappings')).json.data.outputs, [])
  await k.close()
})

test('an operator with a grant reads and maps, and manages nothing; a viewer only reads', async () => {
  const k = kit()
  rooms(k)
  await k.as('owner').post('/settings/switchers', SWITCHER)
  for (const grant of ['switcher foyer', 'room hall'] as const)
    for (const role of ['operator', 'viewer'] as const) {
      const [type, id] = grant.split(' ') as [string, string]
      k.as(role)
      k.person(role, [role], [[type, id]])
    }
  const operator = k.as('operator')
  assert.equal((await operator.get('/settings/switchers')).json.data.length, 1)
  assert.equal((await operator.get('/settings/switchers/foyer')).status, 200)
  const mappings = { inputs: [{ input: 1, roomId: 'hall' }], outputs: [] }
  assert.equal((await operator.put('/settings/switchers/foyer/mappings', mappings)).status, 200)
  assert.equal((await operator.delete('/settings/switchers/foyer')).status, 403)
  assert.equal((await operator.post('/settings/switchers/foyer/test')).status, 403)
  const viewer = k.as('viewer')
  assert.equal((await viewer.get('/settings/switchers/foyer/mappings')).json.data.inputs.length, 1)
  assert.equal((await viewer.put('/settings/switchers/foyer/mappings', mappings)).status, 403)
  await k.close()
})

test('mappings are replaced whole; anything twice, unknown or beyond the model changes nothing', async () => {
  const k = kit()
  rooms(k)
  const owner = k.as('owner')
  k.person('ann', ['viewer'])
  k.person('bob', ['viewer'])
  await owner.post('/settings/switchers', SWITCHER)
  const good = {
    inputs: [
      { input: 2, roomId: 'booth' },
      { input: 1, roomId: 'hall' },
    ],
    outputs: [{ output: 3, userId: 'ann' }],
  }
  const put = (body: object) => owner.put('/settings/switchers/foyer/mappings', body)
  const answer = await put(good)
  assert.deepEqual(
    answer.json.data.inputs.map((one: { input: number }) => one.input),
    [1, 2],
  )
  assert.equal(answer.json.data.outputs[0].userEmail, 'ann@example.org')
  const wrong = [
    { ...good, inputs: [{ input: 25, roomId: 'hall' }] },
    {
      ...good,
      inputs: [
        { input: 1, roomId: 'hall' },
        { input: 1, roomId: 'booth' },
      ],
    },
    {
      ...good,
      inputs: [
        { input: 1, roomId: 'hall' },
        { input: 2, roomId: 'hall' },
      ],
    },
    { ...good, inputs: [{ input: 1, roomId: 'nowhere' }] },
    {
      ...good,
      outputs: [
        { output: 3, userId: 'ann' },
        { output: 3, userId: 'bob' },
      ],
    },
    {
      ...good,
      outputs: [
        { output: 3, userId: 'ann' },
        { output: 4, userId: 'ann' },
      ],
    },
    { ...good, outputs: [{ output: 3, userId: 'nobody' }] },
  ]
  for (const body of wrong) {
    const refused = await put(body)
    assert.deepEqual([refused.status, refused.json.reason], [400, 'invalid_mapping'], JSON.stringify(body))
  }
  assert.deepEqual((await owner.get('/settings/switchers/foyer/mappings')).json, answer.json)
  k.sql(`DELETE FROM rooms WHERE id = 'hall'`)
  assert.equal((await owner.get('/settings/switchers/foyer/mappings')).json.data.inputs.length, 1)
  const options = (await owner.get('/settings/switcher-mapping-options')).json.data
  assert.deepEqual(options.rooms, [{ id: 'booth', name: 'Room booth', site: 'North' }])
  await k.close()
})

test('a person live in several rooms gets the lowest input; idle outputs are left alone', () => {
  const wiring = {
    inputs: [
      { input: 5, roomId: 'hall' },
      { input: 2, roomId: 'booth' },
    ],
    outputs: [
      { output: 1, userId: 'ann' },
      { output: 2, userId: 'bob' },
      { output: 3, userId: 'cat' },
    ],
  }
  const live = [
    { roomId: 'hall', userIds: ['ann', 'bob'] },
    { roomId: 'booth', userIds: ['ann'] },
    { roomId: 'attic', userIds: ['cat'] },
  ]
  const { conflicts, routes } = desired(wiring, live)
  assert.deepEqual(
    [...routes],
    [
      [1, 2],
      [2, 5],
    ],
  )
  assert.deepEqual(conflicts, [{ candidates: [2, 5], output: 1 }])
  assert.deepEqual(
    changes(
      routes,
      new Map([
        [1, 2],
        [2, 0],
        [3, 9],
      ]),
    ),
    [{ from: 0, output: 2, to: 5 }],
  )
})

describe('the routing runner', () => {
  let device: Matrix
  before(async () => {
    device = await matrix()
  })
  after(() => device.close())

  /** A meeting in the hall with Ann, whose desk is output 3; the hall is input 7. */
  async function world(mode: string): Promise<Kit> {
    const k = kit()
    rooms(k)
    device.routes.fill(0)
    device.instead.clear()
    device.commands = []
    k.person('ann', ['viewer'])
    const owner = k.as('owner')
    await owner.post('/settings/switchers', { ...SWITCHER, mode, port: device.port })
    const mappings = { inputs: [{ input: 7, roomId: 'hall' }], outputs: [{ output: 3, userId: 'ann' }] }
    assert.equal((await owner.put('/settings/switchers/foyer/mappings', mappings)).status, 200)
    const { id } = await k.enroll('Recorder')
    k.sql(`UPDATE nodes SET room_id = 'hall' WHERE id = ?`, id)
    const scheduled = await owner.post('/schedules', {
      assignedUserIds: ['ann'],
      folderTemplate: 'F',
      name: 'Meeting',
      nodeId: id,
      recordingProfileId: 'voice-mp3-vbr',
      recurrence: { mode: 'always_on' },
      room: 'Hall',
      timezone: 'UTC',
      titleTemplate: 'T',
      watchdogPolicyId: 'scheduled-voice-watchdog',
    })
    assert.equal(scheduled.status, 201, scheduled.text)
    k.forget()
    return k
  }
  const told = (k: Kit): string[] => k.trail().filter((row) => row.startsWith('switchers.'))

  test('observe tells what it would change, once, and changes nothing', async () => {
    const k = await world('observe')
    await k.tick('switcher-routing')
    await k.tick('switcher-routing')
    assert.equal(device.routes[3], 0)
    assert.deepEqual(told(k), ['switchers.reconcile.observed succeeded'])
    assert.equal(
      device.commands.some((command) => command.startsWith('SET')),
      false,
    )
    await k.close()
  })

  test('enforce sets owned outputs only, and tells each change', async () => {
    const k = await world('enforce')
    device.routes[4] = 9
    await k.tick('switcher-routing')
    assert.deepEqual([device.routes[3], device.routes[4]], [7, 9])
    await k.tick('switcher-routing')
    assert.deepEqual(told(k), ['switchers.reconcile.succeeded succeeded'])
    device.routes[3] = 1
    await k.tick('switcher-routing')
    assert.equal(device.routes[3], 7)
    const [row] = k.rows<{ details: string }>(
      `SELECT details FROM audit_events WHERE action = 'switchers.reconcile.succeeded' ORDER BY seq DESC LIMIT 1`,
    )
    assert.deepEqual(JSON.parse(row!.details).applied, [{ from: 1, output: 3, to: 7 }])
    await k.close()
  })

  test('a switcher that does not answer opens one event and resolves it when it is back', async () => {
    const k = await world('enforce')
    device.instead.set('GET OUT0', 'close')
    await k.tick('switcher-routing')
    await k.tick('switcher-routing')
    const events = () =>
      k.rows<{ status: string }>(`SELECT status FROM health_events WHERE type = 'switcher.unreachable'`)
    assert.deepEqual(
      events().map((one) => one.status),
      ['open'],
    )
    assert.deepEqual(told(k), ['switchers.reconcile.failed failed switcher_connection_lost'])
    device.instead.clear()
    await k.tick('switcher-routing')
    assert.deepEqual(
      events().map((one) => one.status),
      ['resolved'],
    )
    assert.equal(device.routes[3], 7)
    device.instead.set('GET OUT0', 'close')
    await k.tick('switcher-routing')
    assert.deepEqual(
      events()
        .map((one) => one.status)
        .sort(),
      ['open', 'resolved'],
    )
    await k.as('owner').patch('/settings/switchers/foyer', { mode: 'disabled' })
    await k.tick('switcher-routing')
    assert.deepEqual(
      events().map((one) => one.status),
      ['resolved', 'resolved'],
    )
    await k.close()
  })

  test('deleting a switcher that cannot be reached resolves its event', async () => {
    const k = await world('enforce')
    device.instead.set('GET OUT0', 'close')
    await k.tick('switcher-routing')
    assert.equal((await k.as('owner').delete('/settings/switchers/foyer')).status, 204)
    assert.equal(k.rows(`SELECT 1 FROM health_events WHERE status = 'resolved'`).length, 1)
    await k.close()
  })

  test('test, snapshot and restore through the API', async () => {
    const k = await world('observe')
    const owner = k.as('owner')
    assert.equal((await owner.post('/settings/switchers/foyer/test')).json.data.ok, true)
    device.routes[5] = 4
    const { snapshot } = (await owner.get('/settings/switchers/foyer/config-snapshot')).json.data
    device.routes.fill(0)
    const restored = await owner.post('/settings/switchers/foyer/restore', { snapshot })
    assert.deepEqual([restored.status, restored.json.data], [200, { id: 'foyer', restored: true }])
    assert.equal(device.routes[5], 4)
    const [told] = k.rows<{ after: string; before: string }>(
      `SELECT before, after FROM audit_events WHERE action = 'settings.switchers.restore.succeeded'`,
    )
    const routes = (text = '') => JSON.parse(text).routes
    assert.deepEqual([routes(told?.before)[5], routes(told?.after)[5]], [0, 4])
    device.instead.set('GET CONFIG', 'close')
    const failed = await owner.get('/settings/switchers/foyer/config-snapshot')
    assert.deepEqual([failed.status, failed.json.error], [502, 'Snapshot failed'])
    for (const nothing of ['', 'GET CONFIG'])
      assert.equal((await owner.post('/settings/switchers/foyer/restore', { snapshot: nothing })).status, 400)
    await k.close()
  })
})
