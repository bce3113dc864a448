// A site of one box: the controller from a release host, acting on its nodes itself, and a recorder beside it.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import * as path from 'node:path'
import { after, before, test } from 'node:test'
import * as tls from 'node:tls'
import { executable } from '../kit/executable.ts'
import { House } from '../kit/whole.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'
import { certified, lookedAt, quoted, type ReleaseHost, releaseHost } from './visit.ts'

const skip = noMachine()
const SCRIPT = fs.readFileSync(path.join(import.meta.dirname, '..', '..', 'scripts', 'install-controller.sh'), 'utf8')
const PASSWORD = '/etc/credstore/roomtone.local-admin-password'
const CA = '/etc/roomtone/tls/ca.pem'

let house: House
let box: Machine
let asBefore: () => Promise<void>
let releases: ReleaseHost
let movedHost: https.Server | undefined
let movedUrl = ''

before(async () => {
  if (skip) return
  const roomtone = await executable()
  house = await House.open(roomtone)
  box = await bootMachine({ name: 'onebox' })
  releases = await releaseHost(house, box, roomtone)
  for (const [name, key] of Object.entries(releases.keys)) await box.write(`/root/${name}.pem`, key)
  const { cert, key } = certified(house, box)
  const redirect = https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, ({ url }, response) =>
    response.writeHead(302, { location: `${releases.url}${url}` }).end(),
  )
  await new Promise<void>((resolve) => redirect.listen(0, box.hostAddress, resolve))
  movedHost = redirect
  movedUrl = `https://${box.hostAddress}:${(redirect.address() as AddressInfo).port}`
  await box.write('/root/moved.pem', fs.readFileSync(cert))
  asBefore = await lookedAt(box)
})
after(async () => {
  releases?.close()
  movedHost?.close()
  await box?.stop()
  await house?.close()
})

const script = (args: string[]) => box.run(`sh -s -- ${quoted(args)}`, { input: SCRIPT, timeoutMs: 120_000 })
const fromHost = (n: number, ...more: string[]) =>
  script(['--release-base', releases.url, '--version', `agent-v2026.01.01-${n}`, ...more])

/** The same by https, where every answer leads on to plain http. */
const moved = (n: number) =>
  box.run(
    `SSL_CERT_FILE=/root/moved.pem sh -s -- ${quoted(['--release-base', movedUrl, '--version', `agent-v2026.01.01-${n}`])}`,
    {
      input: SCRIPT,
    },
  )

/** What `roomtone` on the box says; it has to succeed. */
const roomtone = (args: string[], input = '') => box.must(`roomtone ${quoted(args)}`, { input, timeoutMs: 120_000 })

test('what cannot be proved is not installed', { skip }, async () => {
  const cases: [Promise<{ stderr: string }>, RegExp][] = [
    [fromHost(1), /An unsigned release must come by https, also across redirects/],
    [moved(1), /An unsigned release must come by https, also across redirects/],
    [fromHost(2, '--allow-insecure'), /the archive is damaged or was tampered with/],
    [fromHost(3, '--allow-insecure'), /SHA256SUMS could not be fetched: .*404/],
    [fromHost(2, '--release-key', '/root/owner.pem'), /SHA256SUMS\.sig could not be fetched: .*asks for signed ones/],
    [fromHost(1, '--release-key', '/root/other.pem'), /was not signed by the owner of \/root\/other\.pem/],
  ]
  for (const [run, words] of cases) assert.match((await run).stderr, words)
  await asBefore()
})

