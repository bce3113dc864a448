import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outage } from '../../../../src/controller/monitoring/status/metrics.prometheus.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const AT = '2026-03-02T09:00:00.000Z'

function world() {
  const k = kit()
  const insert = (table: string, row: Record<string, unknown>) =>
    k.sql(
      `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row).map(() => '?')})`,
      ...Object.values(row),
    )
  const node = (id: string, status: string, lastSeen: string) => {
    const place = { alias: `"${id}"`, hostname: 'h', site: 'North', room: 'Hall', last_seen_at: lastSeen }
    insert('nodes', { id, ...place, status, created_at: AT, updated_at: AT })
  }
  node('n1', 'online', AT)
  node('n2', 'online', '2026-03-02T08:57:59.000Z')
  node('n3', 'provisioning', '2026-01-01T00:00:00.000Z')
  const recording = (id: string, node_id: string | null, status: string) =>
    insert('recordings', {
      id,
      name: id,
      folder: '',
      source: 'ad_hoc',
      status,
      recorded_at: AT,
      node_id,
      updated_at: AT,
    })
  const job = (id: string, recording_id: string, node_id: string, status: string) =>
    insert('recording_jobs', { id, recording_id, node_id, status, command: '{}', created_at: AT })
  const stored = (recording_id: string, rendition: string) => {
    const file = { path: `${recording_id}.${rendition}`, checksum: 'sha256:0', size_bytes: 1, mime_type: 'audio/wav' }
    insert('recording_files', { recording_id, rendition, ...file, stored_at: AT })
  }
  recording('r1', 'n1', 'recording')
  job('j1', 'r1', 'n1', 'running')
  recording('r2', 'n1', 'completed')
  job('j2', 'r2', 'n1', 'stop_requested')
  recording('r3', 'n2', 'cached')
  job('j3', 'r3', 'n2', 'completed')
  for (const rendition of ['raw', 'enhanced']) stored('r3', rendition)
  recording('r4', null, 'cached')
  stored('r4', 'primary')
  const health = (id: string, severity: string, status: string, more: object) =>
    insert('health_events', { id, type: 'x', severity, status, opened_at: AT, ...more })
  health('h1', 'critical', 'open', { node_id: 'n1' })
  health('h2', 'critical', 'open', { recording_id: 'r3' })
  health('h3', 'warning', 'resolved', { node_id: 'n1' })
  return k
}

async function scrape(principal: ReturnType<Kit['as']>): Promise<Map<string, number>> {
  const answer = await principal.get('/metrics')
  assert.equal(answer.status, 200)
  const lines = answer.text.split('\n').filter((line) => line && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}
const family = (all: Map<string, number>, name: string) =>
  [...all].filter(([key]) => key.split('{')[0] === `svc_${name}`)

test('the families say what is in the database, zeros included', async () => {
  const k = world()
  const all = await scrape(k.as('admin'))
  assert.equal(all.get('svc_controller_started_at_seconds'), Date.parse(AT) / 1000)
  assert.equal(all.get('svc_database_unavailable'), 0)
  const online = (id: string, status: string) =>
    `svc_node_online{alias="\\"${id}\\"",node_id="${id}",room="Hall",site="North",status="${status}"}`
  assert.deepEqual(family(all, 'node_online'), [
    [online('n1', 'online'), 1],
    [online('n2', 'offline'), 0],
    [online('n3', 'provisioning'), 0],
  ])
  assert.deepEqual(
    ['n1', 'n2', 'n3'].map((id) => all.get(`svc_recording_active{node_id="${id}"}`)),
    [2, 0, 0],
  )
  assert.deepEqual(
    ['n1', 'n2', 'n3', ''].map((id) => all.get(`svc_recording_cached{node_id="${id}"}`)),
    [0, 1, 0, 1],
  )
  assert.equal(all.get('svc_recording_jobs{node_id="n1",status="stop_requested"}'), 1)
  assert.equal(family(all, 'recording_jobs').length, 3)
  assert.equal(family(all, 'health_events_active').length, 9)
  assert.equal(all.get('svc_health_events_active{severity="critical",status="open"}'), 2)
  assert.equal(all.get('svc_health_events_active{severity="warning",status="open"}'), 0)
  assert.ok((all.get('process_resident_memory_bytes') ?? 0) > 0)
  assert.ok([...all.keys()].some((key) => key.startsWith('nodejs_eventloop_lag')))
  await k.close()
})

test('values cover only what the caller may see', async () => {
  const k = world()
  const nothing = await scrape(k.as('viewer'))
  assert.deepEqual(
    ['node_online', 'recording_active', 'recording_cached', 'recording_jobs', 'audit_events_total'].flatMap((name) =>
      family(nothing, name),
    ),
    [],
  )
  assert.equal(nothing.get('svc_health_events_active{severity="critical",status="open"}'), 0)
  const some = await scrape(k.person('ann', ['viewer'], [['node', 'n1']]))
  assert.deepEqual(
    family(some, 'recording_active').map(([, n]) => n),
    [2],
  )
  assert.equal(some.get('svc_health_events_active{severity="critical",status="open"}'), 1)
  assert.equal(family(some, 'recording_jobs').length, 2)
  k.sql("INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'node', 'n1', NULL)")
  const rest = await scrape(k.as('admin'))
  assert.equal(family(rest, 'node_online').length, 2)
  assert.equal(rest.get('svc_health_events_active{severity="critical",status="open"}'), 1)
  await k.close()
})

test('audit events are counted from the start of the process, each once, and never shrink', async () => {
  const k = world()
  const admin = k.as('admin')
  const count = async (principal = admin) =>
    (await scrape(principal)).get(
      'svc_audit_events_total{action="rooms.create.failed",actor_type="user",outcome="failed",permission="node:manage"}',
    )
  await admin.post('/rooms', {})
  assert.equal(await count(), 1)
  assert.equal(await count(), 1)
  k.forget()
  for (let n = 0; n < 3; n++) await admin.post('/rooms', {})
  assert.equal(await count(), 4)
  await admin.get('/rooms/nope')
  const read =
    'svc_audit_events_total{action="rooms.detail.read",actor_type="user",outcome="allowed",permission="node:read"}'
  assert.equal((await scrape(admin)).get(read), 1)
  const auditor = await scrape(k.as('auditor'))
  assert.equal(auditor.get(read), undefined)
  assert.ok(family(auditor, 'audit_events_total').length > 0)
  await k.close()
})

test('metrics need their permission, and leave their rows', async () => {
  const k = world()
  assert.equal((await k.anonymous.get('/metrics')).status, 401)
  assert.equal((await k.person('nobody', []).get('/metrics')).status, 403)
  const answer = await k.as('auditor').get('/metrics')
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  assert.match(answer.text, /# HELP svc_node_online .+\n# TYPE svc_node_online gauge\n/)
  assert.match(answer.text, /# TYPE svc_audit_events_total counter\n/)
  assert.deepEqual(k.trail(), [
    'metrics.read denied unauthenticated',
    'metrics.read denied missing_permission',
    'metrics.read allowed',
    'metrics.read.succeeded succeeded',
  ])
  await k.close()
})

test('without a database one family is left', async () => {
  assert.match(await outage(), /^# HELP svc_database_unavailable .+\n# TYPE .+ gauge\nsvc_database_unavailable 1\n$/)
})
