import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Kit, kit } from '../../../kit/kit.ts'

const NODE = 'node_1'

interface Shown {
  id: string
  openedAt: string
  type: string
}

async function world() {
  const k = kit()
  const { agent } = await k.enroll()
  const owner = k.as('owner')
  const report = async (body: object): Promise<Shown> => {
    const answer = await owner.post('/health-events', {
      severity: 'warning',
      type: 'room.remark',
      nodeId: NODE,
      ...body,
    })
    assert.equal(answer.status, 201, answer.text)
    return answer.json.data
  }
  const list = async (query = '') => {
    const answer = await owner.get(`/health-events${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json as { data: Shown[]; meta: Record<string, unknown>; summary: Record<string, unknown> }
  }
  const types = async (query: string) => (await list(query)).data.map((event) => event.type)
  return { agent, k, list, owner, report, types }
}

test('newest first; of one instant the greater id first', async () => {
  const { k, list, report } = await world()
  for (const openedAt of [
    '2026-03-02T08:00:00.000Z',
    '2026-03-02T08:00:00.500Z',
    '2026-03-01T00:00:00Z',
    '2026-03-02T08:00:00.500Z',
    '2026-03-02T08:00:00.100Z',
  ])
    await report({ openedAt })
  const { data } = await list()
  const order = data.map(({ id, openedAt }) => `${openedAt} ${id}`)
  assert.deepEqual(order, order.toSorted().reverse())
  await k.close()
})

test('a list marks large details instead of carrying them; the event itself and an export have them', async () => {
  const { k, list, owner, report } = await world()
  const small = { note: 'x'.repeat(1000) }
  const large = { note: 'é'.repeat(20_000) }
  await report({ details: small, type: 'small' })
  const { id } = await report({ details: large, type: 'large' })
  const shown = (await list()).data as (Shown & { details: object })[]
  const of = (type: string) => shown.find((event) => event.type === type)?.details
  assert.deepEqual([of('small'), of('large')], [small, { truncated: true }])
  assert.deepEqual((await owner.get(`/health-events/${id}`)).json.data.details, large)
  assert.ok((await owner.get('/health-events/export')).text.includes(large.note))
  await k.close()
})

test('the summary counts everything that is visible and filtered, whatever the page', async () => {
  const { k, list, owner, report } = await world()
  const [a, b] = [await report({ severity: 'critical' }), await report({ severity: 'critical' })]
  const [c, d] = [await report({}), await report({})]
  await report({ severity: 'info', type: 'other' })
  await owner.post(`/health-events/${a?.id}/resolve`, {})
  await owner.post(`/health-events/${b?.id}/suppress`, {})
  await owner.post(`/health-events/${c?.id}/acknowledge`, {})
  assert.ok(d)
  const { data, meta: whole, summary } = await list('?limit=2&offset=1')
  const { nextCursor, ...meta } = whole
  assert.ok(nextCursor)
  assert.deepEqual(summary, { activeCritical: 1, open: 2, resolved: 1, suppressed: 1, total: 5 })
  assert.deepEqual(meta, { hasNextPage: true, hasPreviousPage: true, limit: 2, offset: 1, returned: 2, total: 5 })
  assert.equal(data.length, 2)
  assert.deepEqual((await list('?type=other')).summary, {
    activeCritical: 0,
    open: 1,
    resolved: 0,
    suppressed: 0,
    total: 1,
  })
  assert.deepEqual((await list('?status=resolved')).summary, {
    activeCritical: 0,
    open: 0,
    resolved: 1,
    suppressed: 0,
    total: 1,
  })
  await k.close()
})

test('every filter does what it says', async () => {
  const { k, owner, report, types } = await world()
  await k.enroll('Far', { location: { site: 'South', room: 'Cellar' } })
  const { data: recording } = (await owner.post('/recordings', { nodeId: NODE })).json
  await report({ type: 'a', openedAt: '2026-01-01T10:00:00Z', severity: 'info' })
  const b = await report({
    type: 'b',
    openedAt: '2026-01-02T10:00:00.250Z',
    recordingId: recording.id,
    nodeId: undefined,
  })
  await report({ type: 'c', nodeId: 'node_2', details: { why: 'Brummen in Saal 日本' } })
  await owner.post(`/health-events/${b.id}/resolve`, {})
  assert.deepEqual(await types('?nodeId=node_2'), ['c'])
  assert.deepEqual(await types(`?recordingId=${recording.id}`), ['b'])
  assert.deepEqual(await types('?scheduleId=none'), [])
  assert.deepEqual(await types('?type=a'), ['a'])
  assert.deepEqual(await types('?severity=info'), ['a'])
  assert.deepEqual(await types('?severity=info&type=a'), ['a'])
  assert.deepEqual(await types('?severity=warning&type=a'), [])
  assert.deepEqual(await types('?status=resolved'), ['b'])
  assert.deepEqual(await types('?openedFrom=2026-01-02T10:00:00.250Z&openedTo=2026-01-02T10:00:00.250Z'), ['b'])
  assert.deepEqual(await types('?openedTo=2026-01-02T10:00:00.249Z'), ['a'])
  assert.deepEqual(await types(`?resolvedFrom=${k.now()}`), ['b'])
  assert.deepEqual(await types('?resolvedTo=2026-01-01T00:00:00Z'), [])
  assert.deepEqual(await types('?limit=&type='), ['c', 'b', 'a'], 'blank is unset')
  await k.close()
})

test('a search looks into type, ids and details, at any case, for one character and for many', async () => {
  const { k, owner, report, types } = await world()
  await report({ type: 'room.Heat', details: { why: 'Das BRUMMT, "laut" 100%_ja', where: '東京の日本' } })
  await report({ type: 'other' })
  for (const text of ['room.heat', 'brummt', 'BRUM', 'um', '日本', '本', '東京の', '100%_', '%_', '"why"', 'node_1'])
    assert.ok((await types(`?search=${encodeURIComponent(text)}`)).includes('room.Heat'), text)
  for (const text of ['brumxt', '100%xja', 'zz', '京東', '%%', '_%'])
    assert.deepEqual(await types(`?search=${encodeURIComponent(text)}`), [], text)
  await report({ type: 'umlaut', details: { why: 'ÄRGER' } })
  assert.deepEqual(await types(`?search=${encodeURIComponent('ärger')}`), ['umlaut'])
  const [event] = (await owner.get('/health-events?type=other')).json.data
  await owner.post(`/health-events/${event.id}/acknowledge`, { note: 'Handwerker bestellt' })
  assert.deepEqual(await types('?search=handwerker'), ['other'], 'what is said later is found as well')
  assert.deepEqual(await types('?search=heat&status=resolved'), [])
  assert.deepEqual(await types(`?search=${'x'.repeat(160)}`), [])
  await k.close()
})

test('filters that mean nothing are refused', async () => {
  const { k, owner } = await world()
  for (const query of [
    'limit=0',
    'limit=501',
    'offset=-1',
    'status=new',
    'severity=bad',
    'openedFrom=2026-01-01',
    'openedTo=2026-01-01T00:00:00+01:00',
    `search=${'x'.repeat(161)}`,
  ]) {
    const answer = await owner.get(`/health-events?${query}`)
    assert.equal(answer.status, 400, query)
    assert.ok(answer.json.issues.length > 0)
  }
  assert.ok(k.trail().includes('health.events.read.failed failed invalid_filters'))
  await k.close()
})

test('a report names what is there and in scope', async () => {
  const { k, owner } = await world()
  const body = { severity: 'info', type: 'x' }
  assert.equal((await owner.post('/health-events', body)).status, 400, 'names nothing')
  assert.equal((await owner.post('/health-events', { ...body, nodeId: NODE, more: 1 })).status, 400)
  assert.equal(
    (await owner.post('/health-events', { ...body, nodeId: NODE, details: { a: 'x'.repeat(70_000) } })).status,
    400,
  )
  assert.equal((await owner.post('/health-events', { ...body, recordingId: 'none' })).status, 404)
  await k.enroll('Far', { location: { site: 'South', room: 'Cellar' } })
  const ann = k.person('ann', ['operator'], [['site', 'North']])
  assert.equal((await ann.post('/health-events', { ...body, nodeId: NODE })).status, 201)
  k.forget()
  const refused = await ann.post('/health-events', { ...body, nodeId: 'node_2' })
  assert.deepEqual([refused.status, refused.json], [403, { error: 'Forbidden', permission: 'health:acknowledge' }])
  assert.deepEqual(k.trail(), [
    'health.events.create allowed',
    'health.events.create.failed denied missing_resource_scope',
  ])
  assert.equal((await k.as('viewer').post('/health-events', body)).status, 403)
  await k.close()
})

test('a report about a recording changes its health', async () => {
  const { k, owner, report } = await world()
  const { data: recording } = (await owner.post('/recordings', { nodeId: NODE })).json
  const health = async () => (await owner.get(`/recordings/${recording.id}`)).json.data.healthStatus
  assert.equal(await health(), 'unknown')
  const steps: [object, string][] = [
    [{ severity: 'info' }, 'healthy'],
    [{}, 'warning'],
    [{ severity: 'critical' }, 'critical'],
  ]
  const ids: string[] = []
  for (const [body, wanted] of steps) {
    ids.push((await report({ ...body, recordingId: recording.id })).id)
    assert.equal(await health(), wanted)
  }
  await owner.post('/health-events/bulk-lifecycle', { action: 'resolve', eventIds: ids.slice(2) })
  assert.equal(await health(), 'warning')
  await owner.post(`/health-events/${ids[1]}/resolve`, {})
  assert.equal(await health(), 'healthy')
  await owner.post(`/health-events/${ids[2]}/reopen`, {})
  assert.equal(await health(), 'critical')
  await k.close()
})

test('an id that is none is not found, whatever it looks like', async () => {
  const { k, owner } = await world()
  for (const id of ['nope', '00000000-0000-4000-8000-00000000ffff', '%27', 'a'.repeat(300)])
    assert.equal((await owner.get(`/health-events/${id}`)).status, 404, id)
  await k.close()
})

const csv = (text: string): string[] => text.split('\n')

test('exports: the filtered list, and the chosen events in their order', async () => {
  const { k, owner, report } = await world()
  const [a, b] = [
    await report({ type: '=1+1' }),
    await report({ type: 'b', severity: 'info', details: { q: 'a "b"' } }),
  ]
  const all = await owner.get('/health-events/export?limit=1')
  assert.match(
    all.headers.get('content-disposition') ?? '',
    /^attachment; filename="svc-health-events-2026-03-02T09-00-00.000Z.csv"$/,
  )
  const [head, ...lines] = csv(all.text)
  assert.equal(
    head,
    '"id","type","severity","status","nodeId","scheduleId","recordingId","openedAt","acknowledgedAt","suppressedUntil","resolvedAt","details"',
  )
  assert.deepEqual(lines, [
    `"${b?.id}","b","info","open","${NODE}","","","${k.now()}","","","","{""q"":""a \\""b\\""""}"`,
    `"${a?.id}","'=1+1","warning","open","${NODE}","","","${k.now()}","","","","{}"`,
  ])
  assert.equal(csv((await owner.get('/health-events/export?severity=info')).text).length, 2)
  const chosen = await owner.post('/health-events/export', { eventIds: [a?.id, b?.id, a?.id] })
  assert.deepEqual(
    csv(chosen.text)
      .slice(1)
      .map((line) => line.slice(1, 37)),
    [a?.id, b?.id],
  )
  const missing = await owner.post('/health-events/export', { eventIds: [a?.id, 'none'] })
  assert.deepEqual([missing.status, missing.json.eventId], [404, 'none'])
  assert.equal((await owner.post('/health-events/export', { eventIds: [] })).status, 400)
  await k.close()
})

test('an agent that sends an event twice made one', async () => {
  const { agent, k, list } = await world()
  const event = { id: 'e1', severity: 'warning', type: 'agent.meter.xrun' }
  for (let i = 0; i < 2; i++) assert.equal((await agent.post(`/nodes/${NODE}/health-events`, event)).status, 201)
  assert.equal((await list()).summary.total, 1)
  await k.close()
})

/** Many events, so that the list takes its other ways. */
function many(k: Kit, count: number): void {
  k.sql(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO health_events (seq, id, type, severity, status, node_id, opened_at, resolved_at, details)
     SELECT 1000 + i, 'bulk-' || i, 'bulk.' || (i % 2), iif(i % 2, 'critical', 'info'), iif(i % 3, 'resolved', 'open'), 'node_' || (1 + i % 2),
       '2026-01-01T00:00:00.000Z', iif(i % 3, '2026-01-01T00:00:00.000Z', NULL), json_object('word', iif(i % 4000 = 0, 'needle ' || i, 'straw ' || i)) FROM n`,
    count,
  )
}

test('beyond a few thousand events the counts of the past are lower bounds, and say so', async () => {
  const { k, list, owner } = await world()
  await k.enroll('Far', { location: { site: 'South', room: 'Cellar' } })
  many(k, 12_000)
  const whole = await list('?limit=2')
  assert.deepEqual(
    whole.data.map((e) => e.id),
    ['bulk-12000', 'bulk-11999'],
  )
  assert.deepEqual(whole.summary, { activeCritical: 2000, open: 4000, resolved: 8000, suppressed: 0, total: 12_000 })
  assert.deepEqual(
    (await list('?search=needle')).data.map((e) => e.id),
    ['bulk-12000', 'bulk-8000', 'bulk-4000'],
  )
  assert.deepEqual((await list('?search=needle&severity=critical')).data, [])
  const straw = await list('?search=straw&limit=3')
  assert.deepEqual(
    straw.data.map((e) => e.id),
    ['bulk-11999', 'bulk-11998', 'bulk-11997'],
  )
  assert.equal(straw.meta.totalIsLowerBound, true)
  assert.equal(straw.meta.hasNextPage, true)
  assert.deepEqual(
    (await list('?search=ne&limit=1')).data.map((e) => e.id),
    ['bulk-12000'],
  )
  const south = k.person('south', ['viewer'], [['site', 'South']])
  const seen = (await south.get('/health-events?limit=2')).json
  assert.deepEqual(
    seen.data.map((e: Shown) => e.id),
    ['bulk-11999', 'bulk-11997'],
  )
  assert.ok(seen.summary.total >= 3)
  assert.equal((await k.as('viewer').get('/health-events')).json.summary.total, 0)
  const lines = csv((await owner.get('/health-events/export?type=bulk.1&search=straw')).text)
  assert.equal(lines.length, 6001)
  assert.equal(new Set(lines).size, 6001)
  await k.close()
})

test('an event of a clock that runs ahead is dated now: it stays on top of no list', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const event = { openedAt: '9999-01-01T00:00:00.000Z', severity: 'info', type: 'agent.started' }
  assert.equal((await agent.post(`/nodes/${id}/health-events`, event)).status, 201)
  assert.equal((await k.as('admin').get('/health-events')).json.data[0].openedAt, k.now())
  await k.close()
})
