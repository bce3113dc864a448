// A screen on a wall: a link opens it, and it shows the levels of its places and nothing else.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { mounted } from '../../../src/controller/http/serve.ts'
import { type Kit, kit } from '../../kit/kit.ts'
import { reading } from '../../kit/reading.ts'

const HERE = { 'sec-fetch-site': 'same-origin' }

const kits: Kit[] = []
after(() => Promise.all(kits.map((k) => k.close())))

async function world() {
  const k = kit()
  kits.push(k)
  const { agent: northAgent, id: north } = await k.enroll('<b>North</b>')
  const { agent: southAgent, id: south } = await k.enroll('South', { location: { room: 'Cellar', site: 'South' } })
  const admin = k.as('admin')
  const make = async (body: object) => (await admin.post('/auth/display-links', body)).json.data
  const open = async (token: string) => {
    const answer = await k.anonymous.post('/auth/display-session', { token }, HERE)
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
    return { answer, headers: { cookie, 'sec-fetch-site': 'same-origin' } }
  }
  const wall = async (headers: Record<string, string>) => k.anonymous.get('/display', headers)
  return { admin, k, make, north, northAgent, open, south, southAgent, wall }
}

test('it shows the nodes of its site by name and level, and says when it was used', async () => {
  const { admin, k, make, north, northAgent, open, south, southAgent, wall } = await world()
  const { token, ...link } = await make({ name: 'Foyer', site: 'North' })
  assert.match(token, /^svc_display_[\w-]{43}$/)
  assert.equal(JSON.stringify(k.rows('SELECT * FROM display_links')).includes(token), false, 'only its hash is kept')
  const { answer, headers } = await open(token)
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('set-cookie') ?? '', /^svc_display=svc_screen_[\w-]{43}; HttpOnly; SameSite=Strict; /)
  assert.doesNotMatch(answer.text, /svc_/)
  const { json, status } = await wall(headers)
  assert.equal(status, 200)
  assert.deepEqual(
    json.data.nodes.map((node: { alias: string }) => node.alias),
    ['<b>North</b>'],
  )
  assert.deepEqual(Object.keys(json.data.nodes[0]).sort(), ['alias', 'devices', 'id', 'room', 'status'])
  assert.deepEqual([json.data.total, typeof json.data.version], [1, 'string'])
  const response = await k.app.request('/api/v1/display/meter-events?detail=levels', { headers })
  const stream = reading(response)
  for (const [agent, nodeId] of [
    [southAgent, south],
    [northAgent, north],
  ] as const) {
    const levels = [{ channelIndex: 1, clipping: false, label: 'Input 1', peakDbfs: -12, rmsDbfs: -27 }]
    const frame = { capturedAt: k.now(), interfaceId: 'hw:CARD=Desk,DEV=0', levels, nodeId }
    assert.ok((await agent.post(`/nodes/${nodeId}/meter-frame`, frame)).status < 300)
  }
  assert.equal(((await stream.event('levels')) as { nodeId: string }).nodeId, north)
  await stream.cancel()
  const [listed] = (await admin.get('/auth/display-links')).json.data
  assert.deepEqual([listed.id, listed.screens, listed.createdBy], [link.id, 1, 'admin@example.org'])
  assert.ok(listed.lastUsedAt)
  assert.equal(listed.token, undefined)
})

test('every other route refuses it, and it is no bearer', async () => {
  const { k, make, open } = await world()
  const { token } = await make({ name: 'Foyer', site: 'North' })
  const { headers } = await open(token)
  const screen = headers.cookie.split('=')[1] as string
  const asSession = { ...headers, cookie: `${headers.cookie}; svc_session=${screen}` }
  const opened: string[] = []
  for (const r of k.routes) {
    if (['/healthz', '/install.sh', '/readyz'].includes(r.path) || r.auth === 'none' || r.auth === 'display') continue
    const path = mounted(r.path.replaceAll(/:\w+/g, 'x'))
    const body = r.method === 'GET' || r.method === 'DELETE' ? null : '{}'
    for (const sent of [
      headers,
      asSession,
      { authorization: `Bearer ${screen}` },
      { authorization: `Bearer ${token}` },
    ]) {
      const { status } = await k.app.request(path, { body, headers: sent, method: r.method })
      // Where a fixed token is not set, machines are told so.
      if (status !== 401 && status !== 503) opened.push(`${r.method} ${path} ${status}`)
    }
  }
  assert.deepEqual(opened, [])
  assert.equal((await k.anonymous.get('/auth/me', headers)).status, 401, 'nobody is signed in')
  assert.deepEqual(
    k.routes.filter(({ auth }) => auth === 'display').map(({ method, path }) => `${method} ${path}`),
    ['GET /display', 'GET /display/meter-events'],
  )
  for (const person of ['svc_admin', 'svc_nobody'])
    assert.equal((await k.bearer(person).get('/display')).status, 401, 'a person is no screen')
})

