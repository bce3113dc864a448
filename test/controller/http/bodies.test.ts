import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { bodies, LEAST_COUNTED, STRANGER_LIMIT } from '../../../src/controller/http/bodies.ts'
import { networkOf } from '../../../src/controller/http/incoming.ts'
import { listening } from '../../kit/http.ts'
import { kit } from '../../kit/kit.ts'
import { slowly, statusOf } from '../../kit/slow.ts'

const login = (url: string) =>
  fetch(`${url}/auth/login`, { body: '{"email":"a@example.org","password":"x"}', method: 'POST' })

/** Asks again until the answer is another one. */
async function until(status: number, ask: () => Promise<Response>): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const answer = await ask()
    if (answer.status === status || tries === 200) return answer
    await answer.arrayBuffer()
  }
}

test('a body that is not whole in time is refused, and its connection ends', async () => {
  const { read } = bodies({ deadlineMs: 20, overallBytes: 2 * LEAST_COUNTED, perCaller: 1 })
  const refused: unknown[] = []
  const server = http.createServer((request, response) => {
    read({ chunks: request, declared: 0 }, 'x', 1000).catch((e) => {
      refused.push(e)
      response.writeHead(e.status).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const slow = await slowly(url, 'POST /', { 'content-length': '900' })
  while (statusOf(slow) !== 408) await once(slow.socket, 'data')
  assert.deepEqual(
    refused.map((e) => (e as { reason: string }).reason),
    ['request_timeout'],
  )
  server.closeAllConnections()
  server.close()
})

test('a stranger has so many bodies under way; who is known does not wait for him', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  const { close, url } = await listening(k)
  const open = { 'content-length': '2000', 'content-type': 'application/json' }
  const slow = await Promise.all(Array.from({ length: 32 }, () => slowly(url, 'POST /api/v1/auth/login', open)))
  const refused = await until(429, () => login(url))
  assert.equal(refused.status, 429)
  assert.equal(((await refused.json()) as { reason: string }).reason, 'too_many_bodies')
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  const beat = await fetch(`${url}/nodes/${id}/heartbeat`, {
    body: '{"agentVersion":"1","hostname":"h"}',
    headers: { authorization: `Bearer ${agent.token}` },
    method: 'POST',
  })
  assert.equal(beat.status, 202)
  for (const { socket } of slow) socket.destroy()
  assert.equal((await until(401, () => login(url))).status, 401)
  await close()
  await k.close()
})

test('connections of many networks that send a head and no body cost nobody a sign-in: they give way', async () => {
  const k = kit()
  const { close, url } = await listening(k)
  const open = { 'content-length': '2000', 'content-type': 'application/json' }
  const networks = Array.from({ length: 17 }, (_, n) => `127.0.1.${n + 1}`)
  const slow = await Promise.all(
    networks.flatMap((from) =>
      Array.from({ length: 32 }, () => slowly(url, 'POST /api/v1/auth/login', open, '{', from)),
    ),
  )
  // They are all under way once some of them were refused for the others.
  while (!slow.some((one) => statusOf(one) === 503)) await Promise.race(slow.map(({ socket }) => once(socket, 'data')))
  for (let times = 0; times < 3; times++) assert.equal((await login(url)).status, 401)
  for (const { socket } of slow) socket.destroy()
  await close()
  await k.close()
})

test('one node has so many bodies under way; another one does not wait for it', async () => {
  const k = kit()
  const [hostile, honest] = [await k.enroll('A'), await k.enroll('B')]
  const { close, url } = await listening(k)
  const beat = (node: typeof hostile) =>
    fetch(`${url}/nodes/${node.id}/heartbeat`, {
      body: '{"agentVersion":"1","hostname":"h"}',
      headers: { authorization: `Bearer ${node.token}` },
      method: 'POST',
    })
  const headers = { authorization: `Bearer ${hostile.token}`, 'content-length': '2000' }
  const path = `POST /api/v1/nodes/${hostile.id}/heartbeat`
  const slow = await Promise.all(Array.from({ length: 32 }, () => slowly(url, path, headers)))
  assert.equal((await until(429, () => beat(hostile))).status, 429)
  assert.equal((await beat(honest)).status, 202)
  for (const { socket } of slow) socket.destroy()
  await close()
  await k.close()
})

test('bodies of all callers come to so many bytes at once: a large one counts whole, a small one for the least', async () => {
  const { read } = bodies({ deadlineMs: 1000, overallBytes: 4 * LEAST_COUNTED, perCaller: 9 })
  const none = async function* () {}
  const turn = Promise.withResolvers<void>()
  const send = (declared: number | undefined) =>
    read({ chunks: none(), declared }, 'x', 3 * LEAST_COUNTED, turn.promise)
  await send(0)
  await send(1)
  // It does not say how long it is going to be, so it would count for the longest.
  await assert.rejects(send(undefined), { reason: 'too_many_bodies', status: 503 })
  await assert.rejects(send(3 * LEAST_COUNTED), { status: 503 })
  await send(2 * LEAST_COUNTED)
  await assert.rejects(send(1), { status: 503 })
  turn.resolve()
  await turn.promise
  await send(undefined)
})

test('the largest body of a stranger, announced or not', async () => {
  const k = kit()
  const { close, url } = await listening(k)
  const long = 'x'.repeat(STRANGER_LIMIT)
  const announced = await slowly(url, 'POST /api/v1/auth/login', { 'content-length': String(STRANGER_LIMIT + 1) })
  const streamed = await slowly(url, 'POST /api/v1/auth/login', { 'transfer-encoding': 'chunked' }, '')
  streamed.socket.write(`${(STRANGER_LIMIT + 10).toString(16)}\r\n"${long}`)
  await Promise.all([announced.closed, streamed.closed])
  assert.equal(statusOf(announced), 413)
  assert.equal(statusOf(streamed), 413)
  await close()
  await k.close()
})

test('an address is counted by its network', () => {
  assert.equal(networkOf('192.0.2.7'), '192.0.2.7')
  assert.equal(networkOf('2001:DB8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(networkOf('2001:db8:1:2::9'), '2001:db8:1:2::/64')
  assert.equal(networkOf('2001:0db8::1'), '2001:db8:0:0::/64')
  assert.equal(networkOf('::1'), '0:0:0:0::/64')
  assert.equal(networkOf('fe80::1%eth0'), 'fe80:0:0:0::/64')
  assert.equal(networkOf(''), '')
})
