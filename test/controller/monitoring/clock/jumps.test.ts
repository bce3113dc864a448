// The wall clock jumps: what stands for a span of time goes on, dates are judged as after an outage.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../../../src/controller/app.ts'
import { countsFrom } from '../../../../src/controller/monitoring/clock/trust.rules.ts'
import { randomIds } from '../../../../src/kernel/ids.ts'
import { type Kit, keys, kit } from '../../../kit/kit.ts'
import { takes as stored } from '../../recordings/library/takes.ts'
import { finishAll, house, pass, takes } from '../../schedules/world.ts'
import { uploads } from '../../uploads/uploads.ts'

const JUMPS = ['1h', '1d', '365d', '-10m', '-1d', '-365d']

const beat = (agent: ReturnType<Kit['bearer']>, id: string) =>
  agent.post(`/nodes/${id}/heartbeat`, {
    agentVersion: '1.0.0',
    hostname: 'desk',
    ipAddresses: [],
    status: 'online',
  })

async function recording() {
  const k = kit({ env: { SVC_RECORDING_JOB_LEASE_SECONDS: '60' } })
  const { agent, id } = await k.enroll()
  await beat(agent, id)
  const started = await k.as('admin').post('/recordings', { durationSeconds: 3600, nodeId: id })
  assert.equal(started.status, 202, started.text)
  const claimed = await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  assert.equal(claimed.status, 200, claimed.text)
  const job = () =>
    k.rows<{ reason: string | null; status: string }>('SELECT status, failure_reason AS reason FROM recording_jobs')[0]
  const node = async () => (await k.as('admin').get(`/nodes/${id}`)).json.data
  return { agent, id, job, jobId: claimed.json.data.id as string, k, node }
}

for (const by of JUMPS)
  test(`a jump of ${by} ends no lease and calls no node offline, and silence counts as before`, async () => {
    const { agent, id, job, jobId, k, node } = await recording()
    k.advance('50s')
    await k.jump(by)
    await k.tick('job-lease')
    await k.tick('watchdog')
    assert.equal(job()?.status, 'running')
    assert.equal((await node()).status, 'online')
    assert.deepEqual(k.rows(`SELECT id FROM health_events WHERE type = 'watchdog.node_offline'`), [])
    const renewed = await agent.post(`/recording-jobs/${jobId}/heartbeat`, {})
    assert.equal(renewed.status, 200, renewed.text)
    await beat(agent, id)
    k.advance('59s')
    await k.tick('job-lease')
    assert.equal(job()?.status, 'running')
    k.advance('2s')
    await k.tick('job-lease')
    assert.deepEqual({ ...job() }, { status: 'failed', reason: 'lease_expired' })
    k.advance('10m')
    assert.equal((await node()).status, 'offline')
    await k.close()
  })

test('a lease that has not been renewed ends in its own time, however the clock was put back meanwhile', async () => {
  const { job, k } = await recording()
  for (const by of ['-10m', '-1d', '1h', '-30d']) {
    k.advance('14s')
    await k.jump(by)
  }
  await k.tick('job-lease')
  assert.equal(job()?.status, 'running')
  k.advance('5s')
  await k.tick('job-lease')
  assert.equal(job()?.status, 'failed')
  await k.close()
})

test('a node that was offline does not come back because the clock does', async () => {
  const { k, node } = await recording()
  k.advance('10m')
  assert.equal((await node()).status, 'offline')
  await k.jump('-11m')
  assert.equal((await node()).status, 'offline')
  await k.close()
})

test('the audit tells of a jump once, with what was moved', async () => {
  const { k } = await recording()
  k.forget()
  await k.jump('1h')
  await k.jump('0s')
  const [row, ...more] = k.rows<{ details: string }>(`SELECT details FROM audit_events`)
  assert.equal(more.length, 0)
  assert.deepEqual(JSON.parse(row?.details ?? ''), {
    before: '2026-03-02T09:00:00.000Z',
    bySeconds: 3600,
    moved: { jobs: 1, nodes: 1, schedules: 0 },
  })
  await k.close()
})

