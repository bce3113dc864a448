import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { UserPrincipal } from '../../../../src/controller/http/principal.ts'
import type { Visibility } from '../../../../src/controller/http/visibility.ts'
import { visibilities } from '../../../../src/controller/http/visibility.ts'
import { countStore } from '../../../../src/controller/monitoring/status/counts.store.ts'
import type { Condition } from '../../../../src/controller/store/filter.ts'
import { PERMISSIONS } from '../../../../src/wire/permissions.ts'
import { kit } from '../../../kit/kit.ts'
import { makers } from './world.ts'

const k = kit()
after(() => k.close())
const make = makers(k)
const counts = countStore(k.db)
const visibility = visibilities(k.db)

for (const id of ['hall', 'booth']) make.room(id)
make.node('n1', 'online', undefined, { room_id: 'hall' })
make.node('n2', 'online', undefined, { site: 'South' })
make.schedule('s1', { room_id: 'booth', node_id: 'n2' })
const PLACES = [
  {},
  { node_id: 'n1', room_id: 'hall' },
  { node_id: 'n2' },
  { room_id: 'booth' },
  { node_id: 'n1', schedule_id: 's1' },
]
for (let n = 0; n < 40; n++) {
  make.recording(`r${n}`, ['cached', 'uploaded', 'failed', 'recording'][n % 4] as string, PLACES[n % 5])
  make.job(`j${n}`, `r${n}`, n % 3 ? 'n1' : 'n2', n % 7 ? 'completed' : 'running')
  if (n % 3 === 0) make.file(`r${n}`)
  const place = [
    { recording_id: `r${n}` },
    { node_id: 'n1' },
    { node_id: 'n2' },
    { schedule_id: 's1' },
    { recording_id: `r${n}`, node_id: 'n2' },
    {},
  ]
  const type = n % 2 ? 'watchdog.node_offline' : `own.${n % 5}`
  make.event(`h${n}`, type, n % 4 ? 'warning' : 'critical', n % 6 ? 'open' : 'resolved', place[n % 6])
  make.upload(`u${n}`, `r${n}`, n % 2 ? 's3' : 'smb', ['queued', 'retrying', 'failed', 'succeeded'][n % 4] as string, {
    attempt_count: n % 3,
    next_attempt_at: `2026-03-02T08:${String(n).padStart(2, '0')}:00.000Z`,
  })
}

const BARE = { id: 'ann', email: 'ann@example.org', name: 'ann', sessionId: 's', permissions: new Set(PERMISSIONS) }
const person = (roles: string[], allow: string[], deny: string[] = [], rooms: string[] = []): UserPrincipal => {
  const pairs = (texts: string[]) =>
    texts.map((text) => ({ type: text.split(' ')[0] ?? '', id: text.split(' ')[1] ?? '' }))
  const roster = new Map(rooms.map((id) => [id, new Set(['view'])]))
  return { ...BARE, kind: 'user', roles, allow: pairs(allow), deny: pairs(deny), rooms: roster }
}
const CALLERS: Record<string, UserPrincipal> = {
  owner: person(['owner'], []),
  nobody: person(['viewer'], []),
  'one site': person(['viewer'], ['site North']),
  'one room': person(['viewer'], ['room booth']),
  'a roster': person(['viewer'], [], [], ['hall']),
  'one schedule': person(['viewer'], ['schedule s1']),
  'single things': person(
    ['viewer'],
    ['recording r1', 'recording r6', 'recording_job j2', 'health_event h5', 'health_event h12'],
  ),
  'a site and single things': person(['viewer'], ['site South', 'recording r1', 'recording r2', 'health_event h2']),
  'every recording': person(['viewer'], ['recording *']),
  'every node': person(['viewer'], ['node *']),
  everything: person(['viewer'], ['* *']),
  'refused a node': person(['owner'], [], ['node n1']),
  'refused single things': person(
    ['owner'],
    [],
    ['recording r2', 'recording r6', 'recording_job j9', 'health_event h2', 'health_event h7'],
  ),
  'granted and refused': person(
    ['viewer'],
    ['site North', 'recording r2'],
    ['recording r1', 'schedule s1', 'health_event h1'],
  ),
}

const sorted = (rows: object[]): string[] => rows.map((row) => JSON.stringify(Object.values(row))).sort()

function looked(columns: string, from: string, conditions: Condition[]): object[] {
  const where = conditions.map((c) => ` AND (${c.sql})`).join('')
  const params = Object.assign({}, ...conditions.map((c) => c.params))
  return k.db.raw.prepare(`SELECT ${columns} FROM ${from} WHERE 1${where} GROUP BY 1, 2, 3, 4`).all(params) as object[]
}

