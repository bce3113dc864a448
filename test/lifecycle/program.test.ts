import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { after, test } from 'node:test'
import { until } from '../kit/whole.ts'
import { bearer, HANG, INBOUND_TOKEN, programs, runs, World } from './rig.ts'
import { type RunningProgram, runnerProgram } from './runner.ts'

const world = await World.open()
const runner = await runnerProgram(world.env)
after(async () => {
  await runner.end('SIGTERM')
  await world.close()
})
const { node } = world

const sshs = () => programs().filter(({ args }) => args[0] === 'ssh' && args.includes(String(node.port)))
const begun = async () => {
  const before = node.asked.length
  return () => until('the node to be asked', () => node.asked.length > before)
}

test('healthz answers anybody; runs want the token', async () => {
  const health = await fetch(`${runner.url}/healthz`)
  assert.deepEqual([health.status, await health.json()], [200, { data: { ok: true } }])
  const wish = world.request('smoke_check')
  for (const headers of [{}, bearer('wrong'), bearer(`${INBOUND_TOKEN}x`), { authorization: INBOUND_TOKEN }] as {
    [name: string]: string
  }[]) {
    const { json, status } = await runs(runner.url, wish, headers)
    assert.deepEqual([status, json], [401, { error: 'unauthorized' }])
  }
  assert.deepEqual(node.asked, [])
})

test('a run answers with what became of it, also when that is nothing good', async () => {
  const { json, status } = await runs(runner.url, world.request('smoke_check'))
  assert.equal(status, 200)
  const { runId, ...data } = json.data
  assert.deepEqual(data, { exitCode: 0, stderr: '', stdout: 'done\n', targetHost: '127.0.0.1' })
  node.does('echo "a take runs" >&2; exit 3')
  const busy = await runs(runner.url, world.request('restart_service'))
  assert.deepEqual([busy.status, busy.json.data.exitCode, busy.json.data.stderr], [200, 3, 'a take runs\n'])
})

test('what is no run is refused by the names of the contract', async () => {
  const wish = world.request('smoke_check')
  const cases: [body: unknown, status: number, error: string][] = [
    [{ ...wish, action: 'reboot' }, 400, 'unsupported_lifecycle_action'],
    [{ ...wish, action: 'toString' }, 400, 'unsupported_lifecycle_action'],
    [{ target: wish.target }, 400, 'unsupported_lifecycle_action'],
    [[], 400, 'unsupported_lifecycle_action'],
    ['null', 400, 'unsupported_lifecycle_action'],
    [{ action: 'smoke_check' }, 400, 'target_host_required'],
    [{ ...wish, target: { ...wish.target, host: '', nodeId: 'other' } }, 400, 'target_host_required'],
    [{ ...wish, target: { ...wish.target, host: '-oProxyCommand=id', nodeId: 'other' } }, 400, 'target_host_required'],
    [{ ...wish, options: { sshUser: '-oProxyCommand=id' } }, 400, 'invalid_request'],
    [{ ...wish, options: { agentVersion: '../../x' } }, 400, 'invalid_request'],
    ['{"action":', 400, 'invalid_json'],
    ['x'.repeat(70_000), 413, 'payload_too_large'],
  ]
  const before = node.asked.length
  for (const [body, status, error] of cases) {
    const answer = await runs(runner.url, body)
    assert.deepEqual([answer.status, answer.json.error], [status, error], JSON.stringify(body).slice(0, 200))
  }
  assert.equal(node.asked.length, before)
  const answers = [await fetch(`${runner.url}/runs`, { headers: bearer() }), await fetch(`${runner.url}/`)]
  // No address at all: that is nobody's error but the caller's.
  answers.push(await fetch(`${runner.url}//`))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [405, 404, 404],
  )
})

test('who goes away ends the run, and so does the end of the runner', async () => {
  node.does(HANG)
  const gone = new AbortController()
  const asked = await begun()
  const running = runs(runner.url, world.request('smoke_check'), bearer(), gone.signal)
  await asked()
  assert.equal(sshs().length, 1)
  gone.abort()
  await assert.rejects(running)
  await until('ssh to end', () => sshs().length === 0)
  await until('the key to go', () => !world.left.some((name) => name.endsWith('/key')))

  const other = await runnerProgram(world.env)
  const again = await begun()
  const cut = runs(other.url, world.request('smoke_check'))
  await again()
  assert.deepEqual(await other.end('SIGTERM'), [0, null])
  assert.deepEqual([(await cut).status, (await cut).json], [503, { error: 'runner_stopped' }])
  assert.deepEqual([sshs(), world.left], [[], []])
  noSecretIn(other)
})

