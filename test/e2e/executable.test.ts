import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import pkg from '../../package.json' with { type: 'json' }
import { executable } from '../kit/executable.ts'

let roomtone = ''
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'executable-'))
before(async () => {
  roomtone = await executable()
})
after(() => fs.rmSync(dir, { recursive: true }))

interface Place {
  cwd?: string
  env?: Record<string, string>
}

function begin(args: string[], { cwd = dir, env = {} }: Place = {}): ChildProcess {
  return spawn(roomtone, args, { cwd, env: { PATH: process.env.PATH, HOME: dir, TMPDIR: dir, ...env }, stdio: 'pipe' })
}

async function run(args: string[], place?: Place): Promise<{ code: number; out: string; err: string }> {
  const child = begin(args, place)
  const [out, err] = [child.stdout, child.stderr].map((stream) => stream?.toArray())
  const [code] = await once(child, 'close')
  return { code, out: (await out)?.join('') ?? '', err: (await err)?.join('') ?? '' }
}

/** Shared objects the dynamic loader opened, told by itself. */
const loadedFiles = (err: string): string[] =>
  [...err.matchAll(/file=(\S+) \[0\];\s+dynamically loaded/g)].map((m) => m[1] ?? '')

test('version says the version of the package, and nothing else', async () => {
  for (const verb of ['version', '--version'])
    assert.deepEqual(await run([verb]), { code: 0, out: `${pkg.version}\n`, err: '' })
})

test('help names every program, and every program has its own', async () => {
  const { code, out } = await run(['--help'])
  assert.equal(code, 0)
  for (const program of ['controller', 'agent', 'lifecycle', 'backup', 'restore', 'check', 'user']) {
    assert.match(out, new RegExp(`^ +${program} `, 'm'))
    const own = await run([program, '--help'])
    assert.equal(own.code, 0, own.err)
    assert.match(own.out, new RegExp(`usage: roomtone ${program}`, 'i'))
    assert.deepEqual(await run(['help', program]), own)
  }
})

test('no program and an unknown program are told on stderr, exit 2', async () => {
  assert.equal((await run([])).code, 2)
  for (const verb of ['contoller', 'constructor', '__proto__', '--controller', '']) {
    const { code, out, err } = await run([verb])
    assert.deepEqual([code, out], [2, ''], verb)
    assert.match(err, /unknown program/)
  }
})

test('lifecycle does not start without a token of its own, exit 2', async () => {
  const { code, err } = await run(['lifecycle'])
  assert.equal(code, 2)
  assert.match(err, /SVC_ANSIBLE_RUNNER_TOKEN is not set/)
})

test('the options of another Node.js on the machine do not reach in', async () => {
  const { code, out } = await run(['version'], { env: { NODE_OPTIONS: '--require /nowhere/else.js' } })
  assert.deepEqual([code, out], [0, `${pkg.version}\n`])
})

test('a reader that goes away does not make it fail', async () => {
  const child = begin(['--help'])
  child.stdout?.destroy()
  assert.deepEqual(await once(child, 'close'), [0, null])
})

test('the agent prints its inventory from a read-only directory and never loads SQLite', async () => {
  const place = { cwd: '/proc', env: { LD_DEBUG: 'files', SVC_ALSA_PROC_ROOT: dir } }
  const { code, out, err } = await run(['agent', '--print-inventory'], place)
  assert.equal(code, 0, err.slice(-2000))
  assert.ok(Array.isArray(JSON.parse(out).interfaces))
  assert.match(err, /calling init: .*libc\.so/) // the loader did report
  assert.deepEqual(loadedFiles(err), [])
})

test('ten controllers started at once all come up, load SQLite, leave nothing in the temporary directory and stop', async () => {
  const temporary = fs.mkdtempSync(path.join(dir, 'tmp-'))
  const starts = Array.from({ length: 10 }, (_, i) => controller(path.join(dir, `data-${i}`), temporary))
  const all = await Promise.all(starts)
  for (const { url } of all) assert.equal((await fetch(`${url}/readyz`)).status, 200)
  assert.deepEqual(fs.readdirSync(temporary), [])
  for (const { child } of all) child.kill('SIGTERM')
  assert.deepEqual(await Promise.all(all.map(({ closed }) => closed)), Array(10).fill([0, null]))
})

/** A controller on its own data directory and any port; resolves once it has printed its address. */
async function controller(data: string, temporary: string) {
  fs.mkdirSync(data)
  const env = { SVC_DATA_DIR: data, SVC_PORT: '0', TMPDIR: temporary }
  const child = begin(['controller'], { cwd: data, env })
  const closed = once(child, 'close')
  const err = child.stderr?.toArray()
  const url = new Promise<string>((resolve) => {
    const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> })
    lines.on('line', (line) => {
      const found = /"url":"([^"]+)"/.exec(line)?.[1]
      if (found) resolve(found)
    })
  })
  const failed = closed.then(async (how) => assert.fail(`the controller ended (${how}): ${(await err)?.join('')}`))
  failed.catch(() => {}) // also when it is stopped in the end
  return { child, closed, url: await Promise.race([url, failed]) }
}
