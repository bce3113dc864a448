// A recorder with devices on two sites: a room of it opens that room's audio, never the recorder and with it the rest.
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { generateSshKey } from '../../../../src/crypto/sshkey.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

let k: Kit
const kits: Kit[] = []
after(async () => {
  for (const one of kits) await one.close()
})

const device = (name: string, systemRef: string) => ({
  ...{ alias: name, backend: 'alsa', channelCount: 2, sampleRates: [48_000], systemName: name, systemRef },
})

/** A recorder of North with one device in the hall, and one in the cellar, which is in South. */
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
  const { agent, id, node } = await k.enroll('Box', {
    interfaces: [device('DevA', 'hw:1,0'), device('DevB', 'hw:2,0')],
  })
  const [a, b] = node.interfaces.map((one: { id: string }) => one.id)
  const assignments = [
    { channelIndexes: [1, 2], interfaceId: a, roomId: 'hall' },
    { channelIndexes: [1, 2], interfaceId: b, roomId: 'cellar' },
  ]
  assert.equal((await admin.put(`/nodes/${id}/channel-rooms`, { assignments })).status, 200)
  const tech = (name: string, ...grants: [string, string][]) => k.person(name, ['technician'], grants)
  return { a, admin, agent, b, id, tech }
}
let w: Awaited<ReturnType<typeof world>>
beforeEach(async () => {
  w = await world()
})

const TABLES = ['nodes', 'interfaces', 'channels', 'bootstrap_tokens', 'pairing_codes', 'node_credentials']
const state = () => JSON.stringify(TABLES.map((t) => k.rows(`SELECT * FROM ${t}`)))
const refused = (answer: { json: { error?: string }; status: number }, about: string) =>
  assert.deepEqual([answer.status, answer.json.error], [403, 'Forbidden'], about)

const deeds = (id: string): [method: string, path: string, body?: object][] => [
  ['POST', `/nodes/${id}/bootstrap-token`, {}],
  ['POST', `/nodes/${id}/pairing-code`, {}],
  ['POST', '/nodes/bootstrap-config', { controllerUrl: 'https://c.test', nodes: [{ nodeId: id }] }],
  ['POST', `/nodes/${id}/credentials/rotate`],
  ['POST', `/nodes/${id}/credentials/revoke`],
  ['PUT', `/nodes/${id}/ssh-credential/host-keys`, { hostKeys: [] }],
  ['POST', `/nodes/${id}/ssh-credential/rotate`, {}],
  ['POST', `/nodes/${id}/lifecycle/doctor`, {}],
  ['PATCH', `/nodes/${id}`, { alias: 'Mine' }],
  ['PATCH', `/nodes/${id}`, { audioDefaults: { captureDevice: 'hw:1,0' } }],
  ['PATCH', `/nodes/${id}`, { recordingCapacity: { maxConcurrentRecordings: 1 } }],
  ['PATCH', `/nodes/${id}`, { hostname: 'elsewhere.test', ipAddresses: ['192.0.2.9'] }],
  ['PATCH', `/nodes/${id}`, { location: { building: 'Elsewhere' } }],
  ['POST', `/nodes/${id}/retire`],
  ['POST', `/nodes/${id}/reinstate`],
]

test('a room of a recorder gives neither its identity nor what is common to its rooms', async () => {
  const { id, tech } = w
  const partly = [tech('south', ['site', 'South']), tech('cellar', ['room', 'cellar']), tech('hall', ['room', 'hall'])]
  for (const person of partly) {
    for (const [method, path, body] of deeds(id)) {
      const before = state()
      refused(await person.send(method, path, body), `${person.token} ${method} ${path}`)
      assert.match(k.trail().at(-1) ?? '', / denied missing_resource_scope$/, path)
      assert.equal(state(), before, path)
    }
    assert.equal((await person.patch(`/nodes/${id}`, { notes: 'two sites', tags: ['x'] })).status, 200)
    const { actions } = (await person.get(`/nodes/${id}/actions`)).json.data
    assert.equal(actions.bootstrapToken.reason, 'missing_resource_scope')
    assert.equal(actions.editNode.enabled, true)
  }
})

