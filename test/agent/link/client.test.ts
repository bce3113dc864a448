import assert from 'node:assert/strict'
import type * as net from 'node:net'
import { type TestContext, test } from 'node:test'
import { createLink } from '../../../src/agent/link/client.ts'
import { type Link, LinkError } from '../../../src/agent/link/link.ts'
import { type Handler, json, serve, type TestServer } from '../server.ts'

const TOKEN = 'svc_node_secret'
const signal = new AbortController().signal
const command = {
  captureChannels: 2,
  captureDevice: 'default',
  captureFormat: 'S16_LE',
  captureSampleRate: 48_000,
  durationSeconds: 10,
  outputFileName: 'rec_1.wav',
  outputCodec: null,
}
const job = { command, id: 'job_1', nodeId: 'node 1', recordingId: 'rec_1', status: 'running' }

async function linked(
  t: TestContext,
  handler: Handler,
  readTimeoutMs = 60_000,
): Promise<{ link: Link; server: TestServer }> {
  const server = await serve(t, handler)
  const timeouts = { connectTimeoutMs: 5000, readTimeoutMs, requestTimeoutMs: 60_000 }
  const link = createLink({ allowInsecure: false, nodeId: 'node 1', token: () => TOKEN, url: server.url, ...timeouts })
  t.after(() => link.close())
  return { link, server }
}

test('every call goes to its path with the node token', async (t) => {
  const { link, server } = await linked(t, (seen, response) => {
    if (seen.url.includes('claim')) return json(response, 200, { data: [job] })
    if (seen.url.includes('config')) return json(response, 200, { data: {} })
    if (seen.url.includes('/bootstrap')) return json(response, 201, { data: { controllerToken: 'svc_node_x' } })
    json(response, 200, { data: job })
  })
  assert.equal((await link.claim(['job_0'], 25, signal))[0]?.command.outputCodec, undefined)
  assert.equal((await link.config())?.config.recordingCapacity.maxConcurrentRecordings, 1)
  await link.inventory([])
  await link.healthEvent({ details: {}, id: 'a', severity: 'info', type: 'agent.started' })
  await link.jobHeartbeat('job_1')
  await link.readJob('job_1')
  await link.reportFailed('job_1', 'größer\r\nx: y')
  await link.bootstrap('svc_bs_1', { hostKeys: [], interfaces: [], privateKey: 'k', publicKey: 'p', username: 'u' })
  assert.deepEqual(
    server.seen.map((s) => `${s.method} ${s.url}`),
    [
      'POST /api/v1/nodes/node%201/recording-jobs/claim-next-group?waitSeconds=25',
      'GET /api/v1/nodes/node%201/config',
      'POST /api/v1/nodes/node%201/inventory',
      'POST /api/v1/nodes/node%201/health-events',
      'POST /api/v1/recording-jobs/job_1/heartbeat',
      'GET /api/v1/recording-jobs/job_1',
      'POST /api/v1/recording-jobs/job_1/failed',
      'POST /api/v1/nodes/node%201/bootstrap',
    ],
  )
  assert.equal(server.seen[0]?.body.toString(), '{"holding":["job_0"],"shares":true}')
  assert.equal(server.seen[6]?.headers['x-svc-reason'], 'gr__er__x: y')
  const tokens = server.seen.map((s) => s.headers.authorization)
  assert.deepEqual(new Set(tokens.slice(0, 7)), new Set([`Bearer ${TOKEN}`]))
  assert.equal(tokens[7], 'Bearer svc_bs_1')
})

const BEAT = { agentVersion: '1', hostname: 'h', ipAddresses: [], runtime: {}, status: 'online' as const }

test('the heartbeat answers with the clock of the controller', async (t) => {
  const { link } = await linked(t, (_seen, response) => {
    response.setHeader('date', 'Wed, 21 Oct 2026 07:28:00 GMT')
    json(response, 202, { data: {} })
  })
  assert.deepEqual(await link.heartbeat(BEAT), { at: Date.parse('2026-10-21T07:28:00Z'), kept: undefined })
})

test('what becomes of kept takes is heard, and what cannot be read says nothing', async (t) => {
  const answers: unknown[] = [{ kept: { rec_1: 'let_go' } }, { kept: { rec_1: 'burn' } }, { kept: 7 }, null]
  const { link, server } = await linked(t, (_seen, response) => json(response, 202, { data: answers.shift() }))
  const heard = async () => (await link.heartbeat({ ...BEAT, kept: ['rec_1'] })).kept
  assert.deepEqual(
    [await heard(), await heard(), await heard(), await heard()],
    [{ rec_1: 'let_go' }, undefined, undefined, undefined],
  )
  assert.deepEqual(JSON.parse(String(server.seen[0]?.body)).kept, ['rec_1'])
})

