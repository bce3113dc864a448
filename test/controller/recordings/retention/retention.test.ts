import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, statfsSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { orphans } from '../../../../src/controller/recordings/retention/orphans.ts'
import {
  bytesToFree,
  type Candidate,
  selectForDeletion,
} from '../../../../src/controller/recordings/retention/retention.rules.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { pattern, takes } from '../library/takes.ts'

const DAYS = 24 * 3600 * 1000

/** A world with one deleting policy, and takes of it that have an age in days, a status and a size. */
async function world(k: Kit, policy: object) {
  const t = takes(k)
  const made = await k.as('admin').post('/settings/retention-policies', {
    name: 'Delete',
    action: 'delete_cache',
    deleteOnlyAfterUploaded: false,
    preserveTagged: false,
    ...policy,
  })
  assert.equal(made.status, 201, made.text)
  const retentionPolicyId = made.json.data.id as string
  const take = (id: string, days: number, more: { status?: string; bytes?: number; tags?: string[] } = {}) => {
    const recordedAt = new Date(Date.parse(k.now()) - days * DAYS).toISOString()
    t.recording(id, { recordedAt, retentionPolicyId, tags: more.tags ?? [] })
    t.file(id, 'primary', pattern(more.bytes ?? 100))
    k.sql('UPDATE recordings SET status = ? WHERE id = ?', more.status ?? 'cached', id)
  }
  const left = () =>
    k.rows<{ id: string }>('SELECT recording_id AS id FROM recording_files ORDER BY 1').map((r) => r.id)
  const status = (id: string) => k.rows<{ s: string }>('SELECT status AS s FROM recordings WHERE id = ?', id)[0]?.s
  k.forget()
  return { ...t, left, retentionPolicyId, status, take }
}

test('takes older than the limit go; younger ones, other policies and keepers stay', async () => {
  const k = kit()
  const t = await world(k, { maxAgeDays: 30 })
  t.take('old', 31)
  t.take('edge', 30)
  t.take('young', 29)
  t.take('sent', 40, { status: 'uploaded' })
  t.recording('other', { recordedAt: '2020-01-01T00:00:00.000Z', retentionPolicyId: 'retention-keep-controller-cache' })
  t.file('other', 'primary', pattern(100))
  k.sql(`UPDATE recordings SET status = 'cached' WHERE id = 'other'`)
  await k.tick('retention')
  assert.deepEqual(t.left(), ['other', 'young'])
  assert.deepEqual(['old', 'sent', 'young'].map(t.status), ['completed', 'uploaded', 'cached'])
  assert.equal(existsSync(join(k.takes, 'ad-hoc/old.wav')), false)
  assert.equal((await k.as('admin').get('/recordings/old')).json.data.cached, false)
  assert.deepEqual(k.trail().slice(0, 4), [
    'recordings.retention.cache_deleted succeeded max_age',
    'recordings.retention.cache_deleted succeeded max_age',
    'recordings.retention.cache_deleted succeeded max_age',
    'recordings.retention.runner.completed succeeded',
  ])
  const [row] = k.rows<{ actor: string; details: string; permission: string }>(
    `SELECT actor_id AS actor, details, permission FROM audit_events WHERE action = 'recordings.retention.runner.completed'`,
  )
  assert.deepEqual(
    [row!.actor, row!.permission, JSON.parse(row!.details)],
    ['system:retention-runner', 'recording:delete', { bytes: 300, deleted: 3, failed: 0 }],
  )
  k.forget()
  await k.tick('retention')
  assert.deepEqual(k.trail(), [])
  await k.close()
})

test('the oldest go until the rest needsAllTakes no more than allowed: all renditions and chunks count', async () => {
  const k = kit()
  const t = await world(k, { maxBytes: 1000 })
  t.take('a', 5, { bytes: 400 })
  t.file('a', 'raw', pattern(100))
  t.take('b', 4, { bytes: 300 })
  t.take('c', 3, { bytes: 300 })
  t.job('job-c', 'c')
  chunk(k, 'c', 300)
  t.take('d', 2, { bytes: 300 })
  await k.tick('retention')
  assert.deepEqual(t.left(), ['c', 'd'])
  assert.equal(k.trail().filter((row) => row === 'recordings.retention.cache_deleted succeeded max_bytes').length, 2)
  await k.close()
})

