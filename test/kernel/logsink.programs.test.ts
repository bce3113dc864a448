import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { json, serve, tempDir } from '../agent/server.ts'

const MAIN = path.resolve(import.meta.dirname, '../../src/main.ts')

/** A pipe that nobody reads. */
function pipe(t: TestContext, dir: string): { fd: number; hang(): void } {
  const file = path.join(dir, 'pipe')
  execFileSync('mkfifo', [file])
  const fd = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_NONBLOCK)
  t.after(() => fs.closeSync(fd))
  const hang = () => {
    const full = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_NONBLOCK)
    assert.throws(() => {
      for (;;) fs.writeSync(full, '.')
    }, /EAGAIN/)
    fs.closeSync(full)
    // A program that starts on a shared opening makes it one on which writes wait.
    spawnSync('true', { stdio: ['ignore', fd, 'ignore'] })
  }
  return { fd, hang }
}

test('an agent beats on, and stops when it is told to, while nobody reads its log', async (t) => {
  const dir = tempDir(t)
  const out = pipe(t, dir)
  let beats = 0
  const enough = Promise.withResolvers<void>()
  const { url } = await serve(t, ({ url }, response) => {
    if (url.includes('claim-next-group')) return
    if (url.endsWith('/config')) return json(response, 200, { data: {} })
    if (!url.endsWith('/heartbeat')) return json(response, url.endsWith('/health-events') ? 201 : 202, { data: {} })
    beats++
    if (beats === 1) out.hang()
    if (beats === 5) enough.resolve()
    // What fails is worth a line of the log.
    json(response, beats === 2 ? 500 : 202, { data: {} })
  })
  const env = {
    HOME: dir,
    PATH: process.env.PATH,
    SVC_CONTROLLER_TOKEN: 'svc_node_secret',
    SVC_CONTROLLER_URL: url,
    SVC_HEARTBEAT_SECONDS: '1',
    SVC_LOG_LEVEL: 'debug',
    SVC_NODE_ID: 'node_1',
    SVC_TEST_SOURCE: '1',
  }
  const child = spawn(process.execPath, [MAIN, 'agent'], { cwd: dir, env, stdio: ['ignore', out.fd, out.fd] })
  t.after(() => child.kill('SIGKILL'))
  await enough.promise
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
})

test('a controller answers, and stops when it is told to, while nobody reads its log', async (t) => {
  const dir = tempDir(t)
  const log = pipe(t, dir)
  const env = { HOME: dir, PATH: process.env.PATH, SVC_DATA_DIR: path.join(dir, 'data'), SVC_PORT: '0' }
  const child = spawn(process.execPath, [MAIN, 'controller'], { cwd: dir, env, stdio: ['ignore', 'pipe', log.fd] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: child.stdout! }), 'line')
  const { url } = JSON.parse(line)
  log.hang()
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  // It says that it stops before it stops.
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
})
