import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Kit, kit } from '../../../kit/kit.ts'
import { chunked, tone } from '../chunks/world.ts'
import { pattern, takes } from './takes.ts'

const eventually = async (what: () => boolean): Promise<void> => {
  while (!what()) await new Promise((resolve) => setImmediate(resolve))
}

/** An answer as it comes; `k.person` reads it whole. */
const opened = (k: Kit, path: string) =>
  k.app.request(`/api/v1${path}`, { headers: { authorization: 'Bearer svc_ann' } })

const MEANWHILE: [string, (k: Kit) => void, number, string][] = [
  ['disabled', (k) => k.sql(`UPDATE users SET disabled_at = ? WHERE id = 'ann'`, k.now()), 401, 'credential_revoked'],
  ['without a grant', (k) => k.sql(`DELETE FROM user_grants WHERE user_id = 'ann'`), 403, 'missing_resource_scope'],
  ['without a role', (k) => k.sql(`DELETE FROM user_roles WHERE user_id = 'ann'`), 403, 'missing_permission'],
]

for (const [name, meanwhile, status, reason] of MEANWHILE)
  for (const [method, path, action] of [
    ['GET', 'stream', 'recordings.playback.stream'],
    ['GET', 'file', 'recordings.download.file'],
    ['POST', 'playback', 'recordings.playback.start'],
  ] as const)
    test(`${path}: an account ${name} while a join was waited for gets nothing`, async () => {
      const k = kit()
      const t = await chunked(k, { codec: 'flac' })
      const ann = k.person('ann', ['operator'], [['node', t.id]])
      await t.put(0, tone('flac', 1), '&chunkTotal=1')
      const waiting = ann.send(method, `/recordings/${t.recordingId}/${path}`)
      const rows = () =>
        k.rows<{ outcome: string; reason: string | null; at: string }>(
          `SELECT outcome, reason, created_at AS at FROM audit_events WHERE action LIKE ? ORDER BY seq`,
          `${action.replace('.start', '')}%`,
        )
      await eventually(() => rows().length === 1)
      k.advance('20s')
      meanwhile(k)
      await k.tick('chunk-join')
      const answer = await waiting
      assert.deepEqual([answer.status, answer.json?.error], [status, status === 401 ? 'Unauthorized' : 'Forbidden'])
      const [, outcome] = rows()
      assert.deepEqual(outcome, { outcome: 'denied', reason, at: k.now() })
      await k.close()
    })

test('what was waited for is audited at the time it went out', async () => {
  const k = kit()
  const t = await chunked(k, { codec: 'flac' })
  await t.put(0, tone('flac', 1), '&chunkTotal=1')
  const waiting = k.as('admin').get(`/recordings/${t.recordingId}/stream`)
  const rows = () =>
    k.rows<{ at: string }>(
      `SELECT created_at AS at FROM audit_events WHERE action LIKE 'recordings.playback.stream%' ORDER BY seq`,
    )
  await eventually(() => rows().length === 1)
  k.advance('20s')
  await k.tick('chunk-join')
  assert.equal((await waiting).status, 200)
  assert.equal(rows()[1]?.at, k.now())
  await k.close()
})

function shelf() {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.file('r1', 'primary', pattern(1_000_000))
  return { ann: k.person('ann', ['admin']), k }
}

test('a user has 16 files under way at once: the next is 429, and a place is free when one ends', async () => {
  const { ann, k } = shelf()
  const bodies = []
  for (let i = 0; i < 16; i++) {
    const { body, status } = await opened(k, `/recordings/r1/${i % 2 ? 'stream' : 'file'}`)
    assert.equal(status, 200)
    bodies.push(body)
  }
  const refused = await ann.get('/recordings/r1/stream')
  assert.deepEqual([refused.status, refused.json.reason], [429, 'too_many_streams'])
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.equal((await k.person('bob', ['admin']).get('/recordings/r1/stream')).status, 200)
  await bodies[0]?.cancel()
  // Read whole, without a body, failed: each gives its place back.
  for (let i = 0; i < 3; i++) {
    assert.equal((await ann.get('/recordings/r1/stream')).status, 200)
    assert.equal((await ann.send('HEAD', '/recordings/r1/stream')).status, 200)
    assert.equal((await ann.get('/recordings/r1/file', { range: 'bytes=2000000-' })).status, 416)
    assert.equal((await ann.get('/recordings/none/file')).status, 404)
  }
  for (const body of bodies.slice(1)) await body?.cancel()
  await k.close()
})

test('an answer that is refused after its file was found gives its place back', async () => {
  const { ann, k } = shelf()
  for (let i = 0; i < 20; i++) {
    k.sql(`UPDATE users SET disabled_at = NULL WHERE id = 'ann'`)
    const answer = ann.get('/recordings/r1/stream')
    await eventually(
      () => k.rows(`SELECT 1 FROM audit_events WHERE action = 'recordings.playback.stream'`).length === i + 1,
    )
    k.sql(`UPDATE users SET disabled_at = ? WHERE id = 'ann'`, k.now())
    assert.equal((await answer).status, 401)
  }
  await k.close()
})

for (const [what, end] of [
  ['session', `UPDATE sessions SET revoked_at = '2026-03-02T09:00:00.000Z' WHERE user_id = 'ann'`],
  ['role', `DELETE FROM user_roles WHERE user_id = 'ann'`],
] as const)
  test(`a file that is being sent ends with the ${what}`, async () => {
    const { k } = shelf()
    const { body } = await opened(k, '/recordings/r1/file')
    const reader = body?.getReader()
    assert.ok((await reader?.read())?.value)
    k.sql(end)
    k.advance('6s')
    await assert.rejects(async () => reader?.read(), /no longer allowed/)
    await k.close()
  })
