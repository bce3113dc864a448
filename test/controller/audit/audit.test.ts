import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemActor } from '../../../src/controller/http/principal.ts'
import { type Kit, kit } from '../../kit/kit.ts'

const AT = '2026-03-01T00:00:00.000Z'

/** Two nodes on two sites, two rooms, a recording and a job on each, and one event about everything. */
function world() {
  const k = kit()
  const insert = (table: string, row: Record<string, unknown>) =>
    k.sql(
      `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row).map(() => '?')})`,
      ...Object.values(row),
    )
  for (const n of ['1', '2']) {
    const common = { created_at: AT, updated_at: AT }
    insert('rooms', { id: `room${n}`, site: `site${n}`, name: `Room ${n}`, ...common })
    const place = { alias: `n${n}`, hostname: 'h', site: `site${n}`, room: 'x', room_id: `room${n}`, last_seen_at: AT }
    insert('nodes', { id: `node${n}`, ...place, ...common })
    const names = { match_key: 'hw:0', position: 0, system_ref: 'hw:0', system_name: 'hw:0', alias: 'card' }
    insert('interfaces', { id: `if${n}`, node_id: `node${n}`, ...names, backend: 'alsa', channel_count: 3 })
    for (const idx of [1, 3]) insert('channels', { interface_id: `if${n}`, idx, alias: `${idx}` })
    const take = { name: 'x', folder: 'x', source: 'ad_hoc', status: 'cached', recorded_at: AT, updated_at: AT }
    insert('recordings', { id: `rec${n}`, ...take, node_id: `node${n}`, room_id: `room${n}` })
    const job = { recording_id: `rec${n}`, node_id: `node${n}`, status: 'completed', command: '{}', created_at: AT }
    insert('recording_jobs', { id: `job${n}`, ...job })
    insert('health_events', { id: `he${n}`, type: 'x', severity: 'info', recording_id: `rec${n}`, opened_at: AT })
    insert('health_events', { id: `hn${n}`, type: 'x', severity: 'info', node_id: `node${n}`, opened_at: AT })
  }
  const write = (type: string, id?: string, now = AT) =>
    k.pipeline.audit.write(
      { action: `test.${type}`, actor: systemActor('x'), outcome: 'succeeded', target: id ? { type, id } : { type } },
      now,
    )
  for (const n of ['1', '2']) {
    for (const [type, id] of Object.entries({ ...RESOURCES, channel: `if${n}:1` })) write(type, id.replace('#', n))
    write('channel', `node${n}:if${n}:3`)
    write('health_event', `hn${n}`)
  }
  write('user', 'someone')
  write('node')
  return { k, write }
}
const RESOURCES = {
  node: 'node#',
  room: 'room#',
  recording: 'rec#',
  recording_job: 'job#',
  interface: 'if#',
  health_event: 'he#',
  recording_profile: 'profile#',
  upload_policy: 'policy#',
}
const ALL = [
  ...['channel if1:1', 'channel node1:if1:3', 'health_event he1', 'health_event hn1', 'interface if1', 'node node1'],
  ...['recording rec1', 'recording_job job1', 'recording_profile profile1', 'room room1', 'upload_policy policy1'],
]
const OPEN = ['node -', 'user someone']

async function seen(principal: ReturnType<Kit['person']>): Promise<string[]> {
  const { json } = await principal.get('/audit-events?action=test.&limit=500')
  const events: { target: { type: string; id?: string } }[] = json.data
  return events.map(({ target }) => `${target.type} ${target.id ?? '-'}`).sort()
}

