import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { type Kit, kit } from '../../../kit/kit.ts'

let k: Kit
const kits: Kit[] = []
after(async () => {
  for (const one of kits) await one.close()
})

/** A technician of North; a recorder and two rooms on each of two sites. */
async function world() {
  k = kit()
  kits.push(k)
  const admin = k.as('admin')
  for (const [id, site] of [
    ['hall', 'North'],
    ['booth', 'North'],
    ['cellar', 'South'],
  ])
    await admin.post('/rooms', { id, name: id, site })
  const north = await k.enroll('North box')
  const south = await k.enroll('South box', { location: { site: 'South', room: 'Cellar' } })
  return { admin, north, south, tech: k.person('tess', ['technician'], [['site', 'North']]) }
}
let w: Awaited<ReturnType<typeof world>>
beforeEach(async () => {
  w = await world()
})

const place = (site: string) => ({ alias: 'New', hostname: 'new.local', location: { site, room: 'Hall' } })
const stick = (...nodes: object[]) => ({ controllerUrl: 'https://c.test', nodes })
const refused = (answer: { json: { error?: string }; status: number }) =>
  assert.deepEqual([answer.status, answer.json.error], [403, 'Forbidden'])
const state = () =>
  JSON.stringify(['nodes', 'rooms', 'channels', 'bootstrap_tokens'].map((t) => k.rows(`SELECT * FROM ${t}`)))

test('a technician enrolls recorders into their site, and nowhere else', async () => {
  const { tech } = w
  assert.equal((await tech.post('/nodes/enroll', place('North'))).status, 201)
  assert.equal(
    (await tech.post('/nodes/bootstrap-config', stick({ alias: 'A', room: 'Hall', site: 'North' }))).status,
    201,
  )
  const before = state()
  k.forget()
  for (const site of ['South', 'north', 'Nowhere']) refused(await tech.post('/nodes/enroll', place(site)))
  const mixed = stick({ alias: 'A', room: 'Hall', site: 'North' }, { alias: 'B', room: 'Cellar', site: 'South' })
  refused(await tech.post('/nodes/bootstrap-config', mixed))
  assert.equal((await tech.post('/nodes/bootstrap-config', stick({ nodeId: w.south.id }))).status, 404)
  assert.equal(state(), before)
  assert.deepEqual(k.trail().slice(0, 2), ['nodes.enroll allowed', 'nodes.enroll.failed denied missing_resource_scope'])
})

test('a technician without a grant enrolls and makes nothing', async () => {
  const bare = k.person('bare', ['technician'])
  const before = state()
  refused(await bare.post('/nodes/enroll', place('North')))
  refused(await bare.post('/rooms', { name: 'New', site: 'North' }))
  refused(await bare.post('/nodes/bootstrap-config', stick({ alias: 'A', room: 'Hall', site: 'North' })))
  assert.equal(state(), before)
})

test('a grant on every node opens every site to enrolling, a refused site binds the admin too', async () => {
  assert.equal(
    (await k.person('all', ['technician'], [['node', '*']]).post('/nodes/enroll', place('South'))).status,
    201,
  )
  const deny = { effect: 'deny', subjectType: 'user', subjectId: 'adam', resourceType: 'site', resourceId: 'South' }
  const adam = k.person('adam', ['admin'])
  await k.as('owner').patch('/auth/access-policies', { policies: [deny] })
  refused(await adam.post('/nodes/enroll', place('South')))
  assert.equal((await adam.post('/nodes/enroll', place('North'))).status, 201)
})

test('rooms are made and edited within the site; none comes from or goes to another', async () => {
  const { tech } = w
  assert.equal((await tech.post('/rooms', { name: 'New', site: 'North' })).status, 201)
  assert.equal((await tech.patch('/rooms/hall', { name: 'Great hall', site: 'North' })).status, 200)
  const before = state()
  refused(await tech.post('/rooms', { name: 'New', site: 'South' }))
  refused(await tech.patch('/rooms/hall', { site: 'South' }))
  // Whether South has a room of that name is nothing they learn.
  refused(await tech.patch('/rooms/hall', { name: 'cellar', site: 'South' }))
  refused(await tech.patch('/rooms/cellar', { site: 'North' }))
  // A grant on the room is none on the site that would lose it.
  const taker = k.person(
    'taker',
    ['technician'],
    [
      ['room', 'hall'],
      ['site', 'South'],
    ],
  )
  refused(await taker.patch('/rooms/hall', { site: 'South' }))
  // A grant on a room's id does not make that room anywhere.
  refused(
    await k.person('early', ['technician'], [['room', 'x']]).post('/rooms', { id: 'x', name: 'X', site: 'South' }),
  )
  assert.equal(state(), before)
})

