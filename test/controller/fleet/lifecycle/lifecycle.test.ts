import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { Dispatch } from '../../../../src/controller/fleet/lifecycle/dispatch.ts'
import { targetHostOf } from '../../../../src/controller/fleet/lifecycle/lifecycle.rules.ts'
import { lifecycleStore } from '../../../../src/controller/fleet/lifecycle/lifecycle.store.ts'
import type { SshKeyStore } from '../../../../src/controller/fleet/onboarding/sshkeys.store.ts'
import { systemActor } from '../../../../src/controller/http/principal.ts'
import { Fail } from '../../../../src/kernel/fail.ts'
import { redacted } from '../../../../src/kernel/redact.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { json, peer, type Reply } from '../../../kit/peer.ts'
import { until } from '../../../kit/whole.ts'

const TOKEN = 'runner-inbound-0123456789'
const ran = (exitCode: number, more: object = {}) => json({ data: { exitCode, runId: 'run-1', ...more } })

/** A controller with a runner that answers as told. */
async function world(reply: Reply, env: Record<string, string> = {}) {
  const runner = await peer(reply)
  const k = kit({ env: { SVC_ANSIBLE_RUNNER_URL: runner.url, SVC_ANSIBLE_RUNNER_TOKEN: TOKEN, ...env } })
  const { id, agent } = await k.enroll()
  await agent.post(`/nodes/${id}/heartbeat`, { agentVersion: '1', hostname: 'hall', ipAddresses: ['10.0.0.7'] })
  k.forget()
  const act = (action: string, body: object = {}) => k.as('admin').post(`/nodes/${id}/lifecycle/${action}`, body)
  const close = async () => {
    await k.close()
    await runner.close()
  }
  return { act, agent, close, id, k, runner }
}

test('who watches a node is told when an action on it begins', async () => {
  const { act, close, id, k } = await world(ran(0))
  const told: string[] = []
  k.events.on('lifecycle.progressed', 'after', ({ nodeId }) => told.push(nodeId))
  assert.equal((await act('smoke_check')).status, 202)
  assert.deepEqual(told, [id])
  await close()
})

const last = async (k: Kit, id: string) => (await k.as('admin').get(`/nodes/${id}/lifecycle-jobs`)).json.data[0]

test('running -> succeeded: the runner is asked once, with what it needs and nothing more', async () => {
  const { act, close, id, k, runner } = await world(ran(0, { stdout: 'ok', stderr: '', targetHost: '10.0.0.8' }))
  const answer = await act('update_binary', { agentVersion: 'agent-v2026.03.01-1', sshUser: 'svc' })
  assert.equal(answer.status, 202)
  assert.deepEqual(answer.json.data, {
    action: 'update_binary',
    completedAt: k.now(),
    exitCode: 0,
    id: 'node_lifecycle_1',
    nodeAlias: 'Hall recorder',
    nodeId: id,
    requestedAt: k.now(),
    requestedBy: 'admin',
    runnerRunId: 'run-1',
    startedAt: k.now(),
    status: 'succeeded',
    stdout: 'ok',
    targetHost: '10.0.0.8',
  })
  const [asked] = runner.asked
  assert.deepEqual([asked?.method, asked?.url, asked?.headers.authorization], ['POST', '/runs', `Bearer ${TOKEN}`])
  assert.deepEqual(JSON.parse(asked?.body ?? ''), {
    action: 'update_binary',
    options: { agentVersion: 'agent-v2026.03.01-1', sshUser: 'svc' },
    target: { host: '10.0.0.7', nodeAlias: 'Hall recorder', nodeId: id },
  })
  assert.deepEqual(k.trail(), ['nodes.lifecycle.run allowed', 'nodes.lifecycle.update_binary.succeeded succeeded'])
  const [row] = k.rows<{ details: string; correlation: string; actor: string }>(
    "SELECT details, correlation, actor_id AS actor FROM audit_events WHERE action LIKE '%succeeded'",
  )
  assert.deepEqual(JSON.parse(row?.details ?? ''), {
    action: 'update_binary',
    exitCode: 0,
    runnerRunId: 'run-1',
    status: 'succeeded',
    targetHost: '10.0.0.8',
  })
  assert.deepEqual(
    [JSON.parse(row?.correlation ?? ''), row?.actor],
    [{ nodeLifecycleJobId: 'node_lifecycle_1' }, 'admin'],
  )
  assert.deepEqual(await last(k, id), answer.json.data)
  await close()
})