test('from a file only with its checksum, and its signature where one is asked for', { skip }, async () => {
  const [dir, name] = ['/root/release', 'roomtone-2026.01.01-1-x86_64-unknown-linux-gnu.tar.gz']
  const file = `${dir}/${name}`
  await box.must(`mkdir ${dir}; echo nothing >${dir}/nothing; tar -czf ${file} -C ${dir} nothing`)
  const said = async (...more: string[]) => (await script(['--file', file, ...more])).stderr
  assert.match(await said(), /there is no checksum for/)
  // The checksum of a file whose name only ends alike is another one's.
  await box.must(`cd ${dir}; sha256sum ${name} | sed 's/ roomtone/ my roomtone/' >SHA256SUMS`)
  assert.match(await said(), /there is no checksum for/)
  await box.must(`cd ${dir}; sha256sum ${name} >${name}.sha256`)
  assert.match(await said(), /the archive holds no program/)
  assert.match(
    await said('--release-key', '/root/owner.pem'),
    /the release is not signed \(SHA256SUMS\.sig is not beside/,
  )
  await box.must(`rm -r ${dir}`)
  await asBefore()
})

let token = ''
const url = () => `https://${box.address}:8787`

/** The `data` of an answer of the controller on the box, which has to be a good one. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever the answer holds
async function api(route: string, body: object | null = {}): Promise<any> {
  const response = await fetch(`${url()}/api/v1${route}`, {
    ...(body === null ? {} : { body: JSON.stringify(body), method: 'POST' }),
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
  })
  const json = (await response.json()) as { data: unknown }
  assert.ok(response.ok, `${route}: ${response.status} ${JSON.stringify(json)}`)
  return json.data
}

test('a controller from a release host: in service, and its first admin can log in', { skip }, async () => {
  const wish = ['--public-url', 'https://recorder.example', '--with-lifecycle', '--release-key', '/root/owner.pem']
  const { code, stderr, stdout } = await fromHost(1, ...wish)
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, new RegExp(`^The password of the first admin is in ${PASSWORD} `, 'm'))
  assert.equal(await box.must(`stat -c '%U %a' ${PASSWORD}`), 'root 600\n')
  assert.equal(await box.must('ls -A /opt'), 'roomtone\n')
  const latest = `${releases.url}/owner/repo/releases/download`
  for (const base of [releases.url, latest]) {
    const again = await script(['--release-base', base, '--release-key', '/root/owner.pem'])
    assert.match(again.stdout, /Nothing to do/, again.stderr)
  }
  assert.match(
    await box.must('curl -fsS http://localhost:8787/install.sh'),
    /^default_controller_url='https:\/\/recorder.example'$/m,
  )
  await roomtone(['tls', 'init', '--host', box.address])
  const files = ['--tls-cert', '/etc/roomtone/tls/server.pem', '--tls-key', '/etc/roomtone/tls/server.key']
  await roomtone(['setup', 'controller', '--host', '0.0.0.0', '--public-url', url(), ...files])
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), await box.read(CA)])
  const login = await api('/auth/login', {
    email: 'admin@roomtone.local',
    password: (await box.read(PASSWORD)).trim(),
  })
  token = login.token
})

test('settings it cannot start with are taken back', { skip }, async () => {
  const { code, stderr } = await box.run('roomtone setup controller --port 1')
  assert.equal(code, 1)
  assert.match(stderr, /roomtone-controller.service does not start\. Its last log lines: /)
  await box.until('the controller as before', `curl -fsS --cacert ${CA} ${url()}/healthz`)
})

test('it acts on the recorder beside it, with nothing else to set up', { skip }, async () => {
  const location = { room: 'Hall', site: 'House' }
  const { node } = await api('/nodes/enroll', { alias: 'box', hostname: 'box', location })
  const bootstrap = await api(`/nodes/${node.id}/bootstrap-token`)
  const asked = ['--controller-url', url(), '--controller-ca', CA, '--node-id', node.id]
  await roomtone(['setup', 'agent', ...asked, '--bootstrap-token-file', '-'], bootstrap.token)
  assert.equal((await api(`/nodes/${node.id}`, null)).status, 'online')
  const job = await api(`/nodes/${node.id}/lifecycle/smoke_check`)
  assert.deepEqual([job.status, job.exitCode], ['succeeded', 0], JSON.stringify(job))
})

test('its recorder goes and it stays; then nothing of it is left', { skip }, async () => {
  await roomtone(['setup', 'remove', 'agent', '--purge'])
  await box.must('systemctl is-active roomtone-controller')
  const { code, stdout, stderr } = await script(['--uninstall'])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^Removed: roomtone-controller.service/m)
  assert.equal(await box.exists('/var/lib/roomtone/controller/roomtone.db'), true)
  assert.match((await script(['--uninstall'])).stderr, /nothing to remove.*go with --purge/)
  const purged = await script(['--uninstall', '--purge'])
  assert.match(purged.stdout, /^Removed: \/etc\/roomtone, .*user roomtone/m)
  await asBefore()
  assert.equal((await script(['--uninstall', '--purge'])).code, 1)
})