test('a jump that cannot be written at once is one jump, however often it is tried', async () => {
  const { k } = await recording()
  k.sql(`CREATE TRIGGER no_rows BEFORE INSERT ON audit_rows BEGIN SELECT RAISE(FAIL, 'no'); END`)
  await k.jump('13h')
  await k.jump('0s')
  k.sql(`DROP TRIGGER no_rows`)
  await k.jump('0s')
  assert.equal(k.clockWatch.trusted(), true, 'thirteen hours are no day')
  await k.close()
})

test('whoever fails to hear of a jump keeps nobody else from it', async () => {
  const { k } = await recording()
  const heard: number[] = []
  k.clockWatch.onJump(() => {
    throw new Error('not now')
  })
  k.clockWatch.onJump((by) => heard.push(by))
  await k.jump('1h')
  assert.deepEqual(heard, [3_600_000])
  assert.ok(k.logged.some((line) => line.includes('not now')))
  await k.close()
})

test('sessions last as long as they were to, whatever the clock does', async () => {
  const k = kit()
  const admin = k.as('admin')
  k.sql(`UPDATE sessions SET expires_at = '2026-03-02T21:00:00.000Z'`)
  await k.jump('1d')
  await k.tick('sessions')
  assert.equal((await admin.get('/rooms')).status, 200)
  await k.jump('-30d')
  await k.jump('14h')
  await k.jump('-10m')
  k.advance('11h')
  assert.equal((await admin.get('/rooms')).status, 200)
  k.advance('61m')
  assert.equal((await admin.get('/rooms')).status, 401)
  await k.close()
})

test('a session holds at the very moment of a jump', async () => {
  const k = kit()
  const admin = k.as('admin')
  k.sql(`UPDATE sessions SET expires_at = '2026-03-02T21:00:00.000Z'`)
  const moved = k.jump('1d')
  const [row] = k.rows<{ at: string }>('SELECT expires_at AS at FROM sessions')
  assert.equal(row?.at, '2026-03-03T21:00:00.000Z')
  assert.equal((await admin.get('/rooms')).status, 200)
  await moved
  await k.close()
})