/** A chunk that is joined already. */
function chunk(k: Kit, id: string, bytes: number, joined: number | null = 1): string {
  const path = `ad-hoc/${id}/part0001.wav`
  mkdirSync(dirname(join(k.takes, path)), { recursive: true })
  writeFileSync(join(k.takes, path), pattern(bytes))
  k.sql(
    `INSERT INTO chunked_recordings (recording_id, job_id, total, changed_at, primary_revision, primary_joined) VALUES (?, ?, 1, ?, 1, ?)`,
    ...[id, `job-${id}`, k.now(), joined],
  )
  k.sql(`INSERT INTO recording_chunks VALUES (?, 1, 'cached', 5, ?, ?)`, id, k.now(), k.now())
  k.sql(
    `INSERT INTO recording_chunk_files VALUES (?, 1, 'primary', ?, 'sha256:00', ?, 'audio/wav', ?, NULL)`,
    ...[id, path, bytes, k.now()],
  )
  return path
}

test('the chunks of a take go with it', async () => {
  const k = kit()
  const t = await world(k, { maxAgeDays: 1 })
  t.take('a', 5)
  const path = chunk(k, 'a', 10)
  await k.tick('retention')
  assert.deepEqual(
    [t.left(), k.rows('SELECT 1 FROM recording_chunk_files'), existsSync(join(k.takes, path))],
    [[], [], false],
  )
  await k.close()
})

test('what is still wanted stays, however old: uploads, jobs, chunks, tags, and what is not through', async () => {
  const k = kit()
  const t = await world(k, { maxAgeDays: 1, maxBytes: 1, preserveTagged: true })
  const queue = (id: string, status: string) =>
    k.sql(
      `INSERT INTO upload_queue (id, recording_id, destination_id, provider, status, max_attempts, next_attempt_at, cache_path,
         checksum, file_name, created_at, updated_at) VALUES (?, ?, 'd', 's3', ?, 5, ?, 'p', 'c', 'f', ?, ?)`,
      ...[`upload-${id}`, id, status, k.now(), k.now(), k.now()],
    )
  for (const status of ['queued', 'retrying', 'failed', 'succeeded', 'cancelled']) {
    t.take(status, 9)
    queue(status, status)
  }
  for (const status of ['queued', 'running', 'stop_requested'] as const) {
    t.take(`job-${status}`, 9)
    t.job(`j-${status}`, `job-${status}`, { status })
  }
  t.take('tagged', 9, { tags: ['keep'] })
  t.take('unjoined', 9)
  chunk(k, 'unjoined', 10, null)
  for (const status of ['partial', 'completed', 'failed', 'recording']) t.take(`is-${status}`, 9, { status })
  t.take('gone', 9)
  await k.tick('retention')
  const want = ['failed', 'is-completed', 'is-failed', 'is-partial', 'is-recording']
  assert.deepEqual(
    t.left(),
    [...want, 'job-queued', 'job-running', 'job-stop_requested', 'queued', 'retrying', 'tagged', 'unjoined'].sort(),
  )
  await k.close()
})

test('a take that plays, or was just given to a player, stays until it is over', async () => {
  const k = kit()
  const t = await world(k, { maxAgeDays: 1 })
  t.take('heard', 9, { bytes: 1_000_000 })
  t.take('quiet', 9)
  await k.as('admin').post('/recordings/heard/playback')
  await k.tick('retention')
  assert.deepEqual(t.left(), ['heard'])
  k.advance('1d')
  const authorization = `Bearer ${k.as('admin').token}`
  const stream = await k.app.request('/api/v1/recordings/heard/stream', { headers: { authorization } })
  assert.equal(stream.status, 200)
  const reader = stream.body!.getReader()
  await reader.read()
  await k.tick('retention')
  assert.deepEqual(t.left(), ['heard'])
  await reader.cancel()
  k.advance('1d')
  await k.tick('retention')
  assert.deepEqual(t.left(), [])
  await k.close()
})

