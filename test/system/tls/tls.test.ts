import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { issue, permittedBy } from '../../../src/system/tls/authority.x509.ts'
import { hostOf, isPermitted, permittedFor, together } from '../../../src/system/tls/names.ts'
import { DAY_MS, makeClient, type Renewal, renewSite, showSite } from '../../../src/system/tls/site.ts'
import { daysAgo, fingerprint, openssl, roomtone, site, tempDir } from './world.ts'

const verify = (ca: string, purpose: string, file: string, ...more: string[]) =>
  openssl('verify', '-x509_strict', '-purpose', purpose, '-CAfile', ca, ...more, file)

const mode = (file: string): string => (fs.statSync(file).mode & 0o777).toString(8)

const RENEWAL: Renewal = { days: 397, force: false, hosts: [], newKey: false, withinDays: 30 }

test('init makes what openssl accepts for every name, and for the machine itself', (t) => {
  const dir = path.join(tempDir(t), 'new', 'tls')
  const hosts = ['Roomtone.LAN', '192.168.7.5', '203.0.113.9', '[2001:DB8:0::7]']
  const made = roomtone('tls', 'init', ...hosts.flatMap((host) => ['--host', host]), '--out', dir)
  assert.equal(made.code, 0, made.stderr)
  const [ca, cert] = [path.join(dir, 'ca.pem'), path.join(dir, 'server.pem')]
  for (const name of ['roomtone.lan', 'localhost']) {
    const judged = verify(ca, 'sslserver', cert, '-verify_hostname', name)
    assert.ok(judged.ok, `${name}: ${judged.text}`)
  }
  for (const address of ['192.168.7.5', '203.0.113.9', '2001:db8::7', '127.0.0.1', '::1']) {
    const judged = verify(ca, 'sslserver', cert, '-verify_ip', address)
    assert.ok(judged.ok, `${address}: ${judged.text}`)
  }
  assert.ok(!verify(ca, 'sslserver', cert, '-verify_hostname', 'other.lan').ok)
  assert.ok(!verify(ca, 'sslclient', cert).ok, 'the certificate of the server is none of a client')
  for (const file of ['ca.key', 'server.key']) assert.equal(mode(path.join(dir, file)), '600')
  for (const file of [ca, cert]) assert.equal(mode(file), '644')
  assert.match(made.stdout, new RegExp(`SVC_API_TLS_CERT_PATH=${cert}\n`))
  assert.ok(made.stdout.includes(fingerprint(ca)) && made.stdout.includes(fingerprint(cert)))
  assert.ok(!/PRIVATE KEY/.test(made.stdout + made.stderr))
})

test('the authority is P-256, good for ten years, for nothing but these names and private addresses, for no other authority', (t) => {
  const s = site(t)
  const { text } = openssl('x509', '-noout', '-text', '-in', s.ca)
  for (const part of [/prime256v1/, /CA:TRUE, pathlen:0/, /Name Constraints: critical/, /Certificate Sign, CRL Sign/])
    assert.match(text, part)
  assert.ok(openssl('x509', '-noout', '-checkend', String(9 * 365 * 86_400), '-in', s.ca).ok)
  assert.ok(!openssl('x509', '-noout', '-checkend', String(397 * 86_400), '-in', s.cert).ok)
  const authority = { cert: fs.readFileSync(s.ca, 'utf8'), key: fs.readFileSync(s.caKey, 'utf8') }
  const span = { from: daysAgo(1), until: daysAgo(-10) }
  for (const [name, good] of [
    ['bank.example', false],
    ['8.8.8.8', false],
    ['2001:4860::1', false],
    ['other.lan', false],
    ['deep.roomtone.lan', true],
    ['10.1.2.3', true],
    ['fd00::5', true],
  ] as const) {
    const file = path.join(s.dir, 'forged.pem')
    fs.writeFileSync(file, issue(authority, { hosts: [hostOf(name) as never], name: 'x', span }).cert)
    assert.equal(verify(s.ca, 'sslserver', file).ok, good, name)
    // What we refuse to sign is what openssl refuses to accept.
    assert.equal(isPermitted(hostOf(name) as never, permittedBy(authority.cert) as never), good, name)
  }
})

