// A recorder's link against a controller with TLS: what it accepts, what it shows, and what it says when it is refused.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLink, type LinkOptions } from '../../../src/agent/link/client.ts'
import { LinkError } from '../../../src/agent/link/link.ts'
import { type CertificateFiles, Certificates } from '../../../src/controller/http/certificates.ts'
import { Server } from '../../../src/controller/http/server.ts'
import { run } from '../../../src/system/host/run.ts'
import { issue } from '../../../src/system/tls/authority.x509.ts'
import { selfSigned } from '../../agent/server.ts'
import { executable } from '../../kit/executable.ts'
import { kit } from '../../kit/kit.ts'
import { daysAgo, type Site, site, tempDir } from './world.ts'

const BEAT = { agentVersion: '1', hostname: 'h', ipAddresses: [], runtime: {}, status: 'online' as const }

/** A whole controller with one enrolled node, served with a site's certificate. */
async function place(t: TestContext, s: Site, more: Partial<CertificateFiles> = {}) {
  const k = kit()
  const { id, token } = await k.enroll()
  const certificates = new Certificates({ cert: s.cert, clientCertMode: 'off', key: s.key, ...more }, Date.now())
  const log = { debug() {}, error() {}, info() {}, warn() {} }
  const server = new Server(k.app, { certificates, log })
  const base = await server.listen('127.0.0.1', 0)
  t.after(async () => {
    await server.close(100)
    await k.close()
  })
  const linked = (options: Partial<LinkOptions>, host = 'localhost') =>
    createLink({
      ...{ allowInsecure: false, connectTimeoutMs: 10_000, readTimeoutMs: 60_000, requestTimeoutMs: 60_000 },
      ...{ nodeId: id, token: () => token, url: base.replace('127.0.0.1', host) },
      ...options,
    })
  /** Beats once; gives the words of the failure, or undefined. */
  const beat = async (options: Partial<LinkOptions>, host?: string): Promise<string | undefined> => {
    const link = linked(options, host)
    try {
      await link.heartbeat(BEAT)
      return undefined
    } catch (e) {
      assert.ok(e instanceof LinkError)
      assert.ok(!e.message.includes(token))
      return e.message
    } finally {
      link.close()
    }
  }
  return { beat, certificates, k, linked, url: base.replace('127.0.0.1', 'localhost') }
}

test('a recorder with the CA file of the site is heard; without it, it says which file is missing', async (t) => {
  const s = site(t)
  const { beat } = await place(t, s)
  assert.equal(await beat({ caFile: s.ca }), undefined)
  assert.match((await beat({})) ?? '', /no authority this machine trusts.*--controller-ca/)
  assert.match((await beat({ caFile: site(t).ca })) ?? '', /copy its ca\.pem to this machine/)
  assert.equal(await beat({ allowInsecure: true }), undefined)
})

test('a self-signed certificate is accepted with --allow-insecure only', async (t) => {
  const s = site(t)
  const own = selfSigned(tempDir(t))
  fs.writeFileSync(s.cert, own.cert)
  fs.writeFileSync(s.key, own.key)
  const { beat } = await place(t, s)
  assert.match((await beat({})) ?? '', /no authority this machine trusts/)
  assert.equal(await beat({ allowInsecure: true }), undefined)
})

test('a certificate for other names is refused in words', async (t) => {
  const s = site(t)
  const authority = { cert: fs.readFileSync(s.ca, 'utf8'), key: fs.readFileSync(s.caKey, 'utf8') }
  const span = { from: daysAgo(1), until: daysAgo(-10) }
  const { cert, key } = issue(authority, { hosts: [{ kind: 'dns', name: 'roomtone.lan' }], name: 'roomtone.lan', span })
  fs.writeFileSync(s.cert, cert)
  fs.writeFileSync(s.key, key)
  const { beat } = await place(t, s)
  assert.match((await beat({ caFile: s.ca })) ?? '', /is for other names.*roomtone tls renew --host/)
  assert.match((await beat({ caFile: s.ca }, '127.0.0.1')) ?? '', /is for other names/)
})

test('a certificate of a client serves no controller', async (t) => {
  const s = site(t)
  const { cert, key } = s.client('node_1')
  const { beat } = await place(t, { ...s, cert, key })
  assert.match((await beat({ caFile: s.ca })) ?? '', /not a server certificate/)
})

test('an expired certificate says so, and what to do', async (t) => {
  const s = site(t, { days: 10, now: daysAgo(30) })
  const { beat } = await place(t, s)
  assert.match(
    (await beat({ caFile: s.ca })) ?? '',
    /has expired: check the clock of this machine, or renew .* \(roomtone tls renew\)\. Here it is \d{4}-/,
  )
})

test('a certificate that begins tomorrow asks for the clock', async (t) => {
  const s = site(t, { now: daysAgo(-5) })
  const { beat } = await place(t, s)
  assert.match((await beat({ caFile: s.ca })) ?? '', /not valid yet: check the clock/)
})

