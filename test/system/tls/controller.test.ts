// roomtone controller as a process: what it serves, what it refuses to serve, and a renewal while it runs.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../../src/controller/config.ts'
import { UserError } from '../../../src/kernel/fail.ts'
import { renewSite } from '../../../src/system/tls/site.ts'
import { executable } from '../../kit/executable.ts'
import { fingerprint, get, site, tempDir } from './world.ts'

const program = await executable()

const HEARD_MS = 60_000

/** Started, with whatever it logs and says. */
function started(
  t: TestContext,
  env: Record<string, string>,
): { child: ChildProcess; heard: (words: RegExp) => Promise<string> } {
  const child = spawn(program, ['controller'], {
    env: { ...process.env, SVC_DATA_DIR: tempDir(t), SVC_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'close')
  })
  let text = ''
  const listeners = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      for (const listener of listeners) listener()
    })
  child.once('close', () => {
    for (const listener of listeners) listener()
  })
  const heard = (words: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const line = text.split('\n').find((one) => words.test(one))
        if (line !== undefined) resolve(line)
        else if (child.exitCode !== null || child.signalCode !== null)
          reject(new Error(`it ended without ${words}: ${text}`))
      }
      listeners.add(look)
      look()
      const overdue = () => reject(new Error(`after ${HEARD_MS} ms not a word of ${words}: ${text}`))
      setTimeout(overdue, HEARD_MS).unref()
    })
  return { child, heard }
}

test('a controller takes a renewed certificate while it runs, at once on SIGHUP', async (t) => {
  const s = site(t)
  const { child, heard } = started(t, { SVC_API_TLS_CERT_PATH: s.cert, SVC_API_TLS_KEY_PATH: s.key })
  const { url } = JSON.parse(await heard(/^\{"url"/)) as { url: string }
  assert.match(url, /^https:/)
  const ca = fs.readFileSync(s.ca)
  const before = await get(`${url}/healthz`, { ca })
  assert.deepEqual([before.status, before.fingerprint], [200, fingerprint(s.cert)])
  renewSite(s.dir, { days: 300, force: true, hosts: [], newKey: true, withinDays: 30 }, Date.now())
  child.kill('SIGHUP')
  await heard(/serving a renewed certificate/)
  const after = await get(`${url}/healthz`, { ca })
  assert.deepEqual([after.status, after.fingerprint], [200, fingerprint(s.cert)])
  assert.notEqual(after.fingerprint, before.fingerprint)
})

test('a pair that does not fit stops the start with a sentence, before anything is made', async (t) => {
  const s = site(t)
  const { child, heard } = started(t, { SVC_API_TLS_CERT_PATH: s.cert, SVC_API_TLS_KEY_PATH: s.caKey })
  const [, said] = await Promise.all([once(child, 'close'), heard(/does not belong to the certificate/)])
  assert.equal(child.exitCode, 2)
  assert.ok(!said.includes('BEGIN'))
})

const refusal = (env: Record<string, string>): string | undefined => {
  try {
    readConfig(env)
    return undefined
  } catch (e) {
    assert.ok(e instanceof UserError)
    return e.message
  }
}

test('without TLS the controller stays on this machine, unless somebody answers for it', (t) => {
  const s = site(t)
  const tls = { SVC_API_TLS_CERT_PATH: s.cert, SVC_API_TLS_KEY_PATH: s.key }
  for (const host of ['127.0.0.1', '127.9.9.9', 'localhost', '::1'])
    assert.equal(refusal({ SVC_HOST: host }), undefined, host)
  for (const host of ['0.0.0.0', '::', '10.0.0.5', '127.example.org', 'roomtone.lan']) {
    const said = refusal({ SVC_HOST: host }) ?? ''
    for (const word of [
      host,
      'SVC_API_TLS_CERT_PATH',
      'roomtone tls init',
      'SVC_TRUSTED_PROXIES',
      'SVC_ALLOW_PLAIN_HTTP=1',
    ])
      assert.ok(said.includes(word), `${host}: ${said}`)
    const ways: Record<string, string>[] = [tls, { SVC_TRUSTED_PROXIES: '10.0.0.1' }, { SVC_ALLOW_PLAIN_HTTP: '1' }]
    for (const way of ways) assert.equal(refusal({ SVC_HOST: host, ...way }), undefined)
  }
})

test('settings of TLS that contradict each other are told', (t) => {
  const s = site(t)
  const tls = { SVC_API_TLS_CERT_PATH: s.cert, SVC_API_TLS_KEY_PATH: s.key }
  const bad: [env: Record<string, string>, said: RegExp][] = [
    [{ ...tls, SVC_API_TLS_CLIENT_CERT_MODE: 'required' }, /SVC_API_TLS_CLIENT_CA_PATH/],
    [{ ...tls, SVC_API_TLS_CLIENT_CERT_MODE: 'always' }, /SVC_API_TLS_CLIENT_CERT_MODE/],
    [
      { ...tls, SVC_API_TLS_CLIENT_CERT_MODE: 'optional', SVC_API_TLS_CLIENT_CA_PATH: '/nonexistent' },
      /CLIENT_CA_PATH names \/nonexistent/,
    ],
    [{ SVC_API_TLS_CLIENT_CERT_MODE: 'required', SVC_API_TLS_CLIENT_CA_PATH: s.ca }, /set SVC_API_TLS_CERT_PATH/],
    [{ ...tls, SVC_API_TLS_NEXT_CERT_PATH: s.cert }, /go together/],
    [{ ...tls, SVC_API_TLS_NEXT_NOT_BEFORE: '2026-03-02T09:00:00Z' }, /go together/],
    [{ ...tls, SVC_API_TLS_NEXT_NOT_BEFORE: 'soon' }, /SVC_API_TLS_NEXT_NOT_BEFORE/],
    [{ SVC_API_TLS_NEXT_CERT_PATH: s.cert, SVC_API_TLS_NEXT_KEY_PATH: s.key }, /follows another certificate/],
  ]
  for (const [env, said] of bad) assert.match(refusal(env) ?? '', said, JSON.stringify(env))
  const whole = readConfig({ ...tls, SVC_API_TLS_CA_PATH: s.ca, SVC_API_TLS_CLIENT_CERT_MODE: 'optional' })
  assert.deepEqual([whole.tls?.clientCa, whole.tls?.clientCertMode], [s.ca, 'optional'])
})