/** Counts, and the same by looking at each thing. */
function compared(r: Visibility): void {
  const some = <R extends { n: number }>(rows: R[]): R[] => rows.filter(({ n }) => n > 0)
  assert.deepEqual(
    sorted(some(counts.recordings(r)).map(({ nodeId, status, cached, n }) => ({ nodeId, status, cached, x: '', n }))),
    sorted(looked(`coalesce(r.node_id, ''), r.status, r.cached, '', count(*)`, 'recordings r', r.recordings())),
  )
  assert.deepEqual(
    sorted(some(counts.jobs(r)).map(({ nodeId, status, n }) => ({ nodeId, status, x: '', y: '', n }))),
    sorted(looked(`j.node_id, j.status, '', '' AS y, count(*)`, 'recording_jobs j', r.jobs())),
  )
  assert.deepEqual(
    sorted(
      some(counts.health(r)).map(({ type, nodeId, severity, status, n }) => ({ type, nodeId, severity, status, n })),
    ),
    sorted(
      looked(`h.type, coalesce(h.node_id, ''), h.severity, h.status, count(*)`, 'health_events h', r.healthEvents()),
    ),
  )
  assert.deepEqual(
    sorted(
      some(counts.uploads(r))
        .filter(({ status }) => status !== 'succeeded')
        .map(({ provider, status, n, oldestAt }) => ({ provider, status, n, oldestAt })),
    ),
    sorted(
      looked(
        `q.provider, q.status, '', '' AS y, count(*) AS n, min(q.next_attempt_at) AS oldest`,
        `recordings r JOIN upload_queue q ON q.recording_id = r.id AND q.status <> 'succeeded'`,
        r.recordings(),
      ).map((row) => {
        const [provider, status, , , n, oldest] = Object.values(row)
        return { provider, status, n, oldest }
      }),
    ),
  )
}

const everybody = (): void => {
  for (const [name, principal] of Object.entries(CALLERS))
    try {
      compared(visibility(principal, 'recording:read'))
    } catch (e) {
      throw new Error(`${name}: ${(e as Error).message}`)
    }
}

test('counts are what looking at each thing counts, for every kind of reach', everybody)

test('counts follow what moves: states, places, severities, deletions', () => {
  k.sql(`UPDATE recordings SET status = 'uploaded' WHERE seq % 3 = 0`)
  k.sql(`UPDATE recordings SET room_id = 'booth', schedule_id = NULL WHERE seq % 7 = 0`)
  k.sql(`UPDATE recording_jobs SET status = 'failed' WHERE status = 'running'`)
  k.sql(`UPDATE health_events SET status = 'acknowledged' WHERE status = 'open' AND seq % 2 = 0`)
  k.sql(`UPDATE health_events SET severity = 'info' WHERE seq % 5 = 0`)
  k.sql(`UPDATE upload_queue SET status = 'succeeded' WHERE status = 'queued' AND recording_id > 'r2'`)
  everybody()
  k.sql(`DELETE FROM recordings WHERE seq % 5 = 0`)
  k.sql(`DELETE FROM health_events WHERE seq % 6 = 0`)
  k.sql(`DELETE FROM upload_queue WHERE id LIKE 'u1%'`)
  everybody()
  k.sql(`DELETE FROM schedules`)
  k.sql(`DELETE FROM nodes WHERE id = 'n1'`)
  everybody()
})

test('what came to a status is counted for ever: totals never shrink', () => {
  const total = (status: string) =>
    counts
      .health(visibility(CALLERS.owner as UserPrincipal, 'health:read'))
      .filter((c) => c.type === 'own.once' && c.status === status)
      .reduce((sum, c) => sum + c.total, 0)
  make.event('once', 'own.once', 'warning', 'open', { node_id: 'n2' })
  k.sql(`UPDATE health_events SET status = 'resolved' WHERE id = 'once'`)
  k.sql(`UPDATE health_events SET details = '{}' WHERE id = 'once'`)
  assert.deepEqual([total('open'), total('resolved')], [1, 1])
  k.sql(`UPDATE health_events SET status = 'open' WHERE id = 'once'`)
  k.sql(`DELETE FROM health_events WHERE id = 'once'`)
  assert.deepEqual([total('open'), total('resolved')], [2, 1])
})

test('failures of uploads are counted when they fail, and stay when they are tried again', () => {
  const failures = () =>
    counts.uploads(visibility(CALLERS.owner as UserPrincipal, 'recording:read')).reduce((sum, c) => sum + c.failures, 0)
  const before = failures()
  make.recording('late', 'cached')
  make.upload('late', 'late', 's3', 'queued')
  assert.equal(failures(), before)
  k.sql(`UPDATE upload_queue SET status = 'failed', attempt_count = 5 WHERE id = 'late'`)
  assert.equal(failures(), before + 5)
  k.sql(`UPDATE upload_queue SET status = 'retrying', attempt_count = 0 WHERE id = 'late'`)
  k.sql(`UPDATE upload_queue SET status = 'failed', attempt_count = 0 WHERE id = 'late'`)
  assert.equal(failures(), before + 6)
})

test('invented types of events do not grow the counts without end', () => {
  for (let n = 0; n < 300; n++) make.event(`many${n}`, `invented.${n}`, 'info', 'open', { node_id: 'n2' })
  const all = counts.health(visibility(CALLERS.owner as UserPrincipal, 'health:read'))
  const types = new Set(all.map((c) => c.type))
  assert.ok(types.size <= 202, `${types.size}`)
  assert.ok(types.has('other'))
  const invented = all.filter((c) => c.type === 'other' || c.type.startsWith('invented.'))
  assert.equal(
    invented.reduce((sum, c) => sum + c.n, 0),
    300,
  )
})