test('another site cannot use it; a room shows its own channels; what everybody is denied stays hidden', async () => {
  const { admin, k, make, open, south, wall } = await world()
  await admin.post('/rooms', { id: 'cellar', name: 'Cellar', site: 'South' })
  await admin.patch(`/nodes/${south}`, { roomId: 'cellar' })
  const { token } = await make({ name: 'Cellar', roomIds: ['cellar', 'cellar'] })
  const { headers } = await open(token)
  const ids = async () => (await wall(headers)).json.data.nodes.map(({ id }: { id: string }) => id)
  assert.deepEqual(await ids(), [south])
  assert.equal((await wall({ ...headers, 'sec-fetch-site': 'cross-site' })).status, 403)
  const deny = { effect: 'deny', resourceId: 'cellar', resourceType: 'room', subjectType: 'everyone' }
  assert.equal((await admin.patch('/auth/access-policies', { policies: [deny] })).status, 200)
  assert.deepEqual(await ids(), [])
  assert.equal((await admin.post('/auth/display-links', { name: 'X', roomIds: ['cellar'] })).status, 403)
  assert.equal((await admin.post('/auth/display-links', { name: 'X', roomIds: ['nowhere'] })).status, 400)
  assert.equal((await admin.post('/auth/display-links', { name: 'X' })).status, 400)
  assert.equal((await admin.post('/auth/display-links', { name: 'X', roomIds: ['cellar'], site: 'South' })).status, 400)
  assert.equal((await k.as('operator').post('/auth/display-links', { name: 'X', site: 'North' })).status, 403)
})

test('who is denied a recorder, a device or a room in a place makes no link of that place', async () => {
  const { admin, k, south } = await world()
  k.person('boss', ['owner'])
  const boss = k.bearer('svc_boss')
  const make = async (site: string) => (await boss.post('/auth/display-links', { name: 'Foyer', site })).status
  assert.equal(await make('South'), 201)
  const deny = { effect: 'deny', resourceId: south, resourceType: 'node', subjectId: 'boss', subjectType: 'user' }
  assert.equal((await admin.patch('/auth/access-policies', { policies: [deny] })).status, 200)
  assert.equal(await make('South'), 403)
  assert.equal(await make('North'), 201)
})

test('revoked or expired it ends, with its screens and their streams', async () => {
  const { admin, k, make, open, wall } = await world()
  const { id, token } = await make({ name: 'Foyer', site: 'North' })
  const { headers } = await open(token)
  const stream = await k.app.request('/api/v1/display/meter-events', { headers })
  assert.equal(stream.status, 200)
  const ended = reading(stream)
  k.forget()
  const both = await Promise.all([admin.delete(`/auth/display-links/${id}`), admin.delete(`/auth/display-links/${id}`)])
  assert.deepEqual(both.map(({ status }) => status).sort(), [204, 404])
  const refused = await wall(headers)
  assert.equal(refused.status, 401)
  assert.match(refused.headers.get('set-cookie') ?? '', /^svc_display=; .*Max-Age=0/)
  assert.equal((await open(token)).answer.status, 401)
  assert.ok(k.trail().includes('auth.display_links.revoke.succeeded succeeded'))
  assert.ok(k.trail().includes('auth.display_session.open.failed denied invalid_display_link'))
  await ended.cancel()
  const short = await make({ expiresAt: '2026-03-02T10:00:00.000Z', name: 'Today', site: 'North' })
  const screen = await open(short.token)
  assert.equal((await wall(screen.headers)).status, 200)
  k.advance('61m')
  assert.equal((await wall(screen.headers)).status, 401)
  assert.equal((await open(short.token)).answer.status, 401)
  const past = { expiresAt: '2026-03-02T10:00:00.000Z', name: 'Past', site: 'North' }
  assert.equal((await admin.post('/auth/display-links', past)).status, 400)
})