test('where client certificates are required, a recorder shows its own; without one it is told in words', async (t) => {
  const s = site(t)
  const { beat } = await place(t, s, { clientCa: s.ca, clientCertMode: 'required' })
  const { cert, key } = s.client('node_hall')
  assert.equal(await beat({ caFile: s.ca, clientCertFile: cert, clientKeyFile: key }), undefined)
  const said = await beat({ caFile: s.ca })
  assert.match(said ?? '', /requires a client certificate.*SVC_CONTROLLER_CLIENT_CERT_PATH/)
})

test('client certificate and key that cannot be used are told by name before anything is sent', async (t) => {
  const s = site(t)
  const { beat } = await place(t, s)
  const [one, two] = [s.client('node_1'), s.client('node_2')]
  const empty = path.join(tempDir(t), 'empty.pem')
  fs.writeFileSync(empty, '')
  const bad: [Partial<LinkOptions>, RegExp][] = [
    [{ clientCertFile: one.cert }, /go together/],
    [{ clientKeyFile: one.key }, /go together/],
    [{ clientCertFile: one.cert, clientKeyFile: two.key }, /does not belong to the client certificate/],
    [{ clientCertFile: empty, clientKeyFile: one.key }, /empty\.pem contains no PEM certificate/],
    [
      { clientCertFile: one.cert, clientKeyFile: `${empty}.key` },
      /key of the client certificate cannot be read: .*empty\.pem\.key does not exist/,
    ],
  ]
  for (const [options, said] of bad)
    await assert.rejects(beat({ caFile: s.ca, ...options }), (e) => e instanceof LinkError && said.test(e.message))
})

test('plain http behind an https address is told as that', async (t) => {
  const k = kit()
  const server = new Server(k.app)
  const base = await server.listen('127.0.0.1', 0)
  t.after(async () => {
    await server.close(100)
    await k.close()
  })
  const link = createLink({
    ...{ allowInsecure: false, connectTimeoutMs: 10_000, readTimeoutMs: 60_000, requestTimeoutMs: 60_000 },
    ...{ nodeId: 'node_1', token: () => 'svc_node_x', url: base.replace('http', 'https') },
  })
  await assert.rejects(link.heartbeat(BEAT), /answers in plain http/)
  link.close()
})

test('authority and certificate are renewed under a running agent', async (t) => {
  const [s, next] = [site(t), site(t)]
  const { certificates, linked } = await place(t, s, { clientCa: s.ca, clientCertMode: 'required' })
  const { cert, key } = s.client('node_hall')
  const link = linked({ caFile: s.ca, clientCertFile: cert, clientKeyFile: key })
  t.after(() => link.close())
  await link.heartbeat(BEAT)
  // The recorder learns of the next authority, then the controller and the clients change over.
  fs.appendFileSync(s.ca, fs.readFileSync(next.ca))
  assert.ok(certificates.reload(Date.now()).changed)
  for (const [from, to] of [
    [next.cert, s.cert],
    [next.key, s.key],
  ] as const)
    fs.copyFileSync(from, to)
  assert.ok(certificates.reload(Date.now()).changed)
  const renewed = next.client('node_hall_2')
  fs.copyFileSync(renewed.cert, cert)
  // Half of a pair: what was read before goes on.
  await link.heartbeat(BEAT)
  fs.copyFileSync(renewed.key, key)
  await link.heartbeat(BEAT)
  assert.deepEqual([...certificates.clients.keys()], ['node_hall', 'node_hall_2'])
})

test('a recorder joins where client certificates are required, and its settings name them from then on', async (t) => {
  const s = site(t)
  const { k, url } = await place(t, s, { clientCa: s.ca, clientCertMode: 'required' })
  const { id } = await k.enroll('Joining')
  const minted = await k.as('admin').post(`/nodes/${id}/bootstrap-token`, {})
  const home = tempDir(t)
  const { cert, key } = s.client('node_joining')
  const join = (...more: string[]) =>
    agent(
      minted.json.data.token,
      home,
      '--bootstrap',
      '--node-id',
      id,
      '--controller-url',
      url,
      '--controller-ca',
      s.ca,
      ...more,
    )
  const refused = await join()
  assert.notEqual(refused.code, 0)
  assert.match(refused.text, /requires a client certificate/)
  const joined = await join('--controller-client-cert-path', cert, '--controller-client-key-path', key)
  assert.equal(joined.code, 0, joined.text)
  const written = fs.readFileSync(path.join(home, 'agent.env'), 'utf8')
  for (const line of [`SVC_CONTROLLER_CLIENT_CERT_PATH=${cert}`, `SVC_CONTROLLER_CLIENT_KEY_PATH=${key}`])
    assert.ok(written.split('\n').includes(line), written)
})

/** `roomtone agent`, as a process, with its token on standard input and its files below `home`. */
async function agent(token: string, home: string, ...args: string[]): Promise<{ code: number | null; text: string }> {
  const env = {
    HOME: home,
    PATH: process.env.PATH,
    SVC_AGENT_DIR: home,
    SVC_BOOTSTRAP_ENV_FILE: path.join(home, 'agent.env'),
  }
  const all = ['agent', ...args, '--bootstrap-token-file', '-']
  const { code, stderr, stdout } = await run(await executable(), all, { env, input: token, timeoutMs: 60_000 })
  return { code, text: stdout + stderr }
}