test('the site of a recorder, a grant on it, and all its rooms with one of its site, hold it whole', async () => {
  const { id, tech } = w
  const whole = [
    k.as('owner'),
    tech('north', ['site', 'North']),
    tech('node', ['node', id]),
    tech('every', ['*', '*']),
    tech('rooms', ['room', 'hall'], ['site', 'South']),
  ]
  for (const person of whole)
    for (const [method, path, body] of deeds(id))
      assert.notEqual((await person.send(method, path, body)).status, 403, `${person.token} ${method} ${path}`)
})

test('a channel without a room, or a room of the recorder itself, is a place of it too', async () => {
  const { a, admin, id, tech } = w
  const rooms = tech('rooms', ['room', 'hall'], ['room', 'cellar'])
  const ask = async () => (await rooms.post(`/nodes/${id}/bootstrap-token`, {})).status
  assert.equal(await ask(), 201)
  assert.equal((await admin.patch(`/nodes/${id}`, { roomId: 'booth' })).status, 200)
  assert.equal(await ask(), 403, 'it stands in the booth')
  assert.equal((await admin.patch(`/nodes/${id}`, { roomId: null })).status, 200)
  const assignments = [{ channelIndexes: [1], interfaceId: a, roomId: null }]
  assert.equal((await admin.put(`/nodes/${id}/channel-rooms`, { assignments })).status, 200)
  assert.equal(await ask(), 403, 'one channel is in no room')
  const other = [{ channelIndexes: [1, 2], interfaceId: a, roomId: 'cellar' }]
  assert.equal((await admin.put(`/nodes/${id}/channel-rooms`, { assignments: other })).status, 200)
  assert.equal(await ask(), 403, 'nothing of its own site')
})

test('facts of a device are corrected by who holds the recorder whole, labels by who has the channel', async () => {
  const { a, admin, b, id, tech } = w
  const south = tech('south', ['site', 'South'])
  const at = `/nodes/${id}/interfaces/${b}`
  for (const facts of [
    { systemRef: 'hw:1,0' },
    { systemRef: 'hw:9,0' },
    { systemName: 'DevA' },
    { hardwarePath: '/sys/1' },
    { serialNumber: '7' },
    { sampleRates: [8000] },
  ])
    refused(await south.patch(at, facts), JSON.stringify(facts))
  const unchanged = { hardwarePath: null, sampleRates: [48_000], systemName: 'DevB', systemRef: 'hw:2,0' }
  const named = await south.patch(at, { ...unchanged, alias: 'Cellar desk', channels: [{ alias: 'Left', index: 1 }] })
  assert.equal(named.status, 200, named.text)
  const shared = { channelIndexes: [2], interfaceId: a, roomId: 'cellar' }
  assert.equal((await admin.put(`/nodes/${id}/channel-rooms`, { assignments: [shared] })).status, 200)
  const label = (index: number) => ({ channels: [{ alias: 'Ours', index }] })
  const desk = `/nodes/${id}/interfaces/${a}`
  assert.equal((await south.patch(desk, label(2))).status, 200)
  refused(await south.patch(desk, label(1)), 'a channel of the hall')
})

test('no two interfaces of a recorder open one device', async () => {
  const { admin, b, id } = w
  for (const systemRef of ['hw:1,0', ' hw:1,0 ', 'plughw:1,0', 'hw:1', 'plughw:DEV=0,CARD=1', 'alsa:hw:1,0']) {
    const answer = await admin.patch(`/nodes/${id}/interfaces/${b}`, { systemRef })
    assert.deepEqual([answer.status, answer.json.reason], [409, 'system_ref_in_use'], systemRef)
  }
  for (const systemRef of ['hw:1,1', 'plughw:2,0', 'hw:CARD=Desk,DEV=1', 'test:1', 'hw:2,0'])
    assert.equal((await admin.patch(`/nodes/${id}/interfaces/${b}`, { systemRef })).status, 200, systemRef)
})

