import assert from 'node:assert/strict'
import * as http from 'node:http'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Server } from '../../../src/controller/http/server.ts'
import { kit } from '../../kit/kit.ts'

test('whatever a request does to be refused, the refusal is written', async () => {
  const k = kit({ env: { SVC_RUNNER_TOKEN: 'runner-token-0123456789', SVC_TOKEN_FAILURE_LIMIT: '1' } })
  const viewer = k.as('viewer')
  const trailOf = async (step: () => Promise<unknown>): Promise<string[]> => {
    k.forget()
    await step()
    return k.trail()
  }
  const denied = ['rooms.create denied missing_permission']
  assert.deepEqual(await trailOf(() => viewer.post('/rooms', '{broken')), denied)
  assert.deepEqual(await trailOf(() => viewer.post('/rooms', 'null')), denied)
  assert.deepEqual(await trailOf(() => viewer.post('/rooms', `"${'x'.repeat(1_100_000)}"`)), denied)
  assert.deepEqual(await trailOf(() => viewer.post('/rooms', {}, { 'content-length': '99999999' })), denied)
  const head = await trailOf(() => viewer.send('HEAD', '/audit-events'))
  assert.deepEqual(head, ['audit.events.read denied missing_permission'])
  assert.deepEqual(await trailOf(() => viewer.get('/audit-events?limit=x')), head)
  assert.deepEqual(await trailOf(() => viewer.get('/audit-events/%E0%A4%A')), [
    'audit.events.detail.read denied missing_permission',
  ])
  const material = () => k.bearer('guess').get('/nodes/n1/ssh-credential/material')
  assert.deepEqual(await trailOf(material), ['nodes.ssh_credential.fetch denied invalid_runner_token'])
  assert.deepEqual(await trailOf(material), ['nodes.ssh_credential.fetch failed rate_limited'])
  await k.close()
})

test('where there is no route nothing is decided, so nothing is written', async () => {
  const k = kit()
  const admin = k.as('admin')
  for (const [method, path] of [
    ['GET', '/nothing'],
    ['PUT', '/rooms'],
    ['OPTIONS', '/rooms'],
    ['DELETE', '/audit-events'],
  ])
    assert.equal((await admin.send(method as string, path as string)).status, 404, `${method} ${path}`)
  assert.deepEqual(k.trail(), [])
  await k.close()
})

test('a body that breaks off leaves the decision and the failure', async () => {
  const k = kit()
  const server = new Server(k.app, undefined)
  const { hostname, port } = new URL(await server.listen('127.0.0.1', 0))
  const token = k.as('admin').token
  await new Promise<void>((resolve) => {
    const headers = { authorization: `Bearer ${token}`, 'content-length': '1000' }
    const request = http.request({ hostname, port, method: 'POST', path: '/api/v1/rooms', headers })
    request.on('error', () => resolve())
    request.write('{"site":', () => request.destroy())
  })
  while (k.trail().length < 2) await nextTurn()
  await server.close(1000)
  assert.deepEqual(k.trail(), ['rooms.create allowed', 'rooms.create.failed failed request_aborted'])
  await k.close()
})

test('what cannot be written in the audit is not done', async () => {
  const k = kit()
  const admin = k.as('admin')
  // A dictionary that takes no entry: each insert into it is skipped without an error.
  k.db.raw.exec('CREATE TRIGGER full BEFORE INSERT ON audit_deeds BEGIN SELECT RAISE(IGNORE); END')
  const answer = await admin.post('/rooms', { name: 'Hall', site: 'Main' })
  assert.equal(answer.status, 500)
  k.db.raw.exec('DROP TRIGGER full')
  assert.deepEqual((await admin.get('/rooms')).json.data, [])
  await k.close()
})