test('only what was uploaded and verified at every destination goes where the policy asks for that', async () => {
  const k = kit()
  const t = await world(k, { maxAgeDays: 1, deleteOnlyAfterUploaded: true })
  const sent = (id: string, ways: [destination: string, verification: string | null][]): void => {
    t.take(id, 9, { status: 'uploaded' })
    for (const [i, [destination, verification]] of ways.entries())
      k.sql(
        `INSERT INTO upload_queue (id, recording_id, destination_id, provider, status, max_attempts, next_attempt_at, cache_path,
           checksum, file_name, verification, created_at, updated_at)
         VALUES (?, ?, ?, 's3', 'succeeded', 5, '', '', 'sha256:00', 'a.wav', ?, '', '')`,
        `${id}-${i}`,
        id,
        destination,
        verification,
      )
  }
  for (const id of ['d1', 'd2'])
    k.sql(
      `INSERT INTO upload_destinations (id, display_name, kind, enabled, created_at, updated_at) VALUES (?, ?, 's3', 1, '', '')`,
      ...[id, id],
    )
  t.take('here', 9)
  sent('claimed', [])
  sent('gone', [['d3', 'matched']])
  sent('accepted', [['d1', 'provider_accepted']])
  sent('half', [
    ['d1', 'matched'],
    ['d2', 'provider_accepted'],
  ])
  sent('unseen', [['d1', null]])
  sent('again', [
    ['d1', 'provider_accepted'],
    ['d1', 'provider_validated'],
  ])
  sent('read', [['d1', 'matched']])
  await k.tick('retention')
  assert.deepEqual(t.left(), ['accepted', 'claimed', 'gone', 'half', 'here', 'unseen'])
  await k.close()
})

test('a disabled policy, one that keeps, one for recorders and one without limits delete nothing', async () => {
  const k = kit()
  const off = [{ enabled: false }, { action: 'keep' }, { scope: 'recorder_cache' }]
  for (const [i, more] of off.entries()) {
    const t = await world(k, { maxAgeDays: 1, ...more })
    t.take(`t${i}`, 9)
  }
  const t = await world(k, {})
  t.take('t3', 9)
  await k.tick('retention')
  assert.deepEqual([t.left(), k.trail()], [['t0', 't1', 't2', 't3'], []])
  await k.close()
})

test('a pass takes a batch, all policies together; the next one takes the rest', async () => {
  const k = kit({ env: { SVC_RETENTION_RUNNER_BATCH_SIZE: '2' } })
  const t = await world(k, { maxAgeDays: 1 })
  for (const [i, days] of [9, 7, 5].entries()) t.take(`a${i}`, days)
  const second = await world(k, { name: 'Later', maxBytes: 1 })
  second.take('b0', 3)
  for (const rest of [['a2', 'b0'], [], []]) {
    await k.tick('retention')
    assert.deepEqual(t.left(), rest)
  }
  await k.close()
})

test('a file that cannot be deleted is told; its row is gone, and the next take goes all the same', async () => {
  const k = kit()
  const t = await world(k, { maxAgeDays: 1 })
  t.take('a', 9)
  t.take('b', 8)
  // A directory in the place of the file cannot be unlinked, whoever we are.
  k.sql(`UPDATE recording_files SET path = 'ad-hoc' WHERE recording_id = 'a'`)
  await k.tick('retention')
  assert.deepEqual(t.left(), [])
  assert.deepEqual(k.trail(), [
    'recordings.retention.cache_deleted succeeded max_age',
    'recordings.retention.cache_failed failed retention_delete_failed',
    'recordings.retention.cache_deleted succeeded max_age',
    'recordings.retention.runner.completed partial',
  ])
  await k.close()
})

test('where the disk is shortfall of its share the oldest go until it has it', async () => {
  const { bavail, blocks } = statfsSync('/tmp')
  assert.ok(bavail / blocks < 0.95, 'the disk of this machine is nearly empty: nothing can be short')
  const k = kit()
  const t = await world(k, { minFreeDiskPercent: 95 })
  t.take('a', 9)
  await k.tick('retention')
  assert.deepEqual([t.left(), k.trail()[0]], [[], 'recordings.retention.cache_deleted succeeded min_free_disk'])
  await k.close()
})