test('running -> failed: another exit code, a refusal, and every kind of answer that is none', async () => {
  const { act, close, id, k, runner } = await world(ran(4, { stderr: 'no sudo' }))
  const worse: [Reply, string | undefined, number | undefined][] = [
    [ran(4, { stderr: 'no sudo' }), undefined, 4],
    [json({ error: 'target_host_required' }, 400), 'target_host_required', undefined],
    [(_, r) => void r.writeHead(500).end(), 'ansible_runner_500', undefined],
    [(_, r) => void r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), 'ansible_runner_302', undefined],
    [(_, r) => void r.end('<html>hello</html>'), 'ansible_runner_invalid_answer', undefined],
    [json({ data: { exitCode: '0' } }), 'ansible_runner_invalid_answer', undefined],
    [json([]), 'ansible_runner_invalid_answer', undefined],
    [
      (_, r) => void r.writeHead(200, { 'content-length': '100' }).write('{"data"', () => r.destroy()),
      'ansible_runner_broken',
      undefined,
    ],
    [(_, r) => void r.end('x'.repeat(5_000_000)), 'ansible_runner_too_large', undefined],
    [(_, r) => void r.socket?.destroy(), 'ansible_runner_unreachable', undefined],
  ]
  for (const [reply, error, exitCode] of worse) {
    runner.answers(reply)
    const { status, json: body } = await act('smoke_check')
    // On a busy machine the answer may come before the end.
    assert.equal(status, body.data.status === 'running' ? 202 : 502)
    const job = await until('the end of the action', async () => {
      const latest = await last(k, id)
      return latest.status === 'running' ? undefined : latest
    })
    assert.deepEqual([job.status, job.error, job.exitCode], ['failed', error, exitCode])
    if (status === 502) assert.deepEqual(job, body.data)
  }
  const reasons = k.trail().filter((row) => row.startsWith('nodes.lifecycle.smoke_check.failed failed'))
  assert.deepEqual(
    reasons.map((row) => row.split(' ')[2]),
    worse.map(([, error]) => error ?? 'ansible_lifecycle_failed'),
  )
  await close()
})

test('running -> failed: a runner that never answers', async () => {
  const { act, close, id, k } = await world(() => {}, { SVC_ANSIBLE_RUNNER_TIMEOUT_MS: '300' })
  const { status, json: body } = await act('smoke_check')
  assert.deepEqual([status, body.data.status, body.data.error], [502, 'failed', 'ansible_runner_timeout'])
  assert.equal(k.trail().at(-1), 'nodes.lifecycle.smoke_check.failed failed ansible_runner_timeout')
  assert.deepEqual(await last(k, id), body.data)
  await close()
})

test('running -> failed: without a runner, and with one that is not there', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const none = await k.as('admin').post(`/nodes/${id}/lifecycle/smoke_check`)
  assert.deepEqual([none.status, none.json.data.error], [502, 'ansible_runner_unconfigured'])
  const words = 'Lifecycle action failed: ansible_runner_unconfigured'
  assert.deepEqual([none.json.error, none.json.reason], [words, 'ansible_runner_unconfigured'])
  assert.match(none.json.data.stderr, /Set SVC_LIFECYCLE_EMBEDDED=1 .*--with-lifecycle.*SVC_ANSIBLE_RUNNER_URL/)
  assert.equal(none.json.data.targetHost, 'hall-recorder.local')
  await k.close()
  const { act, close, runner } = await world(ran(0))
  await runner.close()
  const gone = await act('smoke_check')
  assert.deepEqual([gone.status, gone.json.data.error], [502, 'ansible_runner_unreachable'])
  assert.match(gone.json.data.stderr, /gave no answer: nothing listens at 127\.0\.0\.1:\d+: check that/)
  await close()
})