test('an auditor reads what has no id or is of no scope, and what is in scope of a grant', async () => {
  const { k } = world()
  let n = 0
  const with_ = (...grants: [string, string][]) => seen(k.person(`p${n++}`, ['auditor'], grants))
  const without = (...names: string[]) => ALL.filter((name) => !names.some((part) => name.includes(part)))
  assert.deepEqual(await with_(), OPEN)
  const ofNode = without('room', 'profile', 'policy')
  assert.deepEqual(await with_(['site', 'site1']), [...ofNode, ...OPEN, 'room room1'].sort())
  assert.deepEqual(await with_(['node', 'node1']), [...ofNode, ...OPEN, 'room room1'].sort())
  assert.deepEqual(await with_(['room', 'room1']), [...ofNode, ...OPEN, 'room room1'].sort())
  const ofTake = ['health_event he1', 'recording rec1', 'recording_job job1']
  assert.deepEqual(await with_(['recording', 'rec1']), [...ofTake, ...OPEN].sort())
  assert.deepEqual(await with_(['recording_profile', 'profile1']), [...OPEN, 'recording_profile profile1'].sort())
  assert.deepEqual(
    await with_(['upload_policy', '*']),
    [...OPEN, 'upload_policy policy1', 'upload_policy policy2'].sort(),
  )
  await k.close()
})

test('owner and admin read everything; what is refused to them, they do not read', async () => {
  const { k } = world()
  const everything = (await seen(k.as('owner'))).length
  assert.equal(everything, 2 * ALL.length + OPEN.length)
  assert.equal((await seen(k.person('star', ['auditor'], [['*', '*']]))).length, everything)
  k.sql("INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'site', 'site1', NULL)")
  const left = await seen(k.as('admin'))
  const gone = ALL.filter((name) => !/profile|policy/.test(name))
  assert.deepEqual(
    left.filter((name) => gone.includes(name)),
    [],
  )
  assert.equal(left.length, everything - gone.length)
  assert.deepEqual(await seen(k.person('star', ['auditor'], [['*', '*']])), left)
  await k.close()
})

test('an event about a resource that is gone stays readable by a grant on itself', async () => {
  const { k } = world()
  const [ann, bob] = [k.person('ann', ['auditor'], [['node', 'node1']]), k.person('bob', ['auditor'])]
  k.sql("DELETE FROM nodes WHERE id = 'node1'")
  assert.ok((await seen(ann)).includes('node node1'))
  assert.ok(!(await seen(bob)).includes('node node1'))
  await k.close()
})

test('own events are readable whatever they are about', async () => {
  const { k } = world()
  const ann = k.person('ann', ['auditor', 'viewer'])
  await ann.get('/rooms/room1')
  const { json } = await ann.get('/audit-events?actor=ann&target=room1')
  assert.deepEqual([json.data.length, json.data[0].outcome], [1, 'denied'])
  await k.close()
})

test('newest first, paged, with the whole record of each', async () => {
  const { k, write } = world()
  const admin = k.as('admin')
  await admin.post('/rooms', { site: 'North', name: 'Hall', id: 'hall' }, { 'user-agent': 'test' })
  write('late', 'x', '2026-01-01T00:00:00.000Z')
  const all = (await admin.get('/audit-events?limit=500')).json
  const times = all.data.map((event: { createdAt: string }) => event.createdAt)
  assert.deepEqual(times, times.toSorted().reverse())
  assert.equal(all.data.at(-1).action, 'test.late')
  assert.deepEqual(
    all.data.slice(0, 3).map((event: { action: string }) => event.action),
    ['audit.events.read', 'rooms.create.succeeded', 'rooms.create'],
  )
  const [, made] = all.data
  assert.deepEqual(made, {
    action: 'rooms.create.succeeded',
    actor: { id: 'admin', name: 'admin', roles: ['admin'], type: 'user' },
    actorContext: { sessionId: 'session-admin', userAgent: 'test' },
    after: { id: 'hall', site: 'North', name: 'Hall', createdAt: k.now(), updatedAt: k.now() },
    createdAt: k.now(),
    details: { method: 'POST', path: '/api/v1/rooms' },
    id: made.id,
    outcome: 'succeeded',
    permission: 'node:manage',
    target: { type: 'room', id: 'hall', name: 'Hall' },
  })
  const page = (await admin.get('/audit-events?limit=2&offset=3')).json
  assert.deepEqual([page.data.length, page.meta.limit, page.meta.offset, page.meta.hasPreviousPage], [2, 2, 3, true])
  await k.close()
})