test('who goes, and why', () => {
  const policy = { id: 'p', maxAgeDays: 10, maxBytes: 100, minFreeDiskPercent: 10 }
  const take = (id: string, recordedAt: string, bytes: number): Candidate => ({ bytes, id, recordedAt })
  const oldest = [
    take('a', '2026-01-01T00:00:00.000Z', 50),
    take('b', '2026-02-25T00:00:00.000Z', 60),
    take('c', '2026-02-26T00:00:00.000Z', 60),
    take('d', '2026-02-27T00:00:00.000Z', 60),
  ]
  const now = '2026-03-01T00:00:00.000Z'
  const of = (shortfall: number, limits = policy) =>
    selectForDeletion(limits, oldest, { now, shortfall, total: 230 }).map(
      ({ candidate, reason }) => `${candidate.id} ${reason}`,
    )
  assert.deepEqual(of(0), ['a max_age', 'b max_bytes', 'c max_bytes'])
  assert.deepEqual(of(200), ['a max_age', 'b max_bytes', 'c max_bytes', 'd min_free_disk'])
  assert.deepEqual(of(0, { ...policy, maxAgeDays: null as never, maxBytes: 230 }), [])
  assert.equal(bytesToFree(policy, { free: 5, total: 100 }), 5)
  assert.equal(bytesToFree(policy, { free: 50, total: 100 }), 0)
  assert.equal(bytesToFree({ ...policy, minFreeDiskPercent: null as never }, { free: 0, total: 100 }), 0)
})

test('files without a row are found once they are old enough, and left alone', async () => {
  const k = kit()
  const t = await world(k, {})
  t.take('known', 1)
  chunk(k, 'known', 10)
  const lost = ['ad-hoc/lost.wav', 'scheduled/deep/part0001.wav']
  for (const name of [...lost, 'ad-hoc/new.wav', '.incoming/kept.part']) {
    mkdirSync(dirname(join(k.takes, name)), { recursive: true })
    writeFileSync(join(k.takes, name), 'sound')
    if (lost.includes(name)) utimesSync(join(k.takes, name), 1000, 1000)
  }
  const now = Date.parse('2026-03-02T00:00:00.000Z')
  utimesSync(join(k.takes, 'ad-hoc/new.wav'), now / 1000, now / 1000)
  const found = await Array.fromAsync(orphans(k.db, k.takes, now))
  assert.deepEqual(found.map(({ path, size }) => [path, size]).sort(), [
    ['ad-hoc/lost.wav', 5],
    ['scheduled/deep/part0001.wav', 5],
  ])
  assert.ok(lost.every((name) => existsSync(join(k.takes, name))))
  chmodSync(k.takes, 0o755)
  await k.close()
})

test('what was recorded by a clock that was behind is as old as the correction, after restarts too', async () => {
  const k = kit({ env: { SVC_AUDIT_RETENTION_DAYS: '30' } })
  const t = await world(k, { maxAgeDays: 30 })
  t.take('old', 20)
  await k.jump('-60d')
  t.take('new', 0)
  k.advance('1h')
  await k.jump('60d')
  const rows = () => k.rows(`SELECT 1 FROM audit_events WHERE action = 'controller.clock.jumped'`).length
  for (const days of [0, 2, 9, 17]) {
    k.advance(`${days}d`)
    await k.tick('retention')
    await k.tick('audit-retention')
    assert.deepEqual([t.left(), rows()], [days === 0 || days === 2 ? ['new', 'old'] : ['new'], 2])
  }
  k.advance('3d')
  await k.tick('retention')
  await k.tick('audit-retention')
  assert.deepEqual([t.left(), rows()], [[], 0])
  await k.close()
})

test('with a limit in bytes a take that a slow clock made look old is not the first to go', async () => {
  const k = kit()
  const t = await world(k, { maxBytes: 150 })
  await k.jump('-60d')
  t.take('new', 0)
  await k.jump('60d')
  t.take('earlier', 1)
  await k.tick('retention')
  assert.deepEqual(t.left(), ['new'])
  await k.close()
})

test('a clock that was set ahead by mistake makes nothing younger once it is back', async () => {
  const k = kit()
  const t = await world(k, { maxAgeDays: 30 })
  t.take('old', 29)
  await k.jump('365d')
  await k.jump('-365d')
  k.advance('2d')
  await k.tick('retention')
  assert.deepEqual(t.left(), [])
  await k.close()
})
