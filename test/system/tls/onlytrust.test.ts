// A site's own authority, once it is given, is the only one that may vouch for the controller: public ones may not.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import type * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import * as tls from 'node:tls'
import { createLink } from '../../../src/agent/link/client.ts'
import { controllerMaterial } from '../../../src/lifecycle/material.ts'
import { ask } from '../../../src/system/host/ask.ts'
import { run } from '../../../src/system/host/run.ts'
import { depotOf } from '../../../src/system/maintain/controller.ts'
import { mayTrust } from '../../../src/system/maintain/trust.ts'
import { installLine } from '../../../src/wire/install.ts'
import { type Site, site, tempDir } from './world.ts'

/** Answers everything; its certificate is signed by an authority that every machine trusts. */
async function publicServer(t: TestContext, s: Site): Promise<{ asked: () => number; url: string }> {
  let asked = 0
  const pem = { cert: fs.readFileSync(s.cert), key: fs.readFileSync(s.key) }
  const server = https.createServer(pem, (_: http.IncomingMessage, response) => {
    asked++
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"nothing here"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked: () => asked, url: `https://localhost:${(server.address() as AddressInfo).port}` }
}

/** As if this machine trusted the authority like any other public one. */
function everybodyTrusts(t: TestContext, s: Site): void {
  const before = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...before, fs.readFileSync(s.ca, 'utf8')])
  t.after(() => tls.setDefaultCACertificates(before))
}

test('agent, stick, lifecycle runner and maintenance refuse a certificate of a public authority where the site has its own', async (t) => {
  const [everybodys, own] = [site(t), site(t)]
  everybodyTrusts(t, everybodys)
  const { asked, url } = await publicServer(t, everybodys)
  const ca = fs.readFileSync(own.ca, 'utf8')
  const signal = AbortSignal.timeout(60_000)
  const times = { connectTimeoutMs: 10_000, readTimeoutMs: 60_000, requestTimeoutMs: 60_000 }
  const linked = (caFile?: string) => {
    const link = createLink({ allowInsecure: false, ...times, caFile, nodeId: 'n', token: () => 'svc_node_x', url })
    t.after(() => link.close())
    return link
  }
  const joining = { hostKeys: [], interfaces: [], privateKey: 'k', publicKey: 'p', username: 'u' }
  const runner = (trust: { ca?: string }) =>
    controllerMaterial({ allowInsecure: false, token: 'runner-token-0123456789', trust, url })
  const depot = (file?: string) =>
    depotOf({ SVC_CONTROLLER_CA_CERT_PATH: file, SVC_CONTROLLER_URL: url, SVC_NODE_ID: 'n' }, 'svc_node_x')
  const question = { method: 'GET', path: '/nodes', signal, token: 't' } as const
  const ways: Record<string, (own: boolean) => Promise<unknown>> = {
    bootstrap: (given) => linked(given ? own.ca : undefined).bootstrap('svc_bs_x', joining),
    link: (given) => linked(given ? own.ca : undefined).claim([], 0, signal),
    maintenance: (given) => depot(given ? own.ca : undefined).read('latest'),
    runner: (given) => runner(given ? { ca } : {}).fetch('n', false, signal),
    stick: (given) => ask({ allowInsecure: false, ca: given ? ca : undefined, url }, question),
  }
  for (const [name, way] of Object.entries(ways)) {
    const before = asked()
    await way(false).catch(() => {})
    assert.equal(asked(), before + 1, `${name}: a public certificate does where no authority is named`)
    await assert.rejects(way(true), /no authority this machine trusts/, name)
    assert.equal(asked(), before + 1, name)
  }
})

test('curl, in the line and in the installer, believes the named authority only', {
  skip: process.getuid?.() !== 0,
}, async (t) => {
  const [everybodys, own] = [site(t), site(t)]
  const { asked, url } = await publicServer(t, everybodys)
  const certs = path.join(tempDir(t), 'certs')
  fs.mkdirSync(certs)
  fs.copyFileSync(everybodys.ca, path.join(certs, 'everybodys.pem'))
  await run('openssl', ['rehash', certs])
  const script = path.resolve(import.meta.dirname, '../../../scripts/install-agent.sh')
  const line = (ca: string) =>
    installLine({ controllerCa: ca, controllerUrl: url, nodeId: 'n' }).replace(/^\{ (.*?) \|\|.*/, '$1')
  const installer = (ca: string) =>
    `SVC_BOOTSTRAP_TOKEN=svc_bs_x sh ${script} --controller-url ${url} --node-id n --controller-ca ${ca}`
  // In a namespace of its own: the authorities of this machine are others there, and nobody else sees it.
  const there = (command: string) =>
    run('unshare', [
      '-m',
      'sh',
      '-c',
      `mount --bind ${certs} /etc/ssl/certs && mount -t tmpfs tmpfs /opt && ${command}`,
    ])
  for (const command of [line, installer]) {
    const before = asked()
    const refused = await there(command(own.ca))
    assert.notEqual(refused.code, 0)
    assert.match(refused.stderr, /unable to get local issuer certificate|certificate/)
    assert.equal(asked(), before, refused.stderr)
    await there(command(everybodys.ca))
    assert.equal(asked(), before + 1)
  }
})

test('a node takes no authority that does not vouch for the controller it has', async (t) => {
  const [present, other] = [site(t), site(t)]
  const { url } = await publicServer(t, present)
  const pem = (s: Site) => fs.readFileSync(s.ca, 'utf8')
  const settings = { SVC_CONTROLLER_URL: url }
  await mayTrust(pem(present), settings)
  await mayTrust(pem(other) + pem(present), settings)
  await assert.rejects(
    mayTrust(pem(other), settings),
    /was not installed: it did not sign the certificate of localhost/,
  )
  // Nobody answers there, or nobody shows a certificate: nothing can be said.
  await mayTrust(pem(other), { SVC_CONTROLLER_URL: 'https://127.0.0.1:1' })
  await mayTrust(pem(other), { SVC_CONTROLLER_URL: 'http://127.0.0.1:1' })
})
