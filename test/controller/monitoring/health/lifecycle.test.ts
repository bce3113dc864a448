import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEALTH_MOVES, type HealthMove, type HealthStatus } from '../../../../src/wire/health.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const WAYS: Record<HealthStatus, HealthMove[]> = {
  open: [],
  acknowledged: ['acknowledge'],
  suppressed: ['suppress'],
  resolved: ['resolve'],
}

const NODE = 'node_1'

/** An event that somebody brought to a status. */
async function eventIn(k: Kit, status: HealthStatus, more: object = {}): Promise<string> {
  const report = { type: 'room.remark', severity: 'warning', nodeId: NODE, ...more }
  const { id } = (await k.as('admin').post('/health-events', report)).json.data
  for (const move of WAYS[status]) await k.as('admin').post(`/health-events/${id}/${move}`, {})
  return id
}

async function world() {
  const k = kit()
  assert.equal((await k.enroll()).id, NODE)
  return k
}

// The table of docs/contract/health.md: States of an event, row by row.
const TABLE: Record<HealthStatus, Record<HealthMove, HealthStatus | 409>> = {
  open: { acknowledge: 'acknowledged', suppress: 'suppressed', resolve: 'resolved', reopen: 'open' },
  acknowledged: { acknowledge: 'acknowledged', suppress: 'suppressed', resolve: 'resolved', reopen: 'open' },
  suppressed: { acknowledge: 'suppressed', suppress: 'suppressed', resolve: 'resolved', reopen: 'open' },
  resolved: { acknowledge: 409, suppress: 409, resolve: 409, reopen: 'open' },
}

for (const [from, row] of Object.entries(TABLE) as [HealthStatus, Record<HealthMove, HealthStatus | 409>][])
  for (const [move, to] of Object.entries(row) as [HealthMove, HealthStatus | 409][])
    test(`${from}: ${move} ${to === 409 ? 'is refused' : `leaves it ${to}`}`, async () => {
      const k = await world()
      const id = await eventIn(k, from)
      k.forget()
      const answer = await k.as('operator').post(`/health-events/${id}/${move}`, {})
      assert.equal(answer.status, 403, 'an operator without a grant')
      k.forget()
      const done = await k.as('owner').post(`/health-events/${id}/${move}`, {})
      const base = `health.events.${move}`
      if (to === 409) {
        assert.equal(done.status, 409)
        assert.deepEqual(k.trail(), [`${base} allowed`, `${base}.failed failed health_event_resolved`])
      } else {
        assert.equal(done.status, 200, done.text)
        assert.equal(done.json.data.status, to)
        assert.deepEqual(k.trail(), [`${base} allowed`, `${base}.succeeded succeeded`])
      }
      const now = (await k.as('owner').get(`/health-events/${id}`)).json.data
      assert.equal(now.status, to === 409 ? from : to)
      await k.close()
    })

test('who acknowledges first stays on record', async () => {
  const k = await world()
  const id = await eventIn(k, 'open')
  const first = (await k.as('owner').post(`/health-events/${id}/acknowledge`, { note: 'seen' })).json.data
  k.advance('5m')
  const second = (await k.as('admin').post(`/health-events/${id}/acknowledge`, {})).json.data
  assert.deepEqual([second.acknowledgedAt, second.acknowledgedBy], [first.acknowledgedAt, 'owner'])
  assert.equal(second.details.acknowledgeNote, 'seen')
  await k.close()
})

test('suppressing acknowledges, and takes its end from the caller', async () => {
  const k = await world()
  const id = await eventIn(k, 'open')
  const until = '2026-03-02T12:00:00.000Z'
  const first = (
    await k.as('owner').post(`/health-events/${id}/suppress`, { suppressedUntil: '2026-03-02T13:00:00+01:00' })
  ).json.data
  assert.deepEqual(
    [first.acknowledgedBy, first.suppressedBy, first.suppressedAt, first.suppressedUntil],
    ['owner', 'owner', k.now(), until],
  )
  const again = (await k.as('owner').post(`/health-events/${id}/suppress`, { note: 'for good' })).json.data
  assert.deepEqual([again.suppressedUntil, again.details.suppressNote], [null, 'for good'])
  await k.close()
})

test('reopening forgets the end and the suppression, and keeps who acknowledged', async () => {
  const k = await world()
  const id = await eventIn(k, 'suppressed')
  await k.as('owner').post(`/health-events/${id}/resolve`, { note: 'cable' })
  const after = (await k.as('owner').post(`/health-events/${id}/reopen`, { note: 'again' })).json.data
  assert.deepEqual(
    [after.resolvedAt, after.resolvedBy, after.suppressedAt, after.suppressedBy, after.suppressedUntil],
    [null, undefined, null, undefined, null],
  )
  assert.equal(after.acknowledgedBy, 'admin')
  assert.deepEqual([after.details.resolveNote, after.details.reopenNote], ['cable', 'again'])
  await k.close()
})