test('a refusal carries status and reason, and never the token', async (t) => {
  const { link } = await linked(t, (_seen, response) =>
    json(response, 409, { error: 'Recording job is not heartbeatable', reason: 'job_not_heartbeatable' }),
  )
  await assert.rejects(link.jobHeartbeat('job_1'), (e: LinkError) => {
    assert.deepEqual([e.status, e.reason, e.transient], [409, 'job_not_heartbeatable', false])
    return !e.message.includes(TOKEN)
  })
})

test('what is no answer of a controller counts as none: garbage, portals, redirects, floods', async (t) => {
  const answers: ((response: import('node:http').ServerResponse) => void)[] = [
    (r) => r.writeHead(200).end('<html>'),
    (r) => json(r, 200, { data: { id: 7 } }),
    (r) => json(r, 200, []),
    (r) => r.writeHead(404).end('<h1>no backend</h1>'),
    (r) => r.writeHead(302, { location: 'http://example.org/' }).end(),
    (r) => r.writeHead(200).end(Buffer.alloc(5 * 1024 * 1024, 32)),
    (r) => r.destroy(),
  ]
  let n = 0
  const { link, server } = await linked(t, (_seen, response) => answers[n++]?.(response))
  for (const _ of answers)
    await assert.rejects(link.readJob('job_1'), (e) => e instanceof LinkError && e.status === undefined && e.transient)
  assert.equal(server.seen.length, answers.length)
})

test('a silent controller ends the call after the read time-out; a long poll gets its time on top', async (t) => {
  const { link } = await linked(
    t,
    (seen, response) => {
      if (seen.url.includes('claim')) setTimeout(() => response.writeHead(204).end(), 400)
    },
    150,
  )
  await assert.rejects(link.readJob('job_1'), /silent for 0\.15 s/)
  assert.deepEqual(await link.claim([], 1, signal), [])
})

test('a claim can be aborted', async (t) => {
  const abort = new AbortController()
  const { link } = await linked(t, () => abort.abort())
  await assert.rejects(link.claim([], 25, abort.signal), (e) => e instanceof LinkError && e.message === 'stopped')
})

test('a job that cannot be read is reported failed and does not block the others', async (t) => {
  const strange = { ...job, id: 'job_2', command: { ...command, outputCodec: 'opus' } }
  const { link, server } = await linked(t, (seen, response) =>
    json(response, 200, { data: seen.url.includes('claim') ? [strange, job] : job }),
  )
  assert.deepEqual(
    (await link.claim([], 0, signal)).map((j) => j.id),
    ['job_1'],
  )
  assert.equal(server.seen[1]?.url, '/api/v1/recording-jobs/job_2/failed')
  assert.equal(server.seen[1]?.headers['x-svc-reason'], 'agent_cannot_read_job')
})

test('a kept-alive connection that the controller closed meanwhile does not fail the call', async (t) => {
  const sockets = new Set<net.Socket>()
  const { link } = await linked(t, (_seen, response, request) => {
    sockets.add(request.socket)
    json(response, 200, { data: job })
  })
  await link.readJob('job_1')
  for (const socket of sockets) socket.resetAndDestroy()
  assert.equal((await link.readJob('job_1')).id, 'job_1')
})

test('without a token nothing is sent', async (t) => {
  const server = await serve(t, (_seen, response) => json(response, 200, { data: job }))
  const link = createLink({
    allowInsecure: false,
    connectTimeoutMs: 5000,
    nodeId: 'n',
    readTimeoutMs: 5000,
    requestTimeoutMs: 5000,
    token: () => undefined,
    url: server.url,
  })
  await assert.rejects(link.readJob('job_1'), LinkError)
  await assert.rejects(
    link.upload({ contentType: 'audio/wav', durationSeconds: 1, fileName: 'a', path: '/x', recordingId: 'r' }, signal),
    LinkError,
  )
  assert.equal(server.connections(), 0)
})

test('an agent at capacity asks for what joins a running capture, and for nothing else', async (t) => {
  const { link, server } = await linked(t, (_, response) => response.writeHead(204).end())
  await link.claim(['job_0'], 25, signal, true)
  await link.claim(['job_0'], 25, signal)
  assert.deepEqual(
    server.seen.map((seen) => JSON.parse(seen.body.toString())),
    [
      { holding: ['job_0'], joinOnly: true, shares: true },
      { holding: ['job_0'], shares: true },
    ],
  )
})