test('what is not on the list, not a request or not a node never reaches the runner', async () => {
  const { act, close, k, runner } = await world(ran(0))
  for (const action of ['reboot', 'ROTATE_TRUST', 'toString', 'smoke_check;id'])
    assert.equal((await act(action)).status, 400, action)
  for (const body of [
    { agentVersion: '' },
    { agentVersion: '../x' },
    { sshUser: '-oProxyCommand=id' },
    { force: 'yes' },
    { forced: true },
  ])
    assert.equal((await act('smoke_check', body)).status, 400, JSON.stringify(body))
  const lost = await k.as('admin').post('/nodes/none/lifecycle/smoke_check')
  assert.equal(lost.status, 404)
  assert.equal((await k.as('operator').post('/nodes/none/lifecycle/smoke_check')).status, 403)
  assert.equal((await k.as('admin').get('/nodes/none/lifecycle-jobs')).status, 404)
  assert.equal(runner.asked.length, 0)
  assert.deepEqual(k.rows('SELECT 1 FROM node_lifecycle_jobs'), [])
  assert.deepEqual(
    [...new Set(k.trail().filter((row) => row.includes('.run.failed')))],
    ['nodes.lifecycle.run.failed failed invalid_request', 'nodes.lifecycle.run.failed failed node_not_found'],
  )
  await close()
})

test('one action at a time on a node; the key may not change under it', async () => {
  let let_go = () => {}
  const { act, close, id, k, runner } = await world((_, response) => {
    let_go = () => ran(0)({} as never, response)
  })
  const first = act('smoke_check')
  await runner.next()
  const second = await act('restart_service')
  assert.deepEqual([second.status, second.json.reason], [409, 'lifecycle_job_running'])
  assert.equal((await last(k, id)).status, 'running')
  const rotate = await k.as('admin').post(`/nodes/${id}/ssh-credential/rotate`)
  assert.deepEqual([rotate.status, rotate.json.reason], [409, 'lifecycle_job_running'])
  let_go()
  assert.equal((await first).status, 202)
  runner.answers(ran(0))
  assert.equal((await act('restart_service')).status, 202)
  // succeeded and failed are the end: a late word changes nothing.
  const before = k.rows('SELECT * FROM node_lifecycle_jobs')
  k.sql("UPDATE node_lifecycle_jobs SET stdout = stdout WHERE status = 'running'")
  assert.deepEqual(k.rows('SELECT * FROM node_lifecycle_jobs'), before)
  await close()
})

test('a successful rotate_trust confirms the new key; a failed one, and any other action, does not', async () => {
  const { act, close, id, k, runner } = await world(ran(1))
  const admin = k.as('admin')
  await admin.post(`/nodes/${id}/ssh-credential/rotate`)
  k.advance('1s')
  await admin.post(`/nodes/${id}/ssh-credential/rotate`)
  const previous = () => k.rows("SELECT 1 FROM ssh_credentials WHERE state = 'previous'").length
  assert.equal(previous(), 1)
  await act('rotate_trust')
  assert.equal(previous(), 1)
  runner.answers(ran(0))
  await act('smoke_check')
  assert.equal(previous(), 1)
  await act('rotate_trust')
  assert.equal(previous(), 0)
  assert.equal(k.rows("SELECT 1 FROM ssh_credentials WHERE state = 'revoked' AND sealed_key IS NOT NULL").length, 0)
  const [row] = k.rows<{ details: string }>(
    "SELECT details FROM audit_events WHERE action = 'nodes.lifecycle.rotate_trust.succeeded'",
  )
  assert.equal(JSON.parse(row?.details ?? '').sshKeyConfirmed, true)
  await close()
})

const lines = (...all: (object | string)[]): string =>
  all.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')
const said = (text: string) => ({ output: { stream: 'stdout', text } })
const streamed =
  (text: string, end: (response: ServerResponse) => void): Reply =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.write(text, () => end(response))
  }