const SSH = generateSshKey('svc-test')
const code = async (person: ReturnType<Kit['as']>, id: string): Promise<string> =>
  (await person.post(`/nodes/${id}/pairing-code`, {})).json.data.code
const token = async (person: ReturnType<Kit['as']>, id: string): Promise<string> =>
  (await person.post(`/nodes/${id}/bootstrap-token`, {})).json.data.token

/** What pairing, checking and joining answer. */
async function spend(id: string, pairing: string, bootstrap: string): Promise<number[]> {
  const paired = await k.anonymous.post('/nodes/pair', { code: pairing })
  const checked = await k.bearer(bootstrap).get(`/nodes/${id}/bootstrap`)
  const joined = await k.bearer(bootstrap).post(`/nodes/${id}/bootstrap`, SSH)
  return [paired.status, checked.status, joined.status]
}

test('a code and a token count as long as who had them made could make them', async () => {
  const owner = k.as('owner')
  const ends: Record<string, () => Promise<{ status: number }>> = {
    disabled: () => owner.patch('/auth/users/north/status', { disabled: true }),
    'another role': () => owner.patch('/auth/users/north/access', { roles: ['viewer'] }),
    'no grant': () => owner.patch('/auth/users/north/access', { resourceGrants: [], roles: ['technician'] }),
    'one room': () =>
      owner.patch('/auth/users/north/access', {
        ...{ resourceGrants: [{ resourceId: 'hall', resourceType: 'room' }], roles: ['technician'] },
      }),
    deleted: () => owner.delete('/auth/users/north'),
  }
  const north = w.tech('north', ['site', 'North'])
  for (const [how, end] of Object.entries(ends)) {
    await owner.patch('/auth/users/north/status', { disabled: false })
    await owner.patch('/auth/users/north/access', {
      ...{ resourceGrants: [{ resourceId: 'North', resourceType: 'site' }], roles: ['technician'] },
    })
    k.sql("UPDATE sessions SET revoked_at = NULL WHERE user_id = 'north'")
    const made = [await code(north, w.id), await token(north, w.id)] as const
    assert.ok(made.every(Boolean), how)
    assert.ok((await end()).status < 300, how)
    assert.deepEqual(await spend(w.id, ...made), [401, 401, 401], how)
  }
  assert.deepEqual(k.rows('SELECT 1 FROM pairing_codes'), [])
})

test('the spending of a code or token says who had it made', async () => {
  const north = w.tech('north', ['site', 'North'])
  assert.deepEqual(await spend(w.id, await code(north, w.id), await token(north, w.id)), [200, 200, 201])
  const told = k.rows(
    `SELECT action, details ->> '$.issuedBy' AS by FROM audit_events
      WHERE action IN ('nodes.pairing.completed', 'nodes.bootstrap.completed') ORDER BY seq`,
  )
  assert.deepEqual(told, [
    { action: 'nodes.pairing.completed', by: 'north' },
    { action: 'nodes.bootstrap.completed', by: 'north' },
  ])
})

test('new credentials and another site end open codes and tokens', async () => {
  const { admin, id } = w
  const deeds: Record<string, () => Promise<{ status: number }>> = {
    rotated: () => admin.post(`/nodes/${id}/credentials/rotate`),
    moved: () => admin.patch(`/nodes/${id}`, { location: { site: 'South' } }),
  }
  for (const [how, deed] of Object.entries(deeds)) {
    const made = [await code(admin, id), await token(admin, id)] as const
    assert.ok((await deed()).status < 300, how)
    assert.deepEqual(await spend(id, ...made), [401, 401, 401], how)
  }
  const made = [await code(admin, id), await token(admin, id)] as const
  assert.equal((await admin.patch(`/nodes/${id}`, { alias: 'Box', location: { site: 'South' } })).status, 200)
  assert.deepEqual(await spend(id, ...made), [200, 200, 201], 'nothing moved')
})
