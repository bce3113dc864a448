// The listening side with real clients: what replaces the certificate while connections stand and requests are under way.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import { type TestContext, test } from 'node:test'
import * as tls from 'node:tls'
import { Hono } from 'hono'
import { type CertificateFiles, Certificates } from '../../../src/controller/http/certificates.ts'
import { Server } from '../../../src/controller/http/server.ts'
import { renewSite } from '../../../src/system/tls/site.ts'
import { clientSays, daysAgo, fingerprint, get, type Site, site } from './world.ts'

const RENEW = { days: 397, force: true, hosts: [], newKey: false, withinDays: 30 }

interface Place {
  certificates: Certificates
  logged: string[]
  /** Lets the answers that wait go. */
  open: () => void
  url: string
}

/** A server whose `/slow` begins its answer at once and ends it when `open` is called. */
async function place(t: TestContext, files: CertificateFiles): Promise<Place> {
  const certificates = new Certificates(files, Date.now())
  const logged: string[] = []
  const say = (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const gate = Promise.withResolvers<void>()
  const app = new Hono()
  app.get('/fast', (c) => c.text('fast'))
  app.get('/slow', () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    void writer.write(Buffer.from('begin '))
    void gate.promise.then(() => writer.write(Buffer.from('end'))).then(() => writer.close())
    return new Response(readable)
  })
  app.post('/upload', async (c) => c.text(`${(await c.req.arrayBuffer()).byteLength}`))
  const log = { debug: say, error: say, info: say, warn: say }
  const server = new Server(app, { certificates, log })
  const base = await server.listen('127.0.0.1', 0)
  t.after(() => server.close(100))
  return { certificates, logged, open: () => gate.resolve(), url: base.replace('127.0.0.1', 'localhost') }
}

const filesOf = (s: Site, more: Partial<CertificateFiles> = {}): CertificateFiles => ({
  cert: s.cert,
  clientCertMode: 'off',
  key: s.key,
  ...more,
})
const trusting = (s: Site) => ({ ca: fs.readFileSync(s.ca, 'utf8') })

for (const newKey of [false, true])
  test(`a renewed certificate is taken without a restart, and no connection is lost (${newKey ? 'new' : 'same'} key)`, async (t) => {
    const s = site(t, { days: 40, now: daysAgo(20) })
    const { certificates, open, url } = await place(t, filesOf(s))
    const before = fingerprint(s.cert)
    const kept = new https.Agent({ ...trusting(s), keepAlive: true, maxSockets: 1 })
    t.after(() => kept.destroy())
    assert.equal((await get(`${url}/fast`, { agent: kept })).fingerprint, before)
    // A request under way, on a connection of its own, with its answer begun.
    const slow = https.get(`${url}/slow`, { agent: false, ...trusting(s) })
    const [response] = (await once(slow, 'response')) as [http.IncomingMessage]
    const heard = response.setEncoding('utf8').toArray()
    // And an upload of which half is sent.
    const upload = https.request(`${url}/upload`, { agent: false, method: 'POST', ...trusting(s) })
    const stored = once(upload, 'response').then(([answer]) =>
      (answer as http.IncomingMessage).setEncoding('utf8').toArray(),
    )
    await new Promise((resolve) => upload.write(Buffer.alloc(100_000), resolve))

    renewSite(s.dir, { ...RENEW, newKey }, Date.now())
    assert.deepEqual(certificates.reload(Date.now()), { changed: true, fault: undefined })
    assert.deepEqual(certificates.reload(Date.now()), { changed: false, fault: undefined })

    const after = fingerprint(s.cert)
    assert.notEqual(after, before)
    const old = await get(`${url}/fast`, { agent: kept })
    assert.deepEqual([old.body, old.fingerprint], ['fast', before], 'the connection that stood is the same one')
    assert.equal((await get(`${url}/fast`, trusting(s))).fingerprint, after)
    open()
    assert.equal((await heard).join(''), 'begin end')
    upload.end(Buffer.alloc(50_000))
    assert.equal((await stored).join(''), '150000')
    const judged = await clientSays(url, '-CAfile', s.ca, '-verify_return_error', '-verify_hostname', 'localhost')
    assert.match(judged, /Verify return code: 0 \(ok\)/)
  })

