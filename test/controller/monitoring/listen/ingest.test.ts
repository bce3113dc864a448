import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as net from 'node:net'
import { test } from 'node:test'
import { listening } from '../../../kit/http.ts'
import { kit } from '../../../kit/kit.ts'
import { send, wav } from './chunks.ts'

const HEADERS = { 'content-type': 'audio/wav', 'x-svc-duration-ms': '1000' }

test("a chunk is taken; its instant is the node's, or now", async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const receipt = { durationMs: 1000, nodeId: id, receivedAt: k.now(), source: 'agent_audio_chunk' }
  const answer = await send(agent, id, 1)
  assert.equal(answer.status, 202)
  assert.deepEqual(answer.json.data, { ...receipt, capturedAt: k.now() })
  const stamped = await send(agent, id, 2, { capturedAt: '2026-03-02T08:59:58.987654321Z' })
  assert.deepEqual(stamped.json.data, { ...receipt, capturedAt: '2026-03-02T08:59:58.987Z' })
  await k.close()
})

test('headers are judged: 400 with issues', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const audio = new Uint8Array(wav(1))
  for (const wrong of [
    { 'content-type': '' },
    { 'content-type': 'audio/mpeg' },
    { 'x-svc-duration-ms': '' },
    { 'x-svc-duration-ms': '0' },
    { 'x-svc-duration-ms': '10001' },
    { 'x-svc-duration-ms': '1.5' },
    { 'x-svc-duration-ms': '1e3' },
    { 'x-svc-captured-at': 'now' },
    { 'x-svc-captured-at': '2026-03-02T10:00:00+01:00' },
  ]) {
    const answer = await agent.post(`/nodes/${id}/listen/chunk`, audio, { ...HEADERS, ...wrong })
    assert.equal(answer.status, 400, JSON.stringify(wrong))
    assert.equal(answer.json.issues.length, 1)
  }
  const odd = { ...HEADERS, 'content-type': 'Audio/WAV; codecs=1' }
  assert.equal((await agent.post(`/nodes/${id}/listen/chunk`, audio, odd)).status, 202)
  await k.close()
})

test('44 to 524288 bytes: below is 400, above 413', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  for (const [bytes, status] of [
    [0, 400],
    [43, 400],
    [44, 202],
    [524_288, 202],
    [524_289, 413],
  ]) {
    const answer = await agent.post(`/nodes/${id}/listen/chunk`, new Uint8Array(bytes as number), HEADERS)
    assert.equal(answer.status, status, `${bytes} bytes`)
  }
  await k.close()
})

test('a body that only claims to be large is refused before it is read; one that never ends is cut', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const server = await listening(k)
  const { port } = new URL(server.url)
  const raw = async (framing: string, body: string): Promise<string> => {
    const socket = net.connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `POST /api/v1/nodes/${id}/listen/chunk HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${agent.token}\r\n` +
        `content-type: audio/wav\r\nx-svc-duration-ms: 1000\r\n${framing}\r\n\r\n${body}`,
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    return answer.toString().split('\r\n')[0] as string
  }
  assert.match(await raw('content-length: 99999999', ''), / 413 /)
  const part = `${(60_000).toString(16)}\r\n${'x'.repeat(60_000)}\r\n`
  assert.match(await raw('transfer-encoding: chunked', part.repeat(10)), / 413 /)
  await server.close()
  await k.close()
})

test('an agent that breaks off leaves nothing, and no bug in the log', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const server = await listening(k)
  const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write(
    `POST /api/v1/nodes/${id}/listen/chunk HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${agent.token}\r\n` +
      `content-type: audio/wav\r\nx-svc-duration-ms: 1000\r\ncontent-length: 5000\r\n\r\nRIFF`,
    () => socket.destroy(),
  )
  const failed = () => k.trail().some((row) => row.endsWith('failed request_aborted'))
  while (!failed()) await new Promise((resolve) => setImmediate(resolve))
  // No fresh chunk: the latency is the one of a session that has not begun.
  assert.equal((await k.as('admin').post(`/nodes/${id}/listen`)).json.data.targetLatencyMs, 1500)
  assert.deepEqual(
    k.logged.filter((line) => line.includes('"level":"error"')),
    [],
  )
  await server.close()
  await k.close()
})

test('only the node itself sends its audio', async () => {
  const k = kit()
  const one = await k.enroll('A')
  const other = await k.enroll('B')
  assert.equal((await send(one.agent, other.id, 1)).status, 403)
  assert.equal((await send(k.as('admin'), one.id, 1)).status, 401)
  await k.close()
})