test('many retries move along, each once, in both directions', async () => {
  const u = uploads()
  const policy = await u.policy(await u.destination())
  const { id } = u.cached([policy])
  const item = await u.enqueue(id)
  u.k.sql(
    `UPDATE upload_queue SET status = 'retrying', attempt_count = 1, next_attempt_at = '2026-03-02T09:30:00.000Z'`,
  )
  const columns = u.k
    .rows<{ name: string }>(`SELECT name FROM pragma_table_info('upload_queue') WHERE name <> 'id'`)
    .map(({ name }) => name)
    .join(', ')
  u.k.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2350)
    INSERT INTO upload_queue (id, ${columns}) SELECT printf('%s-%04d', id, i), ${columns} FROM upload_queue, n`)
  const due = () =>
    u.k
      .rows<{ at: string; n: number }>(`SELECT next_attempt_at AS at, count(*) AS n FROM upload_queue GROUP BY 1`)
      .map(({ at, n }) => `${at} ${n}`)
  await u.k.jump('1d')
  assert.deepEqual(due(), ['2026-03-03T09:30:00.000Z 2351'])
  await u.k.jump('-2d')
  assert.deepEqual(due(), ['2026-03-01T09:30:00.000Z 2351'])
  await u.k.tick('upload')
  assert.equal(u.item(item.id).attemptCount, 1)
  await u.k.close()
})

test('a slot that was jumped over is missed, and comes again when the clock comes back', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  await k.jump('1d')
  assert.deepEqual(await pass(k), { missed: 1 })
  assert.equal((await get(id)).nextRunAt, '2026-03-03T10:00:00.000Z')
  await k.jump('-1d')
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:00:00.000Z')
  assert.deepEqual(await pass(k, '1h'), { started: 1 })
  assert.deepEqual(takes(k), ['03-02T10:00:00 Service 2026-03-02 1000 3600'])
  await k.close()
})

test('slots that were jumped over come again also when the clock comes back only part of the way', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  await k.jump('365d')
  assert.deepEqual(await pass(k), { missed: 1 })
  await k.jump('-1d')
  assert.equal((await get(id)).nextRunAt, '2027-03-01T10:00:00.000Z')
  await k.jump('-178d')
  assert.equal((await get(id)).nextRunAt, '2026-09-04T10:00:00.000Z')
  await k.jump('-400d')
  assert.equal((await get(id)).nextRunAt, '2025-07-31T10:00:00.000Z')
  assert.deepEqual(await pass(k, '1h'), { started: 1 })
  await k.close()
})

test('a schedule that somebody switched off stays off when the clock comes back', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  await k.jump('1d')
  assert.deepEqual(await pass(k), { missed: 1 })
  await k.as('admin').patch(`/schedules/${id}`, { enabled: false })
  await k.jump('-1d')
  assert.equal((await get(id)).enabled, false)
  assert.deepEqual(await pass(k, '1h'), {})
  await k.close()
})

test('a schedule that runs once and was jumped over waits again when the clock comes back', async () => {
  const { add, get, k } = await house()
  const { id } = await add({ recurrence: { mode: 'once', startsAt: '2026-03-02T10:00:00.000Z', durationSeconds: 600 } })
  await k.jump('1d')
  assert.deepEqual(await pass(k), { missed: 1 })
  assert.equal((await get(id)).enabled, false)
  await k.jump('-1d')
  assert.deepEqual(await pass(k, '1h'), { started: 1 })
  assert.equal(takes(k).length, 1)
  await k.close()
})

test('a clock that went far ahead and comes back some of the way: the next date is the one that comes then', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  await k.jump('163d')
  assert.deepEqual(await pass(k), { missed: 1 })
  await k.jump('-7d')
  assert.equal((await get(id)).nextRunAt, '2026-08-05T10:00:00.000Z')
  await k.jump('-60d')
  assert.equal((await get(id)).nextRunAt, '2026-06-06T10:00:00.000Z')
  await k.close()
})

test('a clock that is years ahead for a moment forgets no run: the slot does not run again', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  assert.deepEqual(await pass(k, '1h'), { started: 1 })
  finishAll(k)
  await k.jump('500d')
  await pass(k)
  finishAll(k)
  const before = takes(k).length
  await k.jump('-500d')
  await pass(k)
  assert.equal(takes(k).length, before)
  assert.equal((await get(id)).nextRunAt, '2026-03-03T10:00:00.000Z')
  await k.close()
})

test('the clock goes back over a slot that has run: it does not run again', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  assert.deepEqual(await pass(k, '1h'), { started: 1 })
  finishAll(k)
  await k.jump('-30m')
  await pass(k)
  await pass(k, '31m')
  // Put to the time before the slot and looked at anew: the run of it stands.
  await k.as('admin').patch(`/schedules/${id}`, { tags: ['again'] })
  await k.jump('-30m')
  await k.as('admin').patch(`/schedules/${id}`, { tags: ['once more'] })
  await pass(k, '31m')
  assert.equal(takes(k).length, 1)
  assert.equal((await get(id)).nextRunAt, '2026-03-03T10:00:00.000Z')
  await k.close()
})

test('another try waits as long as before, but not beyond the start of its slot', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  k.sql(`CREATE TRIGGER no_jobs BEFORE INSERT ON recording_jobs BEGIN SELECT RAISE(FAIL, 'no'); END`)
  k.advance('30m')
  assert.deepEqual(await pass(k, '40m'), { failed: 1 })
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:15:00.000Z')
  await k.jump('5m')
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:20:00.000Z')
  await k.jump('-1d')
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:00:00.000Z')
  await k.close()
})

test('a room that is always recorded goes on where its take ends', async () => {
  const { add, get, k } = await house()
  const { id } = await add({ recurrence: { mode: 'always_on' } })
  await pass(k)
  const left = async () => Date.parse((await get(id)).nextRunAt) - Date.parse(k.now())
  const before = await left()
  assert.ok(before > 0)
  for (const by of ['-1d', '2d', '-10m']) {
    await k.jump(by)
    assert.equal(await left(), before, by)
  }
  await k.close()
})

test('after a leap of a day or more what came before is as old as the leap; a clock that comes back is trusted', async () => {
  const k = kit({ env: { SVC_AUDIT_RETENTION_DAYS: '10' } })
  const t = stored(k)
  const made = await k.as('admin').post('/settings/retention-policies', {
    ...{ action: 'delete_cache', deleteOnlyAfterUploaded: false, maxAgeDays: 30, name: 'P', preserveTagged: false },
  })
  t.recording('young', { recordedAt: '2026-03-01T09:00:00.000Z', retentionPolicyId: made.json.data.id })
  t.file('young', 'primary', Buffer.alloc(100))
  k.sql(`UPDATE recordings SET status = 'cached'`)
  const rows = () => k.rows('SELECT 1 FROM recording_files').length
  const seen = k.trail().length
  await k.jump('365d')
  const passes = async () => {
    await k.tick('retention')
    await k.tick('audit-retention')
  }
  await passes()
  assert.deepEqual([rows(), k.trail().length], [1, seen + 1])
  assert.ok(k.logged.some((line) => line.includes('no age-based deletion')))
  await k.jump('-365d')
  await k.jump('1h')
  assert.equal(k.clockWatch.trusted(), true)
  await k.jump('365d')
  for (const age of ['23h', '2h', '28d']) {
    k.advance(age)
    await passes()
    assert.equal(rows(), 1)
  }
  k.advance('1d')
  await passes()
  assert.equal(rows(), 0)
  assert.ok(k.trail().some((row) => row.startsWith('audit.retention.completed')))
  await k.close()
})

const quiet = { debug() {}, error() {}, info() {}, warn() {} }

/** Another process over the same database, which begins with a clock of its own. */
async function restarted(k: Kit, at: string) {
  const clock = { monotonic: () => 0, now: () => Date.parse(at) }
  const next = createApp({
    ...{ clock, config: k.config, db: k.db, ids: randomIds, log: quiet },
    keys,
  })
  await next.start()
  next.leases.grace(at)
  return next
}

test('a start with a clock that stands before the last row: nothing waits for the old time to come', async () => {
  const { job, k } = await recording()
  k.sql(`UPDATE nodes SET last_seen_at = '2026-03-02T09:00:00.000Z'`)
  const next = await restarted(k, '2026-02-28T09:00:00.000Z')
  const [lease] = k.rows<{ at: string }>('SELECT lease_expires_at AS at FROM recording_jobs')
  assert.equal(lease?.at, '2026-02-28T09:01:00.000Z')
  assert.deepEqual(
    k.rows<{ at: string }>('SELECT last_seen_at AS at FROM nodes').map(({ at }) => at),
    ['2026-02-28T09:00:00.000Z'],
  )
  await next.ticker.run('job-lease')
  assert.equal(job()?.status, 'running')
  await next.stop()
  await k.close()
})

test('a clock that a start found behind and that is right at the next one: what was recorded between is as old as that', async () => {
  const { k } = await recording()
  await (await restarted(k, '2026-01-02T09:00:00.000Z')).stop()
  k.sql(`UPDATE nodes SET last_seen_at = '2026-01-02T10:00:00.000Z'`)
  const next = await restarted(k, '2026-03-02T12:00:00.000Z')
  const [stretch, ...more] = next.clockWatch.doubted()
  assert.deepEqual(more, [])
  assert.equal(countsFrom('2026-01-02T09:30:00.000Z', stretch ? [stretch] : []), '2026-03-02T12:00:00.000Z')
  assert.equal(countsFrom('2026-01-02T08:30:00.000Z', stretch ? [stretch] : []), '2026-01-02T08:30:00.000Z')
  await next.stop()
  const again = await restarted(k, '2026-03-04T12:00:00.000Z')
  assert.deepEqual(again.clockWatch.doubted(), [stretch], 'two days without power are no clock that was behind')
  await again.stop()
  await k.close()
})

test('a start long after the last row: live leases get their time, and ages are not believed for a day', async () => {
  const { job, k } = await recording()
  const next = await restarted(k, '2027-03-02T09:00:00.000Z')
  await next.ticker.run('job-lease')
  assert.equal(job()?.status, 'running')
  assert.equal(next.clockWatch.trusted(), false)
  await next.stop()
  const again = await restarted(k, '2027-03-02T10:00:00.000Z')
  assert.equal(again.clockWatch.trusted(), false, 'a restart does not make it believe')
  await again.stop()
  await k.close()
})