test('a session from before the renewal is not resumed: the new certificate is shown', async (t) => {
  const s = site(t)
  const { certificates, url } = await place(t, filesOf(s))
  const connect = (session?: Buffer) =>
    tls.connect({
      ...trusting(s),
      host: 'localhost',
      port: Number(new URL(url).port),
      servername: 'localhost',
      ...(session ? { session } : {}),
    })
  const first = connect()
  const [session] = (await once(first, 'session')) as [Buffer]
  first.destroy()
  const again = connect(session)
  await once(again, 'secureConnect')
  assert.ok(again.isSessionReused())
  again.destroy()
  renewSite(s.dir, RENEW, Date.now())
  certificates.reload(Date.now())
  const third = connect(session)
  await once(third, 'secureConnect')
  assert.ok(!third.isSessionReused())
  assert.equal(third.getPeerCertificate().fingerprint256, fingerprint(s.cert))
  third.destroy()
})

test('a pair that does not fit, cannot be read or is not valid is not taken, and the old one goes on', async (t) => {
  const s = site(t)
  const { certificates, url } = await place(t, filesOf(s))
  const good = { cert: fs.readFileSync(s.cert), key: fs.readFileSync(s.key), shown: fingerprint(s.cert) }
  const other = site(t)
  const old = site(t, { days: 10, now: daysAgo(30) })
  const soon = site(t, { now: daysAgo(-5) })
  const take = (from: Site) => {
    fs.copyFileSync(from.cert, s.cert)
    fs.copyFileSync(from.key, s.key)
  }
  const bad: [make: () => void, said: RegExp][] = [
    [() => fs.copyFileSync(other.key, s.key), /key .* does not belong to the certificate/],
    [() => fs.copyFileSync(other.cert, s.cert), /does not belong/],
    [() => fs.writeFileSync(s.cert, good.cert.subarray(0, 300)), /holds no certificate that can be read/],
    // The first certificate is whole, what follows it is not.
    [
      () => fs.appendFileSync(s.cert, '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'),
      /server\.pem cannot be served/,
    ],
    [() => fs.writeFileSync(s.key, ''), /holds no private key that can be read/],
    [() => fs.rmSync(s.cert), /cannot be read: .*does not exist/],
    [() => take(old), /has expired/],
    [() => take(soon), /not valid before/],
  ]
  for (const [make, said] of bad) {
    make()
    const look = certificates.reload(Date.now())
    assert.equal(look.changed, false)
    assert.match(look.fault ?? '', said)
    assert.ok(!/PRIVATE|BEGIN/.test(look.fault ?? ''))
    assert.equal((await get(`${url}/fast`, trusting(s))).fingerprint, good.shown, String(said))
    fs.writeFileSync(s.cert, good.cert)
    fs.writeFileSync(s.key, good.key)
    assert.deepEqual(certificates.reload(Date.now()), { changed: false, fault: undefined })
  }
  // What was too early is taken when its time has come.
  take(soon)
  assert.equal(certificates.reload(Date.now()).changed, false)
  assert.equal(certificates.reload(daysAgo(-6)).changed, true)
})

test('the announced certificate takes over at its time; when it is out of order the one before goes on', async (t) => {
  const [s, next] = [site(t, { days: 200 }), site(t, { days: 397 })]
  const from = daysAgo(-2)
  const files = filesOf(s, { next: { cert: next.cert, key: next.key, notBefore: from } })
  const certificates = new Certificates(files, Date.now())
  assert.equal(certificates.served.fingerprint, fingerprint(s.cert))
  assert.equal(certificates.reload(from - 1).changed, false)
  assert.equal(certificates.reload(from).changed, true)
  assert.equal(certificates.served.fingerprint, fingerprint(next.cert))
  fs.copyFileSync(s.key, next.key)
  assert.throws(() => new Certificates(files, Date.now()), /does not belong/, 'it is told while there is time')
  const late = new Certificates(filesOf(s), Date.now())
  assert.deepEqual(
    [late.reload(from).changed, certificates.reload(from).fault?.includes('does not belong')],
    [false, true],
  )
})

