import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendFile } from '../../../../src/controller/http/files.ts'
import { openPlaybacks } from '../../../../src/controller/recordings/library/openplaybacks.ts'
import { kit } from '../../../kit/kit.ts'
import { pattern, takes } from './takes.ts'

const path = (url: string): string => url.replace('/api/v1', '')

async function world() {
  const k = kit()
  const t = takes(k)
  for (const id of ['r1', 'r2']) {
    t.recording(id)
    t.file(id, 'primary', pattern(64))
  }
  k.forget()
  return { k, t }
}

test('playback gives a path for those with a bearer and one with a ticket for those without', async () => {
  const { k } = await world()
  const operator = k.person('op', ['operator'], [['node', 'n1']])
  const { status, json } = await operator.post('/recordings/r1/playback')
  const { mediaUrl, streamUrl, ...rest } = json.data
  assert.equal(status, 202)
  assert.equal(streamUrl, '/api/v1/recordings/r1/stream')
  assert.match(mediaUrl, /^\/api\/v1\/recordings\/r1\/stream\?ticket=svc_ticket_[\w-]{43}$/)
  assert.deepEqual(rest, {
    expiresAt: '2026-03-02T10:00:07.000Z',
    mode: 'controller_cache',
    recordingId: 'r1',
    sessionId: 'playback_1',
    startedAt: k.now(),
  })
  assert.deepEqual(k.trail(), ['recordings.playback.start allowed', 'recordings.playback.started succeeded'])
  const part = await k.anonymous.get(path(mediaUrl), { range: 'bytes=8-15' })
  assert.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 8-15/64'])
  assert.equal((await k.anonymous.get(`${path(mediaUrl)}&rendition=raw`)).status, 200)
  assert.match(
    JSON.stringify(k.rows(`SELECT details FROM audit_events WHERE action = 'recordings.playback.stream'`)),
    /viaTicket/,
  )
  const token = mediaUrl.split('=')[1]
  assert.ok(
    !JSON.stringify([
      k.rows('SELECT * FROM playback_tickets'),
      k.rows('SELECT * FROM audit_events'),
      k.logged,
    ]).includes(token),
  )
  await k.close()
})

test('a ticket opens one recording for one purpose, from the address alone, and nothing else', async () => {
  const { k } = await world()
  const owner = k.as('owner')
  const ticket = (await owner.post('/recordings/r1/playback')).json.data.mediaUrl.split('=')[1]
  const refused = [
    ['GET', `/recordings/r2/stream?ticket=${ticket}`],
    ['GET', `/recordings/r1?ticket=${ticket}`],
    ['GET', `/recordings?ticket=${ticket}`],
    ['POST', `/recordings/r1/playback?ticket=${ticket}`],
    ['DELETE', `/recordings/r1?ticket=${ticket}`],
    ['GET', `/recordings/r1/stream?ticket=${owner.token}`],
    ['GET', `/recordings/r1/stream?ticket=${ticket.slice(0, -1)}`],
  ] as const
  for (const [method, url] of refused) assert.equal((await k.anonymous.send(method, url)).status, 401, url)
  assert.equal((await k.anonymous.get(`/recordings/r1/file?ticket=${ticket}`)).status, 403)
  for (const url of ['/recordings/r1/stream', '/auth/me'])
    assert.equal((await k.bearer(ticket).get(url)).status, 401, url)
  assert.equal((await k.anonymous.get(`/recordings/r1/stream?ticket=${ticket}`)).status, 200)
  await k.close()
})