test('a link opens some screens a minute and fifty in all; a screen in use is not put out', async () => {
  const { admin, k, make, open, wall } = await world()
  const { token } = await make({ name: 'Foyer', site: 'North' })
  const first = await open(token)
  const statuses: number[] = []
  for (let n = 0; n < 20; n++) statuses.push((await open(token)).answer.status)
  assert.deepEqual([statuses.filter((status) => status === 200).length, statuses.at(-1)], [19, 429])
  for (let minute = 0; minute < 3; minute++) {
    k.advance('61s')
    for (let n = 0; n < 15; n++) statuses.push((await open(token)).answer.status)
  }
  assert.equal(statuses.at(-1), 409)
  assert.equal(statuses.filter((status) => status === 200).length, 49)
  assert.equal((await wall(first.headers)).status, 200)
  k.advance('2h')
  assert.equal((await wall(first.headers)).status, 200)
  assert.equal((await open(token)).answer.status, 200, 'the others were not seen for an hour')
  assert.equal((await wall(first.headers)).status, 200)
  assert.equal((await admin.post('/auth/display-links', { name: 'All', site: '*' })).status, 400)
})

test('one screen of a link does not darken the others', async () => {
  const { k, make, open } = await world()
  const { token } = await make({ name: 'Foyer', site: 'North' })
  const [first, second] = [(await open(token)).headers, (await open(token)).headers]
  const ask = (headers: Record<string, string>) => k.app.request('/api/v1/display/meter-events', { headers })
  const opened = await Promise.all(Array.from({ length: 17 }, () => ask(first)))
  assert.deepEqual(
    opened.map(({ status }) => status).filter((status) => status !== 200),
    [429],
  )
  const other = await ask(second)
  assert.equal(other.status, 200)
  for (const { body } of [...opened, other]) await body?.cancel()
})

test('a page of another site opens no screen here, and spends nothing', async () => {
  const { k, make } = await world()
  const { token } = await make({ name: 'Foyer', site: 'North' })
  const open = (headers: object) => k.anonymous.post('/auth/display-session', { token }, headers)
  const text = { 'content-type': 'text/plain;charset=UTF-8' }
  for (const headers of [
    { ...text, origin: 'http://evil.test', 'sec-fetch-site': 'cross-site' },
    { ...text, 'sec-fetch-site': 'same-site' },
    { ...text, host: 'controller.test', origin: 'http://evil.test' },
    text,
  ]) {
    const answer = await open(headers)
    assert.deepEqual([answer.status, answer.json.reason], [403, 'cross_origin'], JSON.stringify(headers))
    assert.equal(answer.headers.get('set-cookie'), null)
  }
  assert.deepEqual(k.rows('SELECT 1 FROM display_screens'), [])
  assert.equal((await open({ host: 'controller.test', origin: 'http://controller.test' })).status, 200)
  assert.equal((await open(HERE)).status, 200)
})

test('the links of somebody who is deleted end with their screens', async () => {
  const { k, open, wall } = await world()
  const made = await k.person('ann', ['admin']).post('/auth/display-links', { name: 'Foyer', site: 'North' })
  const { token } = made.json.data
  const { headers } = await open(token)
  assert.equal((await wall(headers)).status, 200)
  assert.equal((await k.as('owner').delete('/auth/users/ann')).status, 204)
  assert.equal((await wall(headers)).status, 401)
  assert.equal((await open(token)).answer.status, 401)
  assert.deepEqual(k.rows('SELECT 1 FROM display_links'), [])
})

test('a recorder that is not heard from any more is offline on the wall too; beyond 200 it says how many there are', async () => {
  const { k, make, north, northAgent, open, wall } = await world()
  const { headers } = await open((await make({ name: 'Foyer', site: 'North' })).token)
  await northAgent.post(`/nodes/${north}/heartbeat`, { agentVersion: '1', hostname: 'h' })
  const statusNow = async () => (await wall(headers)).json.data.nodes[0].status
  assert.equal(await statusNow(), 'online')
  k.advance('10m')
  assert.equal(await statusNow(), 'offline')
  for (let i = 0; i < 200; i++) await k.enroll(`Booth ${i}`)
  const { nodes, total } = (await wall(headers)).json.data
  assert.deepEqual([nodes.length, total], [200, 201])
})

test('while the account that made it is disabled a link opens nothing, and its screens show nothing', async () => {
  const { admin, k, open, wall } = await world()
  const link = { name: 'Foyer', site: 'North' }
  const { data: made } = (await k.person('eve', ['admin']).post('/auth/display-links', link)).json
  const { headers } = await open(made.token)
  assert.equal((await wall(headers)).status, 200)
  const [eve] = k.rows<{ id: string }>(`SELECT maker_id AS id FROM display_links WHERE id = ?`, made.id)
  const disable = (disabled: boolean) => admin.patch(`/auth/users/${eve?.id}/status`, { disabled })
  assert.equal((await disable(true)).status, 200)
  assert.deepEqual([(await wall(headers)).status, (await open(made.token)).answer.status], [401, 401])
  assert.equal((await disable(false)).status, 200)
  assert.equal((await wall(headers)).status, 200)
})