const READY: Record<HealthStatus, Partial<Record<HealthMove, string>>> = {
  open: { reopen: 'health_event_not_resolved' },
  acknowledged: { acknowledge: 'health_event_not_open', reopen: 'health_event_not_resolved' },
  suppressed: {
    acknowledge: 'health_event_not_open',
    suppress: 'health_event_already_suppressed',
    reopen: 'health_event_not_resolved',
  },
  resolved: {
    acknowledge: 'health_event_resolved',
    suppress: 'health_event_resolved',
    resolve: 'health_event_resolved',
  },
}

for (const [status, blocked] of Object.entries(READY) as [HealthStatus, Partial<Record<HealthMove, string>>][])
  test(`actions of one that is ${status}`, async () => {
    const k = await world()
    const id = await eventIn(k, status)
    const { data } = (await k.as('owner').get(`/health-events/${id}/actions`)).json
    for (const move of HEALTH_MOVES) {
      const state = data.actions[move]
      assert.equal(state.reason, blocked[move], move)
      assert.equal(state.enabled, blocked[move] === undefined, move)
      if (state.enabled) assert.equal(state.href, `/api/v1/health-events/${id}/${move}`)
    }
    assert.equal(data.actions.detail.enabled, true)
    assert.deepEqual(data.targets, [{ type: 'node', id: NODE }])
    assert.deepEqual(Object.keys(data.links).sort(), [
      'acknowledge',
      'bulkLifecycle',
      'detail',
      'reopen',
      'resolve',
      'suppress',
    ])
    const seen = (await k.person('reader', ['viewer'], [['node', NODE]]).get(`/health-events/${id}/actions`)).json.data
    assert.equal(seen.actions.reopen.reason, 'missing_permission')
    await k.close()
  })

test('bulk: every event is moved, each with its own row', async () => {
  const k = await world()
  const ids = [await eventIn(k, 'open'), await eventIn(k, 'acknowledged'), await eventIn(k, 'suppressed')]
  k.forget()
  const answer = await k
    .as('owner')
    .post('/health-events/bulk-lifecycle', { action: 'resolve', eventIds: [...ids, ids[0]], note: 'swept' })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json.meta, { updatedCount: 3 })
  assert.deepEqual(
    answer.json.data.map((e: { id: string }) => e.id),
    ids,
  )
  assert.deepEqual(
    new Set(answer.json.data.map((e: { details: { resolveNote: string } }) => e.details.resolveNote)),
    new Set(['swept']),
  )
  assert.deepEqual(k.trail(), [
    'health.events.bulk_lifecycle allowed',
    ...ids.map(() => 'health.events.resolve.succeeded succeeded'),
  ])
  const told = k.rows<{ target: string }>(
    `SELECT target_id AS target FROM audit_events WHERE action LIKE '%resolve.succeeded'`,
  )
  assert.deepEqual(
    told.map((row) => row.target),
    ids,
  )
  await k.close()
})

test('bulk: one resolved event, and nothing is written', async () => {
  const k = await world()
  const ids = [await eventIn(k, 'open'), await eventIn(k, 'resolved')]
  k.forget()
  const answer = await k.as('owner').post('/health-events/bulk-lifecycle', { action: 'suppress', eventIds: ids })
  assert.equal(answer.status, 409)
  assert.equal(answer.json.eventId, ids[1])
  assert.deepEqual(k.trail(), [
    'health.events.bulk_lifecycle allowed',
    'health.events.bulk_lifecycle.failed failed health_event_resolved',
  ])
  assert.equal((await k.as('owner').get(`/health-events/${ids[0]}`)).json.data.status, 'open')
  await k.close()
})

test('bulk: one event out of scope, and nothing is written', async () => {
  const k = await world()
  await k.enroll('Far', { location: { site: 'South', room: 'Cellar' } })
  const far = k.rows<{ id: string }>(`SELECT id FROM nodes WHERE site = 'South'`)[0]?.id
  const ids = [await eventIn(k, 'open'), await eventIn(k, 'open', { nodeId: far })]
  const ann = k.person('ann', ['operator'], [['site', 'North']])
  const answer = await ann.post('/health-events/bulk-lifecycle', { action: 'acknowledge', eventIds: ids })
  assert.equal(answer.status, 404)
  assert.equal(answer.json.eventId, ids[1])
  assert.equal((await k.as('owner').get(`/health-events/${ids[0]}`)).json.data.status, 'open')
  assert.equal(
    (await ann.post('/health-events/bulk-lifecycle', { action: 'acknowledge', eventIds: [ids[0]] })).status,
    200,
  )
  await k.close()
})