test('a ticket ends with its time, its session, its owner’s rights and its recording', async () => {
  const { k } = await world()
  const ends: [why: string, status: number, end: () => unknown][] = [
    ['time', 401, () => k.advance('2h')],
    ['logout', 401, () => k.bearer('svc_logout').post('/auth/logout')],
    ['disabled', 401, () => k.sql(`UPDATE users SET disabled_at = '2026' WHERE id = 'disabled'`)],
    ['grant', 403, () => k.sql(`DELETE FROM user_grants WHERE user_id = 'grant'`)],
    ['role', 403, () => k.sql(`DELETE FROM user_roles WHERE user_id = 'role'`)],
    ['deleted', 401, () => k.sql(`DELETE FROM recordings WHERE id = 'r1'`)],
  ]
  for (const [name, status, end] of ends) {
    const url = path(
      (await k.person(name, ['operator'], [['node', 'n1']]).post('/recordings/r1/playback')).json.data.mediaUrl,
    )
    assert.equal((await k.anonymous.get(url)).status, 200, name)
    await end()
    assert.equal((await k.anonymous.get(url)).status, status, name)
  }
  assert.deepEqual(k.rows('SELECT * FROM playback_tickets'), [])
  await k.close()
})

test('a download is prepared for ten minutes', async () => {
  const { k, t } = await world()
  t.recording('bare')
  const operator = k.person('op', ['operator'], [['node', 'n1']])
  const { status, json } = await operator.post('/recordings/r1/download')
  const { mediaUrl, ...rest } = json.data
  assert.deepEqual(
    [status, rest],
    [
      202,
      {
        downloadId: 'download_1',
        expiresAt: '2026-03-02T09:10:00.000Z',
        fileName: 'r1.wav',
        mode: 'controller_cache',
        recordingId: 'r1',
        url: '/api/v1/recordings/r1/file',
      },
    ],
  )
  const got = await k.anonymous.get(path(mediaUrl))
  assert.deepEqual([got.status, got.headers.get('content-disposition')], [200, 'attachment; filename="r1.wav"'])
  k.forget()
  for (const kind of ['playback', 'download']) {
    const refused = await operator.post(`/recordings/bare/${kind}`)
    assert.deepEqual([refused.status, refused.json.reason], [409, 'recording_not_cached'])
  }
  assert.deepEqual(
    k.trail().filter((row) => row.includes('failed')),
    [
      'recordings.playback.failed failed recording_not_cached',
      'recordings.download.failed failed recording_not_cached',
    ],
  )
  assert.equal((await k.as('auditor').post('/recordings/r1/download')).status, 403)
  k.advance('11m')
  assert.equal((await k.anonymous.get(path(mediaUrl))).status, 401)
  await k.close()
})

test('a file is held from its first byte to its last, or until the reader goes', async () => {
  const { k, t } = await world()
  const [file] = t.store.files('r1')
  assert.ok(file)
  let holders = 0
  const hold = () => {
    holders++
    return () => void holders--
  }
  const asked = { gone: () => new AbortController().signal, header: () => undefined, method: 'GET' } as never
  const outgoing = {
    contentType: 'audio/wav',
    disposition: 'inline',
    name: { ascii: 'a', unicode: 'a' },
    tag: 'x',
  } as const
  const sent = () => sendFile(asked, t.root, { ...outgoing, hold, path: file.path, size: 64, storedAt: file.storedAt })
  const whole = await sent()
  assert.equal(holders, 0)
  await whole.response.arrayBuffer()
  assert.equal(holders, 0)
  const reader = (await sent()).response.body?.getReader()
  const first = reader?.read()
  await Promise.resolve()
  assert.equal(holders, 1)
  await first
  await reader?.cancel()
  assert.equal(holders, 0)
  await k.close()
})

test('a take that is played is held: while it is sent, and while its player is expected', () => {
  let now = 0
  const held = openPlaybacks({ now: () => now, monotonic: () => now })
  const first = held.hold('r1')
  const second = held.hold('r1')
  first()
  first()
  assert.equal(held.held('r1'), true)
  second()
  assert.equal(held.held('r1'), false)
  held.expect('r1', 10)
  held.expect('r1', 5)
  now = 9_999
  assert.equal(held.held('r1'), true)
  now = 10_000
  assert.equal(held.held('r1'), false)
})