test('TLS 1.2 is the least, and browsers are told to come back with TLS only', async (t) => {
  const s = site(t)
  const { url } = await place(t, filesOf(s))
  const spoken = (...args: string[]) => clientSays(url, '-CAfile', s.ca, ...args)
  assert.match(await spoken('-tls1_3'), /TLSv1\.3/)
  assert.match(await spoken('-tls1_2'), /Cipher is ECDHE-ECDSA-/)
  for (const old of [
    ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'],
    ['-tls1_2', '-cipher', 'AES128-SHA256:AES256-GCM-SHA384:ECDHE-ECDSA-AES128-SHA256'],
  ])
    assert.match(await spoken(...old), /Cipher is \(NONE\)/, old.join(' '))
  const { headers } = await get(`${url}/fast`, trusting(s))
  assert.match(String(headers['strict-transport-security']), /^max-age=\d{7,}$/)
})

test('required: only clients of the authority come in, and the log says who did not', async (t) => {
  const [s, other] = [site(t), site(t)]
  const { certificates, logged, url } = await place(t, filesOf(s, { clientCa: s.ca, clientCertMode: 'required' }))
  const pair = ({ cert, key }: { cert: string; key: string }) => ({
    cert: fs.readFileSync(cert),
    key: fs.readFileSync(key),
  })
  assert.equal((await get(`${url}/fast`, { ...trusting(s), ...pair(s.client('node_1')) })).body, 'fast')
  await assert.rejects(get(`${url}/fast`, trusting(s)), { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' })
  await assert.rejects(get(`${url}/fast`, { ...trusting(s), ...pair(other.client('node_1')) }))
  // The certificate of a server opens no door for a client.
  await assert.rejects(get(`${url}/fast`, { ...trusting(s), ...pair(s) }))
  assert.deepEqual([...certificates.clients.keys()], ['node_1'])
  assert.equal(logged.length, 1, 'one line a minute, whoever knocks')
  assert.match(logged[0] ?? '', /client certificate refused.*127\.0\.0\.1.*no certificate was sent/)
})

test('optional: with, without and with a foreign certificate', async (t) => {
  const [s, other] = [site(t), site(t)]
  const { certificates, url } = await place(t, filesOf(s, { clientCa: s.ca, clientCertMode: 'optional' }))
  for (const client of [undefined, s.client('node_1'), other.client('node_2')]) {
    const shown = client && { cert: fs.readFileSync(client.cert), key: fs.readFileSync(client.key) }
    assert.equal((await get(`${url}/fast`, { ...trusting(s), ...shown })).status, 200)
  }
  assert.deepEqual([...certificates.clients.keys()], ['node_1'], 'only who was accepted is known')
})

test('authorities of clients change without a restart, too', async (t) => {
  const [s, other] = [site(t), site(t)]
  const { certificates, url } = await place(t, filesOf(s, { clientCa: s.ca, clientCertMode: 'required' }))
  const client = other.client('node_2')
  const shown = { ...trusting(s), cert: fs.readFileSync(client.cert), key: fs.readFileSync(client.key) }
  await assert.rejects(get(`${url}/fast`, shown))
  fs.appendFileSync(s.ca, fs.readFileSync(other.ca))
  assert.equal(certificates.reload(Date.now()).changed, true)
  assert.equal((await get(`${url}/fast`, { ...shown, ca: fs.readFileSync(s.ca) })).body, 'fast')
})

test('plain http at the door of https is turned away, and the server stands', async (t) => {
  const s = site(t)
  const { url } = await place(t, filesOf(s))
  await assert.rejects(once(http.get(url.replace('https', 'http')), 'response'))
  assert.equal((await get(`${url}/fast`, trusting(s))).body, 'fast')
})