test('init never touches what is there', (t) => {
  const s = site(t)
  for (const gone of [[], [s.ca], [s.ca, s.caKey, s.cert]]) {
    for (const file of gone) fs.rmSync(file, { force: true })
    const before = fs.readdirSync(s.dir).map((name) => [name, fs.readFileSync(path.join(s.dir, name), 'utf8')])
    const again = roomtone('tls', 'init', '--host', 'a.lan', '--dir', s.dir)
    assert.equal(again.code, 2)
    assert.match(again.stderr, /already exists, and nothing was changed/)
    assert.deepEqual(
      fs.readdirSync(s.dir).map((name) => [name, fs.readFileSync(path.join(s.dir, name), 'utf8')]),
      before,
    )
  }
})

test('renew waits until it is due, then keeps authority, names and key', (t) => {
  const s = site(t, { days: 60, hosts: ['roomtone.lan', '10.0.0.7'], now: daysAgo(40) })
  const [ca, key, cert] = [s.ca, s.key, s.cert].map((file) => fs.readFileSync(file, 'utf8'))
  assert.equal(renewSite(s.dir, RENEWAL, daysAgo(20)), false)
  assert.equal(fs.readFileSync(s.cert, 'utf8'), cert)
  assert.equal(renewSite(s.dir, RENEWAL, Date.now()), true)
  assert.notEqual(fs.readFileSync(s.cert, 'utf8'), cert)
  assert.deepEqual([fs.readFileSync(s.ca, 'utf8'), fs.readFileSync(s.key, 'utf8')], [ca, key])
  assert.ok(verify(s.ca, 'sslserver', s.cert, '-verify_hostname', 'roomtone.lan', '-verify_ip', '10.0.0.7').ok)
  const days = showSite(s.dir, Date.now())[1]?.daysLeft ?? 0
  assert.ok(days > 390 && days <= 397, `${days}`)
})

test('renew adds a name, makes a new key when asked, and says what the authority may not vouch for', (t) => {
  const s = site(t)
  const key = fs.readFileSync(s.key, 'utf8')
  assert.equal(roomtone('tls', 'renew', '--dir', s.dir, '--host', 'b.roomtone.lan').code, 0)
  assert.ok(verify(s.ca, 'sslserver', s.cert, '-verify_hostname', 'b.roomtone.lan').ok)
  assert.ok(verify(s.ca, 'sslserver', s.cert, '-verify_hostname', 'roomtone.lan').ok)
  assert.equal(fs.readFileSync(s.key, 'utf8'), key)
  assert.equal(roomtone('tls', 'renew', '--dir', s.dir, '--new-key').code, 0)
  assert.notEqual(fs.readFileSync(s.key, 'utf8'), key)
  const cert = fs.readFileSync(s.cert, 'utf8')
  const foreign = roomtone('tls', 'renew', '--dir', s.dir, '--host', 'roomtone.example')
  assert.equal(foreign.code, 2)
  assert.match(foreign.stderr, /may not sign for roomtone\.example, only for roomtone\.lan/)
  assert.equal(fs.readFileSync(s.cert, 'utf8'), cert)
})

test('nothing outlasts the authority, and an expired one is told', (t) => {
  const s = site(t, { now: daysAgo(3550) })
  assert.equal(renewSite(s.dir, RENEWAL, Date.now()), true)
  const [authority, server] = showSite(s.dir, Date.now())
  assert.equal(server?.until, authority?.until)
  const renewed = roomtone('tls', 'renew', '--force', '--dir', s.dir)
  assert.match(renewed.stdout, /The authority expires in 9\d days/)
  const shown = roomtone('tls', 'show', '--dir', s.dir)
  assert.equal(shown.code, 0, shown.stdout)
  assert.throws(() => renewSite(s.dir, RENEWAL, Date.now() + 200 * DAY_MS), /The authority .* has expired/)
})

