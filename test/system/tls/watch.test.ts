// The controller looks after its certificate: alarms before its end, a pair it cannot take, and where people see it.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { type TestContext, test } from 'node:test'
import { Certificates } from '../../../src/controller/http/certificates.ts'
import { renewSite } from '../../../src/system/tls/site.ts'
import { type Kit, kit } from '../../kit/kit.ts'
import { site } from './world.ts'

const DAY = 86_400_000

/** The site is made on the day the kit's clock begins, so that the days can be counted. */
async function place(t: TestContext) {
  const begin = Date.parse('2026-03-02T09:00:00.000Z')
  const s = site(t, { days: 101, now: begin })
  const certificates = new Certificates({ cert: s.cert, clientCertMode: 'off', key: s.key }, begin)
  const k = kit({ certificates })
  t.after(() => k.close())
  const wish = { days: 101, force: true, hosts: [], newKey: false, withinDays: 30 }
  return { certificates, k, renew: () => void renewSite(s.dir, wish, Date.parse(k.now())), s }
}

const alarms = async (k: Kit): Promise<string[]> =>
  (await k.as('owner').get('/health-events')).json.data
    .map(({ severity, status, type }: Record<string, string>) => `${type} ${severity} ${status}`)
    .sort()

test('thirty days before its end a warning, in the last week critical, and over with the renewal', async (t) => {
  const { k, renew } = await place(t)
  await k.tick('tls-certificate')
  assert.deepEqual(await alarms(k), [])
  k.advance('71d')
  await k.tick('tls-certificate')
  await k.tick('tls-certificate')
  assert.deepEqual(await alarms(k), ['watchdog.certificate_expiring warning open'])
  k.advance('23d')
  await k.tick('tls-certificate')
  assert.deepEqual(await alarms(k), ['watchdog.certificate_expiring critical open'])
  renew()
  await k.tick('tls-certificate')
  assert.deepEqual(await alarms(k), ['watchdog.certificate_expiring critical resolved'])
  const told = k.trail().filter((row) => row.includes('certificate'))
  assert.deepEqual(told, [
    'health.watchdog.certificate_expiring.created succeeded',
    'health.watchdog.certificate_expiring.repeated succeeded',
    'health.watchdog.certificate_expiring.resolved succeeded',
  ])
})

test('a pair that cannot be taken is an alarm and one line of the log, until it can', async (t) => {
  const { k, renew, s } = await place(t)
  const key = fs.readFileSync(s.key)
  fs.copyFileSync(s.caKey, s.key)
  for (let i = 0; i < 3; i++) await k.tick('tls-certificate')
  assert.deepEqual(await alarms(k), ['watchdog.certificate_refused warning open'])
  assert.equal(k.logged.filter((line) => line.includes('renewed certificate refused')).length, 1)
  fs.writeFileSync(s.key, key)
  renew()
  await k.tick('tls-certificate')
  assert.deepEqual(await alarms(k), ['watchdog.certificate_refused warning resolved'])
  assert.equal(k.logged.filter((line) => line.includes('serving a renewed certificate')).length, 1)
  assert.ok(!k.logged.join('').includes('PRIVATE KEY'))
})

test('status, metrics and runners tell until when it is good', async (t) => {
  const { k, s } = await place(t)
  const expiresAt = new Date(Date.parse('2026-03-01T09:00:00.000Z') + 101 * DAY).toISOString()
  assert.ok(s)
  await k.tick('tls-certificate')
  const { json } = await k.as('owner').get('/status')
  assert.equal(json.data.certificateExpiresAt, expiresAt)
  const runner = json.data.runners.find(({ name }: { name: string }) => name === 'tls-certificate')
  assert.equal(runner.lastResult.expiresAt, expiresAt)
  const { text } = await k.as('owner').get('/metrics')
  assert.match(text, new RegExp(`^\\w*certificate_expires_at_seconds ${Date.parse(expiresAt) / 1000}$`, 'm'))
  const plain = kit()
  t.after(() => plain.close())
  const bare = await plain.as('owner').get('/status')
  assert.equal('certificateExpiresAt' in bare.json.data, false)
  assert.doesNotMatch((await plain.as('owner').get('/metrics')).text, /certificate_expires/)
})

test("recorders' own certificates are watched as they show them, also across a restart", async (t) => {
  const { certificates, k } = await place(t)
  const until = (days: number) => new Date(Date.parse(k.now()) + days * DAY).toUTCString()
  const named = async () => {
    await k.tick('tls-certificate')
    const { data } = (await k.as('owner').get('/health-events')).json
    const [event] = data.filter(({ type }: { type: string }) => type === 'watchdog.client_certificate_expiring')
    return event && [event.severity, event.status, ...event.details.clients.map(({ name }: { name: string }) => name)]
  }
  certificates.noteClient({ subject: 'CN=node_good', validTo: until(31) })
  assert.equal(await named(), undefined)
  certificates.noteClient({ subject: 'CN=node_a', validTo: until(20) })
  certificates.noteClient({ subject: 'CN=node_b', validTo: until(25) })
  assert.deepEqual(await named(), ['warning', 'open', 'node_a', 'node_b'])
  // Another start: nobody has come in yet, and that is no reason to be content.
  certificates.clients.clear()
  certificates.noteClient({ subject: 'CN=node_b', validTo: until(900) })
  assert.deepEqual(await named(), ['warning', 'open', 'node_a'])
  k.advance('14d')
  assert.deepEqual(await named(), ['critical', 'open', 'node_a'])
  certificates.noteClient({ subject: 'CN=node_a', validTo: until(900) })
  certificates.noteClient({ subject: 'CN=node_a', validTo: until(6) })
  assert.deepEqual(
    (await named())?.slice(0, 2),
    ['critical', 'resolved'],
    'a connection of before does not bring it back',
  )
})
