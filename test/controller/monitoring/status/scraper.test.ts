import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../../../src/controller/config.ts'
import { UserError } from '../../../../src/kernel/fail.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { exposed, makers, scraped } from './world.ts'

const TOKEN = 'scrape-token-0123456789'
const world = (more: Record<string, string> = {}, file?: string) =>
  kit({ env: { SVC_METRICS_TOKEN: TOKEN, ...more }, ...(file ? { file } : {}) })

test('the static token sees everything, also what is refused to everybody', async () => {
  const k = world()
  const make = makers(k)
  make.node('n1')
  make.node('n2')
  make.event('h1', 'x', 'critical', 'open', { node_id: 'n1' })
  k.sql("INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'node', 'n1', NULL)")
  const family = await scraped(k.bearer(TOKEN))
  assert.equal(family('node_online').samples.size, 2)
  assert.equal(family('health_events_active').samples.get('{severity="critical",status="open"}'), 1)
  assert.ok(family('audit_events_total').samples.size === 0)
  await k.as('admin').get('/rooms')
  assert.ok((await scraped(k.bearer(TOKEN)))('audit_events_total').samples.size > 0)
  await k.close()
})

test('a scrape is audited as machines are: the first of each window, with the count of the one before', async () => {
  const k = world({ SVC_AUDIT_MACHINE_WINDOW_SECONDS: '60' })
  for (let n = 0; n < 3; n++) await scraped(k.bearer(TOKEN))
  assert.deepEqual(k.trail(), ['metrics.scrape.succeeded succeeded'])
  k.advance('61s')
  await scraped(k.bearer(TOKEN))
  const rows = k.rows<{ actor: string; type: string; permission: string; details: string }>(
    `SELECT actor_id AS actor, actor_type AS type, permission, details FROM audit_events ORDER BY seq`,
  )
  assert.deepEqual(
    rows.map(({ actor, permission, type }) => [actor, type, permission]),
    Array(2).fill(['metrics-scraper', 'system', 'metrics:read']),
  )
  assert.equal(JSON.parse(rows[1]?.details ?? '').count, 3)
  assert.ok(!JSON.stringify(rows).includes(TOKEN))
  await k.close()
})

test('the static token opens nothing but the metrics, and each try is written down', async () => {
  const k = world()
  const shared = k.routes.filter((r) => r.auth === 'scraper').map((r) => `${r.method} ${r.path}`)
  assert.deepEqual(shared, ['GET /metrics'])
  for (const r of k.routes) {
    if (r.path === '/metrics' || r.auth === 'none') continue
    k.forget()
    const answer = await k.bearer(TOKEN).send(r.method, r.path.replaceAll(/:\w+/g, 'x'), r.body ? {} : undefined)
    assert.ok([401, 403, 503].includes(answer.status), `${r.method} ${r.path} answers ${answer.status}`)
    assert.equal(k.trail().length, 1, `${r.method} ${r.path}`)
    if (answer.status !== 503) assert.match(k.trail()[0] ?? '', / denied /)
  }
  await k.close()
})

test('a wrong token is refused, and an address that keeps guessing has to wait', async () => {
  const k = world({ SVC_TOKEN_FAILURE_LIMIT: '3' })
  for (let n = 0; n < 3; n++) assert.equal((await k.bearer(`${TOKEN}${n}`).get('/metrics')).status, 401)
  const answer = await k.bearer(TOKEN).get('/metrics')
  assert.equal(answer.status, 429)
  assert.ok(Number(answer.headers.get('retry-after')) > 0)
  assert.deepEqual(k.trail(), [
    ...Array(3).fill('metrics.read denied unauthenticated'),
    'metrics.scrape.failed failed rate_limited',
  ])
  k.advance('6m')
  await scraped(k.bearer(TOKEN))
  await k.close()
})

test('without the setting nobody scrapes without a session', async () => {
  const k = kit()
  for (const token of ['', 'undefined', TOKEN]) assert.equal((await k.bearer(token).get('/metrics')).status, 401)
  await k.close()
})

test('a session reads the metrics as before, with both its rows', async () => {
  const k = world()
  await scraped(k.as('viewer'))
  assert.deepEqual(k.trail(), ['metrics.read allowed', 'metrics.read.succeeded succeeded'])
  await k.close()
})

test('a short token stops the start; one from a file is taken', () => {
  assert.throws(() => readConfig({ SVC_METRICS_TOKEN: 'short' }), UserError)
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-token-')), 'token')
  fs.writeFileSync(file, `${TOKEN}\n`)
  assert.equal(readConfig({ SVC_METRICS_TOKEN_FILE: file }).SVC_METRICS_TOKEN, TOKEN)
  fs.rmSync(path.dirname(file), { recursive: true })
})

const AWAY = /^# HELP svc_database_unavailable .+\n# TYPE svc_database_unavailable gauge\nsvc_database_unavailable 1\n$/

async function away(k: Kit): Promise<void> {
  const answer = await k.bearer(TOKEN).get('/metrics')
  assert.equal(answer.status, 200, answer.text)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  assert.match(answer.text, AWAY)
  assert.equal(exposed(answer.text).size, 1)
}

test('while the database cannot be written the scraper is told that, others 503', async () => {
  const k = world({ SVC_AUDIT_MACHINE_WINDOW_SECONDS: '3600' })
  const admin = k.as('admin')
  await scraped(k.bearer(TOKEN))
  k.db.raw.pragma('query_only = 1')
  await away(k)
  assert.equal((await admin.get('/metrics')).status, 503)
  assert.equal((await k.bearer('wrong').get('/metrics')).status, 503)
  k.db.raw.pragma('query_only = 0')
  const family = await scraped(k.bearer(TOKEN))
  assert.equal(family('database_unavailable').samples.get(''), 0)
  await k.close()
})

test('while the database cannot be read the scraper is told that, and the probes say which of both lives', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-away-'))
  const file = path.join(dir, 'roomtone.db')
  const k = world({}, file)
  assert.deepEqual(await ready(k), [200, true, 'ready'])
  k.db.raw.pragma('wal_checkpoint(TRUNCATE)')
  // What a broken disk leaves: nothing of it is a database any more.
  fs.writeFileSync(file, Buffer.alloc(fs.statSync(file).size, 'x'))
  k.db.raw.pragma('shrink_memory')
  await away(k)
  assert.deepEqual(await ready(k), [503, false, 'unreachable'])
  const alive = await k.anonymous.get('/healthz')
  assert.deepEqual([alive.status, alive.json.ok], [200, true])
  await k.close()
  fs.rmSync(dir, { recursive: true })
})

async function ready(k: Kit): Promise<unknown[]> {
  const { json, status } = await k.anonymous.get('/readyz')
  assert.deepEqual(Object.keys(json).sort(), ['database', 'ok', 'service', 'startedAt', 'version'])
  return [status, json.ok, json.database]
}