test('a recorder moves between the rooms of its site; another site is refused in both directions', async () => {
  const { north, south, tech } = w
  assert.equal((await tech.patch(`/nodes/${north.id}`, { roomId: 'hall' })).status, 200)
  assert.equal((await tech.patch(`/nodes/${north.id}`, { roomId: 'booth', location: { site: 'North' } })).status, 200)
  const before = state()
  for (const roomId of ['cellar', 'no-such-room']) refused(await tech.patch(`/nodes/${north.id}`, { roomId }))
  refused(await tech.patch(`/nodes/${north.id}`, { location: { site: 'South' } }))
  for (const change of [{ roomId: 'hall' }, { location: { site: 'North' } }, { alias: 'Mine' }])
    refused(await tech.patch(`/nodes/${south.id}`, change))
  assert.equal(state(), before)
})

test('a recorder shared by two sites is edited from both, and leaves its place only for who holds it', async () => {
  const { admin, north, south, tech } = w
  const [desk] = south.node.interfaces
  const to = (roomId: string | null, ...channelIndexes: number[]) => ({
    assignments: [{ channelIndexes, interfaceId: desk.id, roomId }],
  })
  assert.equal((await admin.put(`/nodes/${south.id}/channel-rooms`, to('hall', 1))).status, 200)
  assert.equal((await tech.patch(`/nodes/${south.id}`, { notes: 'two sites' })).status, 200)
  const before = state()
  refused(await tech.patch(`/nodes/${south.id}`, { location: { site: 'North' } }))
  refused(await tech.patch(`/nodes/${south.id}`, { roomId: 'booth' }))
  refused(await tech.put(`/nodes/${south.id}/channel-rooms`, to('booth', 1)))
  refused(await tech.put(`/nodes/${south.id}/channel-rooms`, to('hall', 1, 2)))
  assert.equal(state(), before)
  // Nothing moves: a form that sends everything back is no refusal.
  assert.equal((await tech.put(`/nodes/${south.id}/channel-rooms`, to('hall', 1))).status, 200)
  const own = { assignments: [{ channelIndexes: [1, 2], interfaceId: north.node.interfaces[0].id, roomId: 'booth' }] }
  assert.equal((await tech.put(`/nodes/${north.id}/channel-rooms`, own)).status, 200)
  const abroad = { assignments: [{ ...own.assignments[0], roomId: 'cellar' }] }
  refused(await tech.put(`/nodes/${north.id}/channel-rooms`, abroad))
})

test('tokens, retiring, credentials and lifecycle actions stay within the site', async () => {
  const { north, south, tech } = w
  const deeds = (id: string) => [
    () => tech.post(`/nodes/${id}/bootstrap-token`, {}),
    () => tech.post(`/nodes/${id}/credentials/rotate`),
    () => tech.post(`/nodes/${id}/credentials/revoke`),
    () => tech.get(`/nodes/${id}/ssh-credential`),
    () => tech.post(`/nodes/${id}/ssh-credential/rotate`, {}),
    () => tech.post(`/nodes/${id}/lifecycle/doctor`, {}),
    () => tech.post(`/nodes/${id}/retire`),
    () => tech.post(`/nodes/${id}/reinstate`),
  ]
  const before = state()
  for (const deed of deeds(south.id)) refused(await deed())
  assert.equal(state(), before)
  for (const deed of deeds(north.id)) assert.notEqual((await deed()).status, 403)
})

test('only who manages the recorder ends the listening of others', async () => {
  const { admin, north, south } = w
  const ends = async (id: string) => {
    const { sessionId } = (await admin.post(`/nodes/${id}/listen`, {})).json.data
    // Listens to South by the roster, manages North.
    const ear = k.person('ear', ['technician'], [['site', 'North']])
    return (await ear.delete(`/nodes/${id}/listen/${sessionId}`)).status
  }
  k.person('ear', [])
  const entries = [{ capabilities: ['listen'], subjectId: 'ear', subjectType: 'user' }]
  k.sql("INSERT INTO user_roles VALUES ('ear', 'technician')")
  await admin.put('/rooms/cellar/roster', { entries })
  assert.equal((await admin.patch(`/nodes/${south.id}`, { roomId: 'cellar' })).status, 200)
  assert.equal(await ends(north.id), 204)
  assert.equal(await ends(south.id), 404)
})