test('filters match as documented; blank ones are unset, broken ones refused', async () => {
  const { k, write } = world()
  const admin = k.as('admin')
  write('50%', 'x', '2026-02-01T00:00:00.000Z')
  const count = async (query: string) => (await admin.get(`/audit-events?${query}`)).json.meta.total
  assert.equal(await count('action=TEST.node&outcome=&reason='), 3)
  assert.equal(await count('action=50%25'), 1)
  assert.equal(await count('target=ROOM1'), 1)
  assert.equal(await count('target=upload_'), 2)
  assert.equal(await count('actor=system:x&outcome=succeeded&target=rec1'), 1)
  assert.equal(await count('permission=node:manage'), 0)
  assert.equal(await count(`action=test.&to=${AT}&from=${AT}`), 2 * ALL.length + OPEN.length)
  assert.equal(await count('action=test.&from=2026-02-01&to=2026-02-01T00:00:00Z'), 1)
  const readings = await count('action=.read')
  assert.ok(readings > 0)
  assert.equal(await count('action=.read&changes=1'), 0, 'readings are left out')
  assert.equal(await count('action=test.&changes=1'), await count('action=test.'))
  const [first] = (await admin.get('/audit-events?action=test.room')).json.data
  assert.equal(await count(`id=${first.id}`), 1)
  k.forget()
  for (const query of [
    'limit=0',
    'limit=501',
    'offset=-1',
    'changes=0',
    'outcome=maybe',
    'from=soon',
    'permission=all',
    `id=${'x'.repeat(161)}`,
  ]) {
    const answer = await admin.get(`/audit-events?${query}`)
    assert.deepEqual([answer.status, answer.json.issues.length], [400, 1], query)
  }
  assert.deepEqual(k.trail().slice(0, 2), [
    'audit.events.read allowed',
    'audit.events.read.failed failed invalid_filters',
  ])
  await k.close()
})

test('one event in full, with its actions and links; unreadable is not found', async () => {
  const { k } = world()
  const [admin, auditor] = [k.as('admin'), k.as('auditor')]
  const event = (await admin.get('/audit-events?action=test.room&target=room1')).json.data[0]
  const href = `/api/v1/audit-events/${event.id}`
  const { data } = (await admin.get(`/audit-events/${event.id}`)).json
  assert.deepEqual(data.event, event)
  const exported = `/api/v1/audit-events/export?id=${event.id}`
  assert.deepEqual(data.links, { actions: `${href}/actions`, detail: href, export: exported })
  assert.deepEqual(data.actions.export, { enabled: true, href: exported, method: 'GET', permission: 'audit:read' })
  assert.deepEqual((await admin.get(`/audit-events/${event.id}/actions`)).json.data, data)
  k.forget()
  const statuses = [
    await auditor.get(`/audit-events/${event.id}`),
    await admin.get('/audit-events/nope'),
    await k.as('viewer').get('/audit-events'),
    await k.anonymous.get('/audit-events'),
  ].map((answer) => answer.status)
  assert.deepEqual(statuses, [404, 404, 403, 401])
  assert.deepEqual(k.trail(), [
    'audit.events.detail.read allowed',
    'audit.events.detail.read.failed failed audit_event_not_found',
    'audit.events.detail.read allowed',
    'audit.events.detail.read.failed failed audit_event_not_found',
    'audit.events.read denied missing_permission',
    'audit.events.read denied unauthenticated',
  ])
  await k.close()
})

test('pages and searches are read through an index, without sorting what time orders', async () => {
  const { k } = world()
  for (const caller of [k.as('admin'), k.person('north', ['auditor'], [['site', 'site1']])])
    for (const query of ['', '?action=test', '?actor=x', '?target=rec', '?outcome=denied&from=2026-01-01', '?limit=1'])
      assert.equal((await caller.get(`/audit-events${query}`)).status, 200)
  const found = [...k.db.prepared].filter(
    (sql) => sql.includes('INDEXED BY audit_time') && sql.includes('ORDER BY a.at'),
  )
  assert.ok(found.length > 3)
  for (const sql of found) {
    const params = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]))
    const plan = k.db.raw.prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(params)
    assert.match(plan[0]?.detail ?? '', /^SEARCH a USING COVERING INDEX audit_time/, sql)
    assert.ok(!plan.some(({ detail }) => detail === 'USE TEMP B-TREE FOR ORDER BY'), sql)
  }
  await k.close()
})
