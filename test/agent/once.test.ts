import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { executable } from '../kit/executable.ts'
import { until, wav } from './jobs/kit.ts'
import { type Handler, json, type Seen, serve, stored, tempDir } from './server.ts'

const program = await executable()

interface Ran {
  child: ChildProcess
  code: Promise<number | null>
  dir: string
  output(): string
}

function agent(t: TestContext, url: string, args: string[], dir = tempDir(t), env: Record<string, string> = {}): Ran {
  const settings = { SVC_CONTROLLER_TOKEN: 'svc_node_x', SVC_CONTROLLER_URL: url, SVC_NODE_ID: 'node_1' }
  const child = spawn(program, ['agent', ...args], {
    cwd: dir,
    env: { HOME: dir, PATH: process.env.PATH, TMPDIR: dir, ...settings, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  t.after(() => child.kill('SIGKILL'))
  return { child, code: new Promise((resolve) => child.once('close', resolve)), dir, output: () => output }
}

/** Takes uploads; there is no job here. */
const taking =
  (puts: Seen[], refuse: (seen: Seen) => number = () => 201): Handler =>
  (seen, response) => {
    if (seen.method === 'HEAD') return response.writeHead(404).end()
    if (seen.method === 'GET') return json(response, 200, { data: [] })
    const status = refuse(seen)
    if (status !== 201) return json(response, status, { error: 'no' })
    puts.push(seen)
    stored(response, seen)
  }

const header = (seen: Seen | undefined, name: string) => decodeURIComponent(String(seen?.headers[`x-svc-${name}`]))

function sound(dir: string, name: string, seconds: number): string {
  const file = path.join(dir, name)
  const input = ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${seconds}`]
  execFileSync('ffmpeg', ['-v', 'error', ...input, file])
  return file
}

test('a file is attached with its type, its name and its measured length', async (t) => {
  const puts: Seen[] = []
  const { url } = await serve(t, taking(puts))
  const dir = tempDir(t)
  for (const [name, type] of [
    ['a.mp3', 'audio/mpeg'],
    ['b.wav', 'audio/wav'],
    ['c.flac', 'audio/flac'],
  ] as const) {
    const file = sound(dir, name, 1.5)
    const ran = agent(t, url, ['--attach-cache-file', file, '--attach-cache-recording-id', 'rec_1'])
    assert.equal(await ran.code, 0, ran.output())
    const put = puts.at(-1)
    assert.equal(put?.url, '/api/v1/recordings/rec_1/cache-file')
    assert.deepEqual([put?.headers['content-type'], header(put, 'file-name')], [type, name])
    assert.ok(Math.abs(Number(header(put, 'duration-seconds')) - 1.5) < 0.06, header(put, 'duration-seconds'))
    assert.ok(put?.body.equals(fs.readFileSync(file)))
    assert.equal(put?.headers['x-svc-recording-job-id'], undefined)
  }
})

test('what is said of the file counts more than what is measured; an unknown extension is audio/mpeg', async (t) => {
  const puts: Seen[] = []
  const { url } = await serve(t, taking(puts))
  const dir = tempDir(t)
  fs.writeFileSync(path.join(dir, 'take.bin'), 'sound')
  const args = ['--attach-cache-file', 'take.bin', '--attach-cache-recording-id', 'rec_1']
  const said = ['--attach-cache-duration-seconds', '12.5', '--attach-cache-file-name', 'Take 1.mp3']
  assert.equal(await agent(t, url, [...args, ...said], dir).code, 0)
  const [put] = puts
  assert.deepEqual(
    [put?.headers['content-type'], header(put, 'file-name'), header(put, 'duration-seconds')],
    ['audio/mpeg', 'Take 1.mp3', '12.5'],
  )
})

test('what cannot be attached is a sentence and a code', async (t) => {
  const { url } = await serve(
    t,
    taking([], () => 404),
  )
  const dir = tempDir(t)
  fs.writeFileSync(path.join(dir, 'take.bin'), 'sound')
  const cases: [string[], number, RegExp][] = [
    [['--attach-cache-file', 'take.bin'], 2, /--attach-cache-recording-id must be given together/],
    [['--attach-cache-file', 'none', '--attach-cache-recording-id', 'r'], 2, /is missing or empty/],
    [['--attach-cache-file', 'take.bin', '--attach-cache-recording-id', 'r'], 2, /is not a WAV, FLAC or MP3 file/],
  ]
  for (const [args, code, words] of cases) {
    const ran = agent(t, url, args, dir)
    assert.equal(await ran.code, code, ran.output())
    assert.match(ran.output(), words)
  }
  const refused = agent(t, url, [...cases[2]![0], '--attach-cache-duration-seconds', '1'], dir)
  assert.equal(await refused.code, 1)
})

test('a recording without a job is captured, rendered, copied and uploaded without naming a job', async (t) => {
  const puts: Seen[] = []
  const { seen, url } = await serve(t, taking(puts))
  const args = ['--capture-recording-id', 'rec_1', '--capture-seconds', '2', '--capture-device', 'test:speed=20']
  const ran = agent(t, url, [...args, '--capture-output', 'out/take.flac'])
  fs.mkdirSync(path.join(ran.dir, 'out'))
  assert.equal(await ran.code, 0, ran.output())
  assert.deepEqual(
    seen.filter((s) => s.method === 'PUT').map((s) => `${s.method} ${s.url}`),
    ['PUT /api/v1/recordings/rec_1/cache-file'],
  )
  const [put] = puts
  assert.deepEqual([put?.headers['content-type'], header(put, 'file-name')], ['audio/flac', 'take.flac'])
  assert.equal(put?.headers['x-svc-recording-job-id'], undefined)
  assert.ok(put?.body.equals(fs.readFileSync(path.join(ran.dir, 'out/take.flac'))))
  assert.deepEqual(fs.readdirSync(path.join(ran.dir, 'data/agent/once/takes')), [])
})

test('a take that is stopped by a signal is delivered with what it has', async (t) => {
  const puts: Seen[] = []
  const { url } = await serve(t, taking(puts))
  const ran = agent(t, url, [
    '--capture-recording-id',
    'rec_1',
    '--capture-device',
    'test:',
    '--capture-seconds',
    '600',
  ])
  const takes = path.join(ran.dir, 'data/agent/once/takes')
  const written = () =>
    fs.existsSync(takes) &&
    fs
      .readdirSync(takes)
      .some((id) => (fs.statSync(path.join(takes, id, 'take.wav'), { throwIfNoEntry: false })?.size ?? 0) > 50_000)
  await until(written)
  ran.child.kill('SIGINT')
  assert.equal(await ran.code, 0, ran.output())
  assert.ok(wav(puts[0]!.body).dataBytes > 40_000)
})

test('a take whose agent was killed is delivered by the next run', async (t) => {
  const puts: Seen[] = []
  let away = true
  const { url } = await serve(
    t,
    taking(puts, () => (away ? 503 : 201)),
  )
  const dir = tempDir(t)
  const args = (id: string) => [
    '--capture-recording-id',
    id,
    '--capture-seconds',
    '1',
    '--capture-device',
    'test:speed=20',
  ]
  const first = agent(t, url, args('rec_1'), dir)
  await until(() => first.output().includes('cache_upload_failed'))
  first.child.kill('SIGKILL')
  await first.code
  away = false
  const second = agent(t, url, args('rec_2'), dir)
  assert.equal(await second.code, 0, second.output())
  assert.deepEqual(puts.map((put) => put.url.split('/')[4]).sort(), ['rec_1', 'rec_2'])
})

test('a recording that the controller does not take ends with a code, its audio kept', async (t) => {
  const { url } = await serve(
    t,
    taking([], () => 404),
  )
  const ran = agent(t, url, [
    '--capture-recording-id',
    'rec_1',
    '--capture-seconds',
    '1',
    '--capture-device',
    'test:speed=20',
  ])
  assert.equal(await ran.code, 1, ran.output())
  assert.match(ran.output(), /the take was not delivered/)
  const [kept] = fs.readdirSync(path.join(ran.dir, 'data/agent/once/kept'))
  assert.ok(fs.statSync(path.join(ran.dir, 'data/agent/once/kept', kept!, 'take.wav')).size > 100_000)
})

test('the channel maps are printed as they came, and nothing else is', async (t) => {
  const maps = [{ assignment: { id: 'a', targetId: 'node_1' }, template: { channelMode: 'mono', entries: [] } }]
  const { seen, url } = await serve(t, (_seen, response) => json(response, 200, { data: maps }))
  const ran = agent(t, url, [], undefined, { SVC_PRINT_CHANNEL_MAP_ASSIGNMENTS: 'true' })
  assert.equal(await ran.code, 0, ran.output())
  assert.deepEqual(JSON.parse(ran.output()), maps)
  assert.deepEqual(
    seen.map((s) => s.url),
    ['/api/v1/nodes/node_1/channel-map-assignments'],
  )
  const none = agent(t, url, ['--print-channel-map-assignments'], undefined, { SVC_CONTROLLER_TOKEN: '' })
  assert.equal(await none.code, 2)
})
