import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topics } from '../../../../src/controller/scheduler/notifier.ts'
import { listening } from '../../../kit/http.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { reading } from '../../../kit/reading.ts'
import { chunkNumber, RATE, send, wav } from './chunks.ts'

async function studio(enhance = false) {
  const k = kit()
  const { id, agent } = await k.enroll()
  const ann = k.person('ann', ['operator'], [['site', 'North']])
  const { sessionId } = (await ann.post(`/nodes/${id}/listen`, { enhance })).json.data
  const path = `/nodes/${id}/listen/stream?sessionId=${sessionId}`
  const say = (value: number, more = {}) => send(agent, id, value, more)
  return { k, id, agent, ann, sessionId, path, say }
}

/** Asks without the kit's reading of text: audio is bytes. */
async function ask(k: Kit, token: string | undefined, path: string) {
  const response = await k.app.request(`/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } })
  return { status: response.status, headers: response.headers, response }
}
const audio = async ({ response }: { response: Response }): Promise<Uint8Array> =>
  new Uint8Array(await response.arrayBuffer())

test('a poll gets the newest chunk as one whole WAV that nobody keeps', async () => {
  const { k, id, ann, path, say } = await studio()
  await say(1)
  await say(2, { capturedAt: '2026-03-02T08:59:59.000Z' })
  const answer = await ask(k, ann.token, path)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'audio/wav')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('content-disposition'), `inline; filename="${id}-monitor.wav"`)
  assert.equal(answer.headers.get('x-svc-captured-at'), '2026-03-02T08:59:59.000Z')
  assert.equal(answer.headers.get('x-svc-duration-ms'), '1000')
  assert.equal(answer.headers.get('x-svc-rendition'), 'raw')
  assert.equal(Number(answer.headers.get('content-length')), wav(2).length)
  assert.deepEqual(await audio(answer), new Uint8Array(wav(2)))
  await k.close()
})

test('a console that polls more seldom than short pieces come is given all of them, once', async () => {
  const { k, ann, path, say } = await studio()
  const from = Date.parse(k.now())
  const at = (n: number, ms = 250) => ({ capturedAt: new Date(from + n * 250).toISOString(), ms })
  const poll = async () => {
    const answer = await ask(k, ann.token, path)
    const samples = Buffer.from(await audio(answer)).subarray(44)
    const numbers = Array.from({ length: samples.length / (RATE / 2) }, (_, i) => samples.readInt16LE((i * RATE) / 2))
    return [numbers, Number(answer.headers.get('x-svc-duration-ms'))]
  }
  await say(1, at(0))
  await say(2, at(1))
  assert.deepEqual(await poll(), [[2], 250], 'the first poll begins with the newest')
  for (const n of [2, 3, 4]) await say(n + 1, at(n))
  assert.deepEqual(await poll(), [[3, 4, 5], 750])
  assert.deepEqual(await poll(), [[5], 250], 'nothing new: the newest again')
  await say(7, at(6))
  await say(9, at(8))
  assert.deepEqual(await poll(), [[9], 250], 'what does not follow is not joined')
  await k.close()
})

test('nothing fresh is 409: no tone is made up from the meters', async () => {
  const { k, ann, path, say } = await studio()
  assert.equal((await ann.get(`${path}&waitSeconds=0`)).json.reason, 'monitor_source_unavailable')
  await say(1)
  assert.equal((await ann.get(path)).status, 200)
  k.advance('6s')
  assert.equal((await ann.get(`${path}&waitSeconds=0`)).status, 409)
  await k.close()
})

test('freshness goes by the clock of the controller: a node whose clock is wrong is heard', async () => {
  const { k, ann, path, say } = await studio()
  await say(1, { capturedAt: '2031-01-01T00:00:00Z' })
  assert.equal((await ann.get(path)).status, 200)
  await k.close()
})

test('enhanced falls back to raw until the first enhanced chunk, and when enhanced chunks stop', async () => {
  const { k, ann, path, say } = await studio(true)
  const heard = async () => (await ann.get(path)).headers.get('x-svc-rendition')
  await say(1)
  assert.equal(await heard(), 'raw')
  await say(2, { rendition: 'enhanced' })
  assert.equal(await heard(), 'enhanced')
  k.advance('6s')
  await say(3)
  assert.equal(await heard(), 'raw')
  await k.close()
})

test('who asked for raw never hears enhanced', async () => {
  const { k, ann, path, say } = await studio(false)
  await say(1, { rendition: 'enhanced' })
  assert.equal((await ann.get(`${path}&waitSeconds=0`)).status, 409)
  await k.close()
})

test('with a cursor a poll gets every chunk once, in order; 204 while the next one is still to come', async () => {
  const { k, ann, path, say } = await studio()
  for (let value = 1; value <= 8; value++) await say(value)
  const heard: number[] = []
  let after = '0'
  for (;;) {
    const answer = await ask(k, ann.token, `${path}&after=${after}`)
    if (answer.status === 204) break
    assert.equal(answer.status, 200)
    heard.push(chunkNumber(await audio(answer)))
    after = answer.headers.get('x-svc-sequence') as string
  }
  assert.deepEqual(heard, [1, 2, 3, 4, 5, 6, 7, 8])
  k.advance('6s')
  assert.equal((await ann.get(`${path}&after=${after}`)).status, 409)
  await k.close()
})

test('a long poll is answered by the chunk it waits for', async () => {
  const { k, id, ann, path, say } = await studio()
  await say(1)
  const first = await ask(k, ann.token, path)
  const waiting = ask(k, ann.token, `${path}&after=${first.headers.get('x-svc-sequence')}&waitSeconds=20`)
  while (k.notifier.listeners(topics.audio(id)) === 0) await new Promise((resolve) => setImmediate(resolve))
  await say(2)
  assert.equal(chunkNumber(await audio(await waiting)), 2)
  await k.close()
})

test('a long poll whose session ends meanwhile is 404', async () => {
  const { k, id, ann, path, sessionId, say } = await studio()
  await say(1)
  const first = await ask(k, ann.token, path)
  const waiting = ann.get(`${path}&after=${first.headers.get('x-svc-sequence')}&waitSeconds=20`)
  while (k.notifier.listeners(topics.audio(id)) === 0) await new Promise((resolve) => setImmediate(resolve))
  await ann.delete(`/nodes/${id}/listen/${sessionId}`)
  await say(2)
  assert.equal((await waiting).status, 404)
  await k.close()
})

/** The samples of a continuous stream, chunk by chunk. */
async function live({ k, ann, path }: { k: Kit; ann: { token: string | undefined }; path: string }) {
  const { response, headers, status } = await ask(k, ann.token, `${path}&continuous=1`)
  assert.equal(status, 200)
  const feed = reading(response)
  return {
    bytes: feed.bytes,
    cancel: feed.cancel,
    headers,
    next: async () => chunkNumber((await feed.bytes()) ?? wav(-1)),
  }
}

test('continuous: one WAV without an end holds every chunk once and in order', async () => {
  const s = await studio()
  await s.say(1)
  const stream = await live(s)
  assert.equal(stream.headers.get('content-type'), 'audio/wav')
  assert.equal(stream.headers.get('content-length'), null)
  const head = Buffer.from((await stream.bytes()) as Uint8Array)
  assert.equal(
    head.toString('latin1', 0, 16),
    Buffer.concat([Buffer.from('RIFF'), Buffer.alloc(4, 255), Buffer.from('WAVEfmt ')]).toString('latin1'),
  )
  assert.equal(head.readUInt32LE(24), RATE)
  assert.equal(head.readUInt32LE(40), 0xffff_ffff)
  assert.equal(head.length, wav(1).length)
  const heard: number[] = []
  for (let value = 2; value <= 12; value++) {
    s.k.advance('1s')
    const next = stream.next()
    await s.say(value)
    heard.push(await next)
  }
  assert.deepEqual(heard, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  await stream.cancel()
  assert.equal(s.k.streams.count(), 0)
  await s.k.close()
})

test('continuous: an agent that was only just told gets a moment to begin; one that sends nothing is 409', async () => {
  const s = await studio()
  assert.equal((await s.ann.get(`${s.path}&continuous=1&waitSeconds=0`)).status, 409)
  const opening = live(s)
  while (s.k.notifier.listeners(topics.audio(s.id)) === 0) await new Promise((resolve) => setImmediate(resolve))
  await s.say(1)
  const stream = await opening
  assert.equal(await stream.next(), 1)
  await stream.cancel()
  await s.k.close()
})

test('continuous: chunks that come in a burst are not lost, and not doubled', async () => {
  const s = await studio()
  await s.say(1)
  const stream = await live(s)
  assert.equal(await stream.next(), 1)
  for (let value = 2; value <= 6; value++) await s.say(value)
  const heard = []
  for (let i = 0; i < 5; i++) heard.push(await stream.next())
  assert.deepEqual(heard, [2, 3, 4, 5, 6])
  await stream.cancel()
  await s.k.close()
})

test('continuous: a client that does not read misses old audio, and memory does not grow with it', async () => {
  const s = await studio()
  await s.say(1)
  const stream = await live(s)
  assert.equal(await stream.next(), 1)
  for (let value = 2; value <= 60; value++) {
    s.k.advance('1s')
    await s.ann.get(s.path)
    await s.say(value)
  }
  const next = await stream.next()
  assert.ok(next >= 49, `continues with chunk ${next}`)
  await stream.cancel()
  await s.k.close()
})

test('continuous: from raw to enhanced and back nothing is heard twice', async () => {
  const s = await studio(true)
  const at = (second: number) => ({ capturedAt: `2026-03-02T09:00:${String(second).padStart(2, '0')}.000Z` })
  await s.say(1, at(1))
  const stream = await live(s)
  assert.equal(await stream.next(), 1)
  const third = stream.next()
  await s.say(101, { ...at(1), rendition: 'enhanced' })
  await s.say(2, at(2))
  await s.say(102, { ...at(2), rendition: 'enhanced' })
  assert.equal(await third, 102)
  s.k.advance('6s')
  const back = stream.next()
  await s.say(3, at(2))
  await s.say(4, at(3))
  assert.equal(await back, 4)
  await stream.cancel()
  await s.k.close()
})

test('continuous: pieces of 200 ms, late ones too, are one unbroken sound', async () => {
  const s = await studio()
  const at = (n: number) => ({ capturedAt: new Date(Date.parse(s.k.now()) + n * 200).toISOString(), ms: 200 })
  const times = Array.from({ length: 20 }, (_, n) => at(n))
  for (let n = 0; n < 4; n++) await s.say(n + 1, times[n])
  const stream = await live(s)
  const bytes: Uint8Array[] = []
  for (let n = 4; n < 20; n++) {
    if (n === 10) s.k.advance('3s')
    await s.say(n + 1, times[n])
    bytes.push((await stream.bytes()) as Uint8Array)
  }
  while (bytes.length < 20) bytes.push((await stream.bytes()) as Uint8Array)
  const sound = Buffer.concat(bytes).subarray(44)
  const samples = new Int16Array(sound.buffer, sound.byteOffset, sound.length / 2)
  const expected = Int16Array.from({ length: (20 * RATE) / 5 }, (_, i) => Math.floor(i / (RATE / 5)) + 1)
  assert.deepEqual(samples, expected)
  await stream.cancel()
  await s.k.close()
})

test('continuous: a stream that could begin with one short piece only waits for more, but not for ever', async () => {
  const s = await studio()
  await s.say(1, { ms: 200 })
  const stream = await live(s)
  const first = stream.next()
  await s.say(2, { ms: 200 })
  assert.equal(await first, 1)
  assert.equal(await stream.next(), 2)
  await stream.cancel()
  await s.k.close()
})

test('continuous: what is no WAV is left out', async () => {
  const s = await studio()
  await s.say(1)
  const stream = await live(s)
  assert.equal(await stream.next(), 1)
  const headers = { 'content-type': 'audio/wav', 'x-svc-duration-ms': '1000' }
  await s.agent.post(`/nodes/${s.id}/listen/chunk`, new Uint8Array(100), headers)
  const next = stream.next()
  await s.say(2)
  assert.equal(await next, 2)
  await stream.cancel()
  await s.k.close()
})

test('continuous: it is kept by being heard, and counts as a poll', async () => {
  const s = await studio()
  await s.say(0)
  const stream = await live(s)
  await stream.next()
  for (let value = 1; value <= 60; value++) {
    s.k.advance('6s')
    const next = stream.next()
    await s.say(value)
    assert.equal(await next, value)
  }
  assert.equal((await s.ann.get(s.path)).status, 200)
  await stream.cancel()
  await s.k.close()
})

for (const [why, change] of [
  ['the session is stopped', async (s: Studio) => s.ann.delete(`/nodes/${s.id}/listen/${s.sessionId}`)],
  [
    'the login ends',
    async (s: Studio) => s.k.sql(`UPDATE sessions SET revoked_at = ? WHERE user_id = 'ann'`, s.k.now()),
  ],
  ['the grant is taken', async (s: Studio) => s.k.sql(`DELETE FROM user_grants WHERE user_id = 'ann'`)],
  ['the format changes', async (s: Studio) => s.say(9, { rate: 8000 })],
] as const)
  test(`continuous: ${why}: the stream ends`, async () => {
    const s = await studio()
    await s.say(1)
    const stream = await live(s)
    assert.equal(await stream.next(), 1)
    await change(s)
    s.k.advance('6s')
    const next = stream.bytes()
    await s.say(2)
    assert.equal(await next, undefined)
    await s.k.close()
  })
type Studio = Awaited<ReturnType<typeof studio>>

test('continuous: the node goes away: the stream ends', async () => {
  const s = await studio()
  await s.say(1)
  const stream = await live(s)
  assert.equal(await stream.next(), 1)
  s.k.advance('16s')
  assert.equal(await stream.bytes(), undefined)
  await s.k.close()
})

test('continuous over a socket: the listener hears what is sent, and at stop the answer ends whole', async () => {
  const s = await studio()
  const server = await listening(s.k)
  await s.say(1)
  const response = await fetch(`${server.url}${s.path}&continuous=1`, {
    headers: { authorization: `Bearer ${s.ann.token}` },
  })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let bytes = 0
  const until = async (count: number) => {
    while (bytes < count) bytes += (await reader.read()).value?.length ?? 0
  }
  await until(44 + RATE * 2)
  await s.say(2)
  await until(44 + RATE * 4)
  s.k.release()
  assert.equal((await reader.read()).done, true)
  await server.close()
  await s.k.close()
})
