// When a certificate, a backup, background work, uploads and recorders of a controller are worth a word.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  judgeAway,
  judgeBackup,
  judgeCertificate,
  judgeOffline,
  judgeRunners,
  judgeUploads,
} from '../../../src/controller/cli/doctor/controller.rules.ts'
import { doctorFacts } from '../../../src/controller/cli/doctor/facts.store.ts'
import { namesIn } from '../../../src/controller/cli/doctor/names.store.ts'
import { sealedStore } from '../../../src/controller/sealed.store.ts'
import { standbyResponses } from '../../../src/controller/succession/gate.ts'
import type { LeaseClient } from '../../../src/controller/succession/leaseclient.ts'
import { advice } from '../../../src/wire/doctor.ts'
import { awayRoleOf } from '../../../src/wire/lease.ts'
import { readinessOf } from '../../../src/wire/status.ts'
import { listening } from '../../kit/http.ts'
import { kit } from '../../kit/kit.ts'

const DAY = 86_400_000
const NOW = Date.parse('2026-03-02T09:00:00.000Z')
const iso = (ms: number): string => new Date(ms).toISOString()

test('a certificate warns 21 days before its end and fails 3 days before', () => {
  const status = (days: number) => judgeCertificate(iso(NOW + days * DAY), NOW, advice('renew')).status
  assert.deepEqual([21, 20.9, 3, 2.9, -1].map(status), ['ok', 'warn', 'warn', 'fail', 'fail'])
})

test('a backup warns after 8 days, or when there is none, unless the database is replicated', () => {
  const status = (at: string | undefined, replicated = false) =>
    judgeBackup({ at, now: NOW, replicated, target: '/b' }).status
  assert.deepEqual(
    [status(iso(NOW - 7.9 * DAY)), status(iso(NOW - 8 * DAY)), status(undefined)],
    ['ok', 'warn', 'warn'],
  )
  assert.deepEqual([status(undefined, true), status(iso(NOW - 30 * DAY), true)], ['ok', 'ok'])
})

test('background work fails when it stands still, and warns when its last pass failed', () => {
  const runner = { enabled: true, intervalSeconds: 30, lastRunAt: iso(NOW - 10_000), name: 'a', running: false }
  const status = (more: object, uptime = 1000) => judgeRunners([{ ...runner, ...more }], NOW, uptime).status
  assert.equal(status({}), 'ok')
  assert.equal(status({ lastError: 'disk' }), 'warn')
  assert.equal(status({ lastRunAt: iso(NOW - 151_000) }), 'fail')
  assert.equal(status({ lastRunAt: iso(NOW - 151_000), running: true }), 'ok', 'a long pass')
  assert.equal(status({ lastRunAt: iso(NOW - 151_000), enabled: false }), 'ok')
  assert.deepEqual([status({ lastRunAt: undefined }, 10), status({ lastRunAt: undefined }, 200)], ['ok', 'fail'])
})

test('a box that is not the controller is no stranger, and nobody is told to stop it', async () => {
  for (const [role, status] of [
    ['standby', 'skipped'],
    ['fenced', 'warn'],
  ] as const) {
    const told = { message: 'm', name: 'two', ready: true, role, version: '1' }
    const answer = await standbyResponses({ term: 2 } as LeaseClient, () => told).fetch(
      new Request('http://two/readyz'),
    )
    assert.equal(awayRoleOf(await answer.json()), role)
    assert.equal(judgeAway(role).status, status)
  }
  assert.equal(awayRoleOf({ role: 'controller', service: 'roomtone' }), undefined)
})

test('uploads and recorders: how many, which, and why', () => {
  assert.equal(judgeUploads({ error: null, failed: 0, old: 0 }).status, 'ok')
  assert.match(judgeUploads({ error: 'no route', failed: 2, old: 1 }).message, /2 given up, 1 tried .*no route/)
  assert.equal(judgeOffline([], 0).status, 'ok')
  const many = Array.from({ length: 7 }, (_, n) => ({ alias: `R${n}`, id: `n${n}` }))
  assert.match(judgeOffline(many, 9).message, /^7 of 9 recorders are offline: R0 \(n0\), .*, and 2 more$/)
})

test('the database says who is offline, what is stuck and what is sealed', async () => {
  const k = kit()
  const facts = doctorFacts(k.db)
  const sealed = sealedStore(k.db)
  const { agent, id } = await k.enroll('Hall')
  await k.enroll('Never seen')
  await agent.post(`/nodes/${id}/heartbeat`, { agentVersion: '1', hostname: 'hall' })
  assert.deepEqual(facts.nodes(k.now(), 60), { all: 2, offline: [] })
  k.advance('5m')
  assert.deepEqual(facts.nodes(k.now(), 60), { all: 2, offline: [{ alias: 'Hall', id }] })
  assert.deepEqual(facts.nodes(k.now(), 0).offline, [], 'without a limit nobody is offline')
  assert.deepEqual(sealed.all(), [])
  assert.equal(facts.sharesInUse(), false)
  await k.as('owner').post('/settings/upload-destinations', {
    displayName: 'Share',
    enabled: true,
    kind: 'smb',
    smb: { port: 445, server: 'nas', share: 'takes', username: 'svc' },
    smbPassword: 'password-of-the-share',
  })
  assert.deepEqual(
    sealed.all().map(({ key, place }) => [key, /^upload_destinations\/\S+\/smb_password$/.test(place)]),
    [['settings', true]],
  )
  assert.equal(facts.sharesInUse(), true)
  assert.deepEqual(facts.uploads(k.now()), { error: null, failed: 0, old: 0 })
  await k.close()
})

test('names are found wherever people gave one, with their ids', async () => {
  const k = kit()
  const { id } = await k.enroll('Lectern', { location: { building: 'Villa', room: 'Aula', site: 'Park' } })
  await k.as('admin').post('/rooms', { floor: 'Attic', name: 'Loft', site: 'Park' })
  k.person('ann', ['viewer'])
  k.sql(`UPDATE users SET name = 'Ann Lee' WHERE id = 'ann'`)
  const { names, whole } = namesIn(k.db)
  assert.equal(whole, true)
  const found = (kind: string) => names.filter((one) => one.kind === kind).map(({ name }) => name)
  assert.ok(found('person').includes('Ann Lee'))
  assert.ok(names.some((one) => one.kind === 'recorder' && one.id === id && one.name === 'Lectern'))
  for (const [kind, name] of [
    ['host', 'lectern.local'],
    ['place', 'Attic'],
    ['place', 'Villa'],
    ['room', 'Aula'],
    ['room', 'Loft'],
    ['site', 'Park'],
  ] as const)
    assert.ok(found(kind).includes(name), name)
  await k.close()
})

test('the controller tells its own machine how its background work stands, and nobody else', async () => {
  const k = kit()
  await k.start()
  const { json } = await k.anonymous.get('/readyz')
  assert.deepEqual([json.ok, 'runners' in json], [true, false], 'no address of this machine')
  const server = await listening(k)
  const told = async (headers = {}) => {
    const answer = await fetch(`${new URL(server.url).origin}/readyz`, { headers })
    return readinessOf(await answer.json())
  }
  const [local, through] = [await told(), await told({ 'x-forwarded-for': '10.0.0.1' })]
  await server.close()
  assert.ok(local?.runners?.some(({ enabled, name }) => enabled && name === 'job-lease'))
  assert.deepEqual([through?.ok, through?.runners], [true, undefined], 'somebody behind a proxy is elsewhere')
  await k.close()
})