test('a key of another authority signs nothing', (t) => {
  const [s, other] = [site(t), site(t)]
  fs.copyFileSync(other.caKey, s.caKey)
  assert.throws(() => renewSite(s.dir, { ...RENEWAL, force: true }, Date.now()), /is not the key of/)
  assert.throws(() => makeClient(s.dir, 'node_1', 10, false, Date.now()), UserError)
})

test('a client has a certificate of its own, which is no certificate of a server', (t) => {
  const s = site(t)
  assert.equal(roomtone('tls', 'client', 'node_hall-1', '--dir', s.dir).code, 0)
  const file = path.join(s.clients, 'node_hall-1.pem')
  assert.ok(verify(s.ca, 'sslclient', file).ok)
  assert.ok(!verify(s.ca, 'sslserver', file).ok)
  assert.match(openssl('x509', '-noout', '-subject', '-in', file).text, /CN = node_hall-1/)
  assert.deepEqual([mode(s.clients), mode(file), mode(file.replace('.pem', '.key'))], ['700', '644', '600'])
  const cert = fs.readFileSync(file, 'utf8')
  const again = roomtone('tls', 'client', 'node_hall-1', '--dir', s.dir)
  assert.deepEqual([again.code, fs.readFileSync(file, 'utf8')], [2, cert])
  assert.match(again.stderr, /pass --force/)
  assert.equal(roomtone('tls', 'client', 'node_hall-1', '--force', '--dir', s.dir).code, 0)
  assert.notEqual(fs.readFileSync(file, 'utf8'), cert)
})

test('show tells names, fingerprints and ends, and by its exit code that something is due', (t) => {
  const s = site(t)
  s.client('node_1')
  const good = roomtone('tls', 'show', '--dir', s.dir)
  assert.equal(good.code, 0, good.stderr)
  for (const file of [s.ca, s.cert, path.join(s.clients, 'node_1.pem')])
    assert.ok(good.stdout.includes(file) && good.stdout.includes(fingerprint(file)), good.stdout)
  const old = site(t, { days: 5, now: daysAgo(30) })
  const bad = roomtone('tls', 'show', '--dir', old.dir)
  assert.equal(bad.code, 1)
  assert.match(bad.stdout, /expired/)
})

test('what is asked wrongly is answered with a sentence, and makes nothing', (t) => {
  const dir = path.join(tempDir(t), 'tls')
  const bad: [args: string[], said: RegExp][] = [
    [['init'], /--host is missing/],
    [['init', '--host', '*.lan'], /neither a host name nor an address/],
    [['init', '--host', 'https://a.lan'], /neither a host name nor an address/],
    [['init', '--host', '300.1.1.1'], /neither a host name nor an address/],
    [['init', '--host', 'fe80::1%eth0'], /neither a host name nor an address/],
    [['init', '--host', 'a.lan', '--days', '398'], /a whole number from 1 to 397/],
    [['init', '--host', 'a.lan', '--permit', '10.0.0.1'], /takes a domain/],
    [['init', '--host', 'a.lan', '--force'], /has no --force/],
    [['init', '--hots', 'a.lan'], /--hots/],
    [['renew'], /create it with roomtone tls init/],
    [['client', '../evil'], /is not a valid client name/],
    [['client'], /usage/],
    [['client', 'a.b'], /is not a valid client name/],
    [['show', 'all'], /usage/],
    [['toString'], /usage/],
    [[], /usage/],
  ]
  for (const [args, said] of bad) {
    const { code, stderr } = roomtone('tls', ...args, ...(args.length > 0 ? ['--dir', dir] : []))
    assert.equal(code, 2, args.join(' '))
    assert.match(stderr, said, args.join(' '))
  }
  assert.equal(fs.existsSync(dir), false)
})

test('hosts are named once, however they are spelt', () => {
  const hosts = ['A.lan', 'a.lan.', '::0:1', '0:0:0:0:0:0:0:1', '::1'].map((name) => hostOf(name) as never)
  assert.deepEqual(
    together(hosts).map(({ name }) => name),
    ['a.lan', '::1'],
  )
  assert.deepEqual(permittedFor([hostOf('8.8.8.8') as never], [hostOf('site.example') as never]).dns, [
    'localhost',
    'site.example',
  ])
})