test('what a killed runner leaves is removed by the next start; what a living one works with stays', async () => {
  node.does(HANG)
  const keys = () => world.left.filter((name) => name.endsWith('/key'))
  const gone = new AbortController()
  const first = await begun()
  const living = runs(runner.url, world.request('smoke_check'), bearer(), gone.signal).catch(() => 'given up')
  await first()
  const [mine] = keys()
  const asked = await begun()
  const killed = await runnerProgram(world.env)
  const cut = runs(killed.url, world.request('smoke_check')).catch(() => 'cut')
  await asked()
  assert.equal(keys().length, 2)
  await killed.end('SIGKILL')
  assert.equal(await cut, 'cut')
  assert.equal(keys().length, 2)
  const next = await runnerProgram(world.env)
  assert.deepEqual(keys(), [mine])
  await next.end('SIGTERM')
  gone.abort()
  assert.equal(await living, 'given up')
  await until('the key to go', () => keys().length === 0)
  // The ssh of the killed one is nobody's child any more.
  for (const { pid } of sshs()) execFileSync('sh', ['-c', `kill ${pid} 2>/dev/null || true`])
})

test('while it runs each line is told, with signs of life; the last one is the answer', async () => {
  node.does('echo one; until [ -e on ]; do sleep 0.05; done; echo two')
  const body = JSON.stringify(world.request('smoke_check'))
  const headers = { ...bearer(), accept: 'application/x-ndjson, application/json' }
  const answer = await fetch(`${runner.url}/runs`, { body, headers, method: 'POST' })
  assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
  let text = ''
  for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(piece).toString()
    if (text.includes('one')) fs.writeFileSync(node.path('on'), '')
  }
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(lines.slice(0, 3), [
    {},
    { output: { stream: 'stdout', text: 'one\n' } },
    { output: { stream: 'stdout', text: 'two\n' } },
  ])
  assert.deepEqual([lines.length, lines.at(-1).data.exitCode, lines.at(-1).data.stdout], [4, 0, 'one\ntwo\n'])
})

test('it does not start without a token, nor with settings that cannot be meant', async () => {
  const { SVC_ANSIBLE_RUNNER_TOKEN: _, ...open } = world.env
  const secret = 'hunter2-hunter2-hunter2'
  const cases: [env: Record<string, string>, words: RegExp][] = [
    [open, /SVC_ANSIBLE_RUNNER_TOKEN is not set/],
    [
      { ...world.env, SVC_ANSIBLE_TARGETS: `{"n":{"host":"h","password":"${secret}"}}` },
      /SVC_ANSIBLE_TARGETS.*n: only/,
    ],
    [{ ...world.env, SVC_RUNNER_CLIENT_CERT_PATH: world.node.path('x') }, /certificate and its key go together/],
    [{ ...world.env, RUNTIME_DIRECTORY: '/nonexistent', SVC_ANSIBLE_SSH_KEY_FILE: '/nonexistent' }, /cannot be read/],
    [{ ...world.env, SVC_ANSIBLE_RUNNER_PORTS: '1' }, /SVC_ANSIBLE_RUNNER_PORTS is not a setting/],
    [{ ...world.env, SVC_ANSIBLE_RUNNER_HOST: '192.0.2.1' }, /this machine does not have the address 192\.0\.2\.1/],
  ]
  for (const [env, words] of cases) {
    const ended = await runnerProgram(env)
    assert.equal(ended.url, '')
    assert.notEqual((await ended.end('SIGTERM'))[0], 0)
    assert.match(ended.said(), words)
    assert.ok(!ended.said().includes(secret))
  }
})

function noSecretIn(program: RunningProgram): void {
  for (const secret of [INBOUND_TOKEN, world.env.SVC_RUNNER_TOKEN as string, 'PRIVATE KEY', world.token])
    assert.ok(!program.said().includes(secret))
}

test('the log names runs, and no secret', () => {
  assert.match(runner.said(), /run ended.*smoke_check/)
  noSecretIn(runner)
})
