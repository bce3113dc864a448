// Errors as the system itself makes them, in words.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import * as dns from 'node:dns/promises'
import * as fs from 'node:fs'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import * as net from 'node:net'
import * as os from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { makeDir } from '../../src/kernel/dirs.ts'
import { errorFields } from '../../src/kernel/log.ts'
import { faultWords, systemWords } from '../../src/kernel/words.ts'

const RAW = /\bE[A-Z]{3,}\b|SQLITE_|EAI_/
const thrown = async (work: () => unknown): Promise<unknown> => {
  try {
    await work()
  } catch (e) {
    return e
  }
  assert.fail('nothing was thrown')
}

async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('nobody listening is told with the address, whichever client asked', async () => {
  const port = await freePort()
  const get = (host: string) => () =>
    new Promise((_, reject) => http.get({ host, path: '/', port }).once('error', reject))
  const said = `nothing listens at 127.0.0.1:${port}: check that the service is running and that the port is right`
  assert.equal(systemWords(await thrown(get('127.0.0.1'))), said)
  assert.equal(systemWords(await thrown(() => fetch(`http://127.0.0.1:${port}`))), said)
  // A name with several addresses: the failures come together.
  assert.match(String(systemWords(await thrown(get('localhost')))), /^nothing listens at (127\.0\.0\.1|\[::1\]):\d+:/)
})

test('a name that cannot be looked up is told', async () => {
  const words = systemWords(await thrown(() => dns.lookup('recorder.invalid')))
  assert.match(String(words), /^the name recorder\.invalid (is not known|could not be resolved): .*name servers/)
})

test('a port that is taken, and a connection that broke off', async () => {
  const server = net.createServer((socket) => socket.resetAndDestroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const again = () => new Promise((_, reject) => net.createServer().once('error', reject).listen(port, '127.0.0.1'))
  assert.equal(
    systemWords(await thrown(again)),
    `127.0.0.1:${port} is in use by another program: stop it, or choose another port`,
  )
  const broken = await thrown(() => fetch(`http://127.0.0.1:${port}`))
  server.close()
  assert.match(String(systemWords(broken)), /^127\.0\.0\.1:\d+ closed the connection/)
})

test('a program that is not there, or may not be run', async () => {
  const spawned = (command: string) => () => new Promise((_, reject) => spawn(command).once('error', reject))
  assert.equal(
    systemWords(await thrown(spawned('no-such-program'))),
    'the program no-such-program was not found: install it',
  )
  assert.equal(
    systemWords(await thrown(spawned('/etc/passwd'))),
    'the program /etc/passwd cannot be run by this user: check its mode',
  )
})

test('what the disk says is told with the file', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-words-'))
  const file = path.join(dir, 'a')
  assert.equal(faultWords(await thrown(() => fs.readFileSync(file))), `${file} does not exist`)
  assert.equal(faultWords(await thrown(() => fs.readFileSync(dir))), 'a file is a directory')
  assert.equal(
    faultWords(await thrown(() => fs.writeFileSync('/dev/full', 'x')), '/dev/full'),
    '/dev/full could not be written: the disk is full. Make room there',
  )
  fs.writeFileSync(file, 'no database, and longer than a header of one'.repeat(9))
  const db = new Database(file)
  assert.match(faultWords(await thrown(() => db.pragma('user_version'))), /^the database is damaged: restore a backup/)
  db.close()
  fs.rmSync(dir, { recursive: true })
})

test('a log tells them without a stack; a fault of ours keeps its own', async () => {
  const e = await thrown(() => fs.readFileSync('/nowhere/at/all'))
  assert.deepEqual(errorFields(e), { error: '/nowhere/at/all does not exist', code: 'ENOENT' })
  assert.doesNotMatch(String(errorFields(e).error), RAW)
  const made = await thrown(() => makeDir('/proc/none/at/all'))
  assert.deepEqual(errorFields(made), {
    error: 'The directory /proc/none/at/all cannot be made: /proc/none does not exist.',
  })
  const wrapped = errorFields(new Error('asked in vain', { cause: e }))
  assert.deepEqual(wrapped, { error: 'asked in vain: /nowhere/at/all does not exist' })
  const bug = errorFields(new TypeError('x is not a function'))
  assert.equal(bug.error, 'x is not a function')
  assert.match(String(bug.stack), /words\.test/)
  assert.deepEqual(errorFields('so'), { error: 'so' })
  assert.equal(systemWords(Object.assign(new Error('not allowed'), { code: 'EPERM' })), undefined)
})