test('a runner that tells on the way ends with its last line; of one that breaks off stays what was heard', async () => {
  const { act, close, runner } = await world(ran(0))
  const whole = (...all: (object | string)[]) => streamed(lines(...all), (response) => response.end())
  const answer = { data: { exitCode: 0, stdout: 'all of it' } }
  const rows: [Reply, number | undefined, string | undefined, string | undefined][] = [
    [whole({}, said('some'), answer), 0, undefined, 'all of it'],
    [whole({}, said('some'), 'garbage', { output: { stream: 'x', text: 1 } }, answer), 0, undefined, 'all of it'],
    [whole({}, { error: 'ssh_key_required', message: 'no key' }), undefined, 'ssh_key_required', undefined],
    [whole({}, said('some\n')), undefined, 'ansible_runner_invalid_answer', 'some\n'],
    [whole(), undefined, 'ansible_runner_invalid_answer', undefined],
    [streamed(lines(said('some\n')), (r) => r.destroy()), undefined, 'ansible_runner_broken', 'some\n'],
    [
      whole(said(`token svc_node_${'a'.repeat(43)}\n${TOKEN}\n`)),
      undefined,
      'ansible_runner_invalid_answer',
      'token [redacted]\n[redacted]\n',
    ],
  ]
  for (const [reply, ...wanted] of rows) {
    runner.answers(reply)
    const { data } = (await act('smoke_check')).json
    assert.deepEqual([data.exitCode, data.error, data.stdout], wanted)
    if (data.error === 'ssh_key_required') assert.equal(data.stderr, 'no key')
  }
  assert.equal(runner.asked.at(-1)?.headers.accept, 'application/x-ndjson, application/json')
  await close()
})

test('of a runner that falls silent on the way stays what was heard', async () => {
  const { act, close } = await world(
    streamed(lines(said('some\n')), () => {}),
    { SVC_ANSIBLE_RUNNER_TIMEOUT_MS: '1000' },
  )
  const { data } = (await act('smoke_check')).json
  assert.deepEqual([data.error, data.stdout], ['ansible_runner_timeout', 'some\n'])
  await close()
})

test('silence ends a run, not its length', async () => {
  const { act, close, runner } = await world(ran(0), { SVC_ANSIBLE_RUNNER_TIMEOUT_MS: '5000' })
  runner.answers((_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    let left = 12
    const alive = setInterval(() => {
      if (left-- > 0) return void response.write('{}\n')
      clearInterval(alive)
      response.end(lines({ data: { exitCode: 0 } }))
    }, 500)
  })
  const { data } = (await act('update_binary')).json
  assert.deepEqual([data.status, data.error], ['succeeded', undefined])
  await close()
})

test('a bug in the middle of a run ends its job too', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const jobs = lifecycleStore(k.db)
  const { audit, clock, group, log } = k.pipeline
  const act = () => Promise.reject(new Error('a bug'))
  const dispatch = new Dispatch({ act, audit, clock, events: k.events, group, jobs, log, sshKeys: {} as SshKeyStore })
  const wish = { action: 'smoke_check', id: 'job', nodeAlias: 'Hall', nodeId: id, requestedBy: 'admin' } as const
  const job = jobs.create({ ...wish, targetHost: 'hall' }, k.now())
  const ended = await dispatch.start(job, {}, systemActor('test'))
  assert.deepEqual([ended.status, ended.error], ['failed', 'internal_error'])
  assert.ok(k.logged.some((line) => line.includes('a bug')))
  assert.deepEqual(jobs.running(), [])
  await k.close()
})

