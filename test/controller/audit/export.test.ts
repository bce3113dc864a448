import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemActor } from '../../../src/controller/http/principal.ts'
import { kit } from '../../kit/kit.ts'

function world() {
  const k = kit()
  const write = (n: number, more: object = {}) =>
    k.pipeline.audit.write(
      {
        action: `test.${n}`,
        actor: systemActor('x'),
        outcome: 'succeeded',
        target: { type: 'lamp', id: `lamp${n}` },
        ...more,
      },
      new Date(Date.parse('2026-01-01') + n * 1000).toISOString(),
    )
  return { k, write }
}

const HEADER =
  '"createdAt","actorType","actorId","actorName","actorRoles","action","permission","targetType","targetId","targetName","outcome","reason","correlationIds","details","before","after"'

test('GET exports everything that matches, newest first, whatever page is asked for', async () => {
  const { k, write } = world()
  k.db.tx(() => {
    for (let n = 0; n < 700; n++) write(n)
  })
  write(1000, {
    actor: { id: 'u', name: '=cmd()', roles: ['owner', 'auditor'], type: 'user' },
    reason: 'said "no"',
    correlation: { jobId: 'j' },
    before: { a: 1 },
    after: { a: 2 },
  })
  const admin = k.as('admin')
  const answer = await admin.get('/audit-events/export?action=test.&limit=5&offset=3')
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="svc-audit-events-[^":]*\.csv"$/)
  const lines = answer.text.split('\n')
  assert.equal(lines.length, 702)
  assert.equal(lines[0], HEADER)
  assert.equal(
    lines[1],
    `"2026-01-01T00:16:40.000Z","user","u","'=cmd()","owner|auditor","test.1000","","lamp","lamp1000","","succeeded","said ""no""","{""jobId"":""j""}","{}","{""a"":1}","{""a"":2}"`,
  )
  assert.deepEqual(
    lines.slice(2).map((line) => line.split(',')[5]),
    Array.from({ length: 700 }, (_, i) => `"test.${699 - i}"`),
  )
  const [one] = (await admin.get('/audit-events?action=test.7&limit=1')).json.data
  assert.equal((await admin.get(`/audit-events/export?id=${one.id}`)).text.split('\n').length, 2)
  const bad = await admin.get('/audit-events/export?outcome=maybe')
  assert.deepEqual([bad.status, bad.json.issues.length], [400, 1])
  await k.close()
})

test('POST exports the named events in the order asked for, once each; an unreadable one is 404 and named', async () => {
  const { k, write } = world()
  for (const n of [1, 2, 3]) write(n)
  write(4, { target: { type: 'node', id: 'hidden' } })
  const [admin, auditor] = [k.as('admin'), k.as('auditor')]
  const ids = (await admin.get('/audit-events?action=test.')).json.data.map((event: { id: string }) => event.id)
  const [hidden, third, , first] = ids
  const answer = await auditor.post('/audit-events/export', { eventIds: [first, third, first] })
  assert.deepEqual(
    answer.text
      .split('\n')
      .slice(1)
      .map((line) => line.split(',')[5]),
    ['"test.1"', '"test.3"'],
  )
  const missing = await auditor.post('/audit-events/export', { eventIds: [first, hidden] })
  assert.deepEqual([missing.status, missing.json], [404, { error: 'Audit event not found', eventId: hidden }])
  for (const body of [{}, { eventIds: [] }, { eventIds: [first], extra: 1 }, { eventIds: Array(501).fill(first) }])
    assert.equal((await auditor.post('/audit-events/export', body)).status, 400)
  assert.equal((await auditor.post('/audit-events/export', { eventIds: ['nope'] })).json.eventId, 'nope')
  assert.deepEqual(
    k
      .trail()
      .filter((line) => line.includes('export_selected'))
      .slice(0, 4),
    [
      'audit.events.export_selected allowed',
      'audit.events.export_selected.succeeded succeeded',
      'audit.events.export_selected allowed',
      'audit.events.export_selected.failed failed audit_event_not_found',
    ],
  )
  await k.close()
})

test('an export shows a scoped auditor what the list shows', async () => {
  const { k, write } = world()
  write(1)
  write(2, { target: { type: 'node', id: 'n1' } })
  write(3, { target: { type: 'node', id: 'n2' } })
  const ann = k.person('ann', ['auditor'], [['node', 'n2']])
  const lines = (await ann.get('/audit-events/export?action=test.')).text.split('\n')
  assert.deepEqual(
    lines.slice(1).map((line) => line.split(',')[5]),
    ['"test.3"', '"test.1"'],
  )
  await k.close()
})

test('facets count the newest matching events, most frequent first', async () => {
  const { k, write } = world()
  for (const n of [1, 2, 3])
    write(n, { action: n === 3 ? 'a.b' : 'c.d', permission: 'node:read', reason: n === 1 ? 'why' : null })
  write(4, { outcome: 'failed', action: 'e.f', target: { type: 'node', id: 'n1' } })
  const facets = async (query: string, principal = k.as('admin')) =>
    (await principal.get(`/audit-events/facets?to=2026-02-01&${query}`)).json.data
  assert.deepEqual(await facets(''), {
    actions: [
      { count: 2, value: 'c.d' },
      { count: 1, value: 'a.b' },
      { count: 1, value: 'e.f' },
    ],
    actorTypes: [{ count: 4, value: 'system' }],
    outcomes: [
      { count: 3, value: 'succeeded' },
      { count: 1, value: 'failed' },
    ],
    permissions: [{ count: 3, value: 'node:read' }],
    reasons: [{ count: 1, value: 'why' }],
    targetTypes: [
      { count: 3, value: 'lamp' },
      { count: 1, value: 'node' },
    ],
    total: 4,
  })
  assert.equal((await facets('limit=2')).total, 2)
  assert.equal((await facets('action=c.d')).total, 2)
  assert.equal((await facets('', k.as('auditor'))).total, 3)
  assert.equal((await k.as('admin').get('/audit-events/facets?limit=0')).status, 400)
  await k.close()
})
