// The executable for the other architecture, built here and run under emulation.
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import pkg from '../../package.json' with { type: 'json' }
import { until } from '../kit/whole.ts'

const ROOT = path.resolve(import.meta.dirname, '..', '..')
fs.mkdirSync(path.join(ROOT, '.cache'), { recursive: true })
const scratch = fs.mkdtempSync(path.join(ROOT, '.cache', 'arm64-'))
const program = path.join(scratch, 'roomtone-linux-arm64')
// scripts/setup --tests installs the emulator and the libraries of a Debian for that machine.
const EMULATED = ['-L', '/usr/aarch64-linux-gnu', program]
const env = { HOME: scratch, PATH: process.env.PATH, SVC_DATA_DIR: path.join(scratch, 'data'), TMPDIR: scratch }
const emulated = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)('qemu-aarch64-static', [...EMULATED, ...args], { env })).stdout

before(() => {
  const args = ['build.mjs', '--arch', 'arm64', '--out', scratch]
  execFileSync(process.execPath, args, { cwd: ROOT, stdio: 'ignore' })
})
after(() => fs.rmSync(scratch, { recursive: true }))

test('it is an executable for arm64 that says its version and the inventory of the machine', async () => {
  // ELF, 64 bit; machine 183 is AArch64.
  const head = Buffer.alloc(20)
  const file = fs.openSync(program, 'r')
  fs.readSync(file, head)
  fs.closeSync(file)
  assert.deepEqual([head.toString('latin1', 1, 4), head.readUInt16LE(18)], ['ELF', 183])
  assert.equal(await emulated('version'), `${pkg.version}\n`)
  const inventory = JSON.parse(await emulated('agent', '--print-inventory'))
  assert.deepEqual([inventory.agentVersion, inventory.runtime.architecture], [pkg.version, 'aarch64'])
})

test('as controller it opens its database, answers, and ends in order', async () => {
  const child = spawn('qemu-aarch64-static', [...EMULATED, 'controller'], { env: { ...env, SVC_PORT: '0' } })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      said += text
    })
  try {
    const url = await until('the controller to listen', () => {
      assert.equal(child.exitCode, null, said)
      return /^\{"url":"([^"]+)"/m.exec(said)?.[1]
    })
    const { ok, version } = (await (await fetch(`${url}/healthz`)).json()) as { ok: boolean; version: string }
    assert.deepEqual([ok, version], [true, pkg.version])
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
  } finally {
    child.kill('SIGTERM')
  }
  const [code] = await once(child, 'exit')
  assert.equal(code, 0, said)
  // Exit 0: the database it made is whole.
  await emulated('check')
})