test('stopping gives up what runs, and a start finds nothing that claims to run', async () => {
  const { act, close, id, k, runner } = await world(() => {})
  const asked = act('smoke_check')
  await runner.next()
  await k.stop()
  const answer = await asked
  assert.deepEqual([answer.status, answer.json.data.error], [502, 'controller_stopped'])
  // As after kill -9: the row was never closed.
  k.sql(
    `INSERT INTO node_lifecycle_jobs (id, node_id, node_alias, action, target_host, requested_at, requested_by)
     VALUES ('left', ?, 'Hall', 'update_binary', 'hall', ?, 'admin')`,
    id,
    k.now(),
  )
  k.forget()
  await k.start()
  const [job] = k.rows<{ status: string; error: string }>(
    "SELECT status, error FROM node_lifecycle_jobs WHERE id = 'left'",
  )
  assert.deepEqual({ ...job }, { status: 'failed', error: 'controller_restarted' })
  assert.ok(k.trail().includes('nodes.lifecycle.update_binary.failed failed controller_restarted'))
  await close()
})

test('outputs are kept by their ends, without secrets, and the list stays bounded', async () => {
  const key = `-----BEGIN OPENSSH PRIVATE KEY-----\n${'A'.repeat(300)}\n-----END OPENSSH PRIVATE KEY-----`
  const leak = `token svc_node_${'a'.repeat(43)} ${key} authorization: Bearer abcdefghijkl ${TOKEN} end`
  const { act, close, id, k } = await world(
    ran(0, { stdout: `${'x'.repeat(50_000)}${leak}`, stderr: 'e'.repeat(50_000) }),
  )
  const { data } = (await act('install_dependencies')).json
  assert.deepEqual([data.stdout.length, data.stderr.length, data.stdout.endsWith(' end')], [20_000, 12_000, true])
  assert.doesNotMatch(data.stdout, /svc_node_|PRIVATE KEY|AAAA|abcdefgh|runner-inbound/)
  for (let i = 0; i < 105; i++) {
    k.advance('1s')
    await act('smoke_check')
  }
  const { json: list, text } = await k.as('admin').get(`/nodes/${id}/lifecycle-jobs`)
  assert.equal(list.data.length, 100)
  assert.ok(list.data[0].requestedAt > list.data[99].requestedAt)
  assert.ok(k.rows('SELECT 1 FROM node_lifecycle_jobs').length <= 101)
  assert.doesNotMatch(text + JSON.stringify(k.rows('SELECT * FROM audit_events')), /runner-inbound/)
  await close()
})

test('rules: the host is the first address that others are likely to reach, else the host name; a cut key is no text', () => {
  const host = (ipAddresses: string[]) => targetHostOf({ hostname: 'hall', ipAddresses })
  assert.equal(host(['', ' ', '-oProxyCommand=id', '10.0.0.1']), '10.0.0.1')
  assert.equal(host(['fe80::1%eth0']), 'fe80::1%eth0')
  assert.equal(host([]), 'hall')
  assert.equal(host(['fe80::1']), 'hall')
  assert.equal(host(['127.0.0.1', '172.17.0.1', '169.254.7.7', '192.168.1.7', '10.0.0.1']), '192.168.1.7')
  assert.equal(host(['172.18.0.1', '2001:db8::7']), '2001:db8::7')
  assert.equal(host(['172.17.0.1', '169.254.7.7']), '169.254.7.7')
  assert.equal(host(['127.0.0.1']), '127.0.0.1')
  assert.equal(redacted('-----BEGIN RSA PRIVATE KEY-----\nabc', []), '[redacted]')
  assert.equal(redacted('plain svc_ text', []), 'plain svc_ text')
})

test('a job that could not be made safe does not block its node', async () => {
  const { act, close, id, k, runner } = await world(ran(0))
  const synced = k.db.synced.bind(k.db)
  const stored = () => k.rows('SELECT 1 FROM node_lifecycle_jobs').length > 0
  k.db.synced = async () => {
    await synced()
    if (!stored()) return
    k.db.synced = synced
    throw new Fail(503, 'database_unavailable', 'Service temporarily unavailable')
  }
  assert.equal((await act('restart_service')).status, 503)
  await k.pipeline.group.drain()
  const job = await last(k, id)
  assert.deepEqual([job.status, job.error, runner.asked.length], ['failed', 'database_unavailable', 0])
  assert.equal((await act('restart_service')).status, 202)
  await close()
})
