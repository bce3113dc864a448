// What is heard and seen now: meters, live audio, tickets; and that a right taken away ends all of it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { reading } from '../kit/reading.ts'
import { type Caller, callers, may } from './callers.ts'
import { type Name, ok, type World, wav, world } from './world.ts'

let w: World
let people: Map<string, Caller>
before(async () => {
  w = await world()
  people = await callers(w)
})
after(() => w.k.close())

const client = (id: string) => (people.get(id) as Caller).client
const rec = (key: string): string => w.library[key]?.id as string
const path = (url: string): string => url.replace('/api/v1', '')

const quality = (peerChannelIndex: number) => ({
  ...{ crestFactorDb: 10, noiseScore: 0.1, speechLike: true, speechScore: 0.5, zeroCrossingRate: 0.1 },
  channelCorrelation: { peerChannelIndex, phase: 'same', score: 0.9 },
})
const level = (channelIndex: number) => ({
  ...{ channelIndex, clipping: false, label: `zzlabel-${channelIndex}`, peakDbfs: -12, rmsDbfs: -20 },
  // Each is like its neighbour in the other room: 1 and 3, 2 and 4.
  quality: quality(((channelIndex + 1) % 4) + 1),
})
const ofDesk = (): Name[] => [`node ${w.nodes.desk.id}`, 'site North']
const ROOM_OF = ['hall', 'hall', 'booth', 'booth']

/** Channels of the shared device the caller may see, by the rules of docs/contract/access.md: Visible sets. */
function channelsOf(c: Caller, permission = 'node:read'): number[] {
  if (!may(c, permission, [...ofDesk(), 'room hall', 'room booth'])) return []
  const { main } = w.nodes.devices
  return [1, 2, 3, 4].filter((index) =>
    may(c, permission, [`channel ${main}:${index}`, `interface ${main}`, ...ofDesk(), `room ${ROOM_OF[index - 1]}`]),
  )
}

const meter = (interfaceId: string, capturedAt = w.k.now(), channels = [1, 2, 3, 4]) => {
  const { agent, id } = w.nodes.desk
  return agent.post(`/nodes/${id}/meter-frame`, { capturedAt, interfaceId, levels: channels.map(level), nodeId: id })
}

test('meters show the levels of channels in reach, of no other one, and no likeness to another one', async () => {
  const { devices, desk } = w.nodes
  ok(await meter(devices.main), 202)
  for (const c of people.values()) {
    const answer = await c.client.get(`/nodes/${desk.id}/meters`)
    const visible = channelsOf(c)
    const open = may(c, 'node:read', [...ofDesk(), 'room hall', 'room booth'])
    assert.equal(answer.status, open ? 200 : 403, c.id)
    if (!open) continue
    const { levels } = answer.json.data as { levels: ReturnType<typeof level>[] }
    assert.deepEqual(
      levels.map((l) => l.channelIndex),
      visible,
      c.id,
    )
    for (const { quality: q } of levels) {
      const peer = q.channelCorrelation?.peerChannelIndex
      assert.ok(peer === undefined || visible.includes(peer), `${c.id} is told of channel ${peer}`)
    }
    const metrics = await c.client.get('/metrics')
    const told = [...metrics.text.matchAll(/^svc_input_rms_dbfs\{.*channel="(\d+)"/gm)].map(([, n]) => Number(n))
    if (metrics.status === 200) assert.deepEqual(told.sort(), visible, `${c.id} metrics`)
    const peers = [...metrics.text.matchAll(/peer_channel="(\d+)"/g)].map(([, n]) => Number(n))
    assert.ok(
      peers.every((n) => visible.includes(n)),
      `${c.id} metrics tell of ${peers}`,
    )
  }
  // The second device is in no room at all.
  ok(await meter(devices.spare, w.k.now(), [1, 2]), 202)
  assert.deepEqual(
    (await client('op-hall').get(`/nodes/${desk.id}/meters?interfaceId=${devices.spare}`)).json.data.levels,
    [],
  )
})

test('the stream of meters shows the same, and nothing of other nodes', async () => {
  const { devices, desk, vault } = w.nodes
  const open = async (id: string) => {
    const headers = { authorization: `Bearer ${client(id).token}` }
    return reading(await w.k.app.request('/api/v1/meter-events', { headers }))
  }
  w.k.advance('1m')
  const streams = await Promise.all(['op-hall', 'op-south', 'op-desk', 'owner-no-desk'].map(open))
  const [hall, south, whole, refused] = streams as [
    Awaited<ReturnType<typeof open>>,
    (typeof streams)[0],
    (typeof streams)[0],
    (typeof streams)[0],
  ]
  const first = streams.map(
    (feed) => feed.event('meter') as Promise<{ levels: { channelIndex: number }[]; nodeId: string }>,
  )
  // What nobody of them sees whole comes first: were it sent, it would be the first event.
  ok(await meter(devices.spare, w.k.now(), [1, 2]), 202)
  ok(await meter(devices.main), 202)
  const frame = { capturedAt: w.k.now(), interfaceId: devices.cellar, levels: [level(1)], nodeId: vault.id }
  ok(await vault.agent.post(`/nodes/${vault.id}/meter-frame`, frame), 202)
  const [a, b, c, d] = (await Promise.all(first)) as Awaited<(typeof first)[0]>[]
  const told = (e: (typeof first)[0] extends Promise<infer T> ? T | undefined : never) =>
    `${e?.nodeId} ${e?.levels.map((l) => l.channelIndex)}`
  assert.deepEqual([told(a), told(b), told(d)], [`${desk.id} 1,2`, `${vault.id} 1`, `${vault.id} 1`])
  assert.equal(told(c), `${desk.id} 1,2`, 'the whole node, its second device first')
  for (const feed of [hall, south, whole, refused]) await feed.cancel()
})

test('live audio of a shared node is for who may hear every channel', async () => {
  const { desk } = w.nodes
  const chunk = { 'content-type': 'audio/wav', 'x-svc-duration-ms': '100' }
  ok(await desk.agent.post(`/nodes/${desk.id}/listen/chunk`, wav(), chunk), 202)
  for (const c of people.values()) {
    const whole = may(c, 'listen:monitor', ofDesk()) && channelsOf(c, 'listen:monitor').length === 4
    const start = await c.client.post(`/nodes/${desk.id}/listen`, {})
    assert.equal(start.status, whole ? 202 : 403, c.id)
    const stream = `/nodes/${desk.id}/listen/stream?sessionId=`
    if (!whole) {
      assert.equal((await c.client.get(`${stream}listen_1`)).status, 403, c.id)
      continue
    }
    const { sessionId } = start.json.data
    assert.equal((await c.client.get(stream + sessionId)).status, 200, c.id)
    // A session is of one person and one node.
    const [other] = [...people.values()].filter(
      (o) => o !== c && o.role === 'owner' && may(o, 'listen:monitor', [...ofDesk(), 'room hall', 'room booth']),
    )
    assert.equal((await other?.client.get(stream + sessionId))?.status, 404, c.id)
    assert.ok(
      [403, 404].includes(
        (await c.client.get(`/nodes/${w.nodes.loose.id}/listen/stream?sessionId=${sessionId}`)).status,
      ),
    )
  }
})

test('a ticket opens one recording for one person, and dies with the grant, a refusal, the session', async () => {
  const { k, owner } = w
  const ann = k.person('ann', ['operator'])
  const grant = async (...resourceGrants: object[]) =>
    ok(await owner.patch('/auth/users/ann/access', { resourceGrants, roles: ['operator'] }), 200)
  const hall = { resourceId: 'hall', resourceType: 'room' }
  await grant(hall)
  const media = ok(await ann.post(`/recordings/${rec('hall1')}/playback`), 202).json.data.mediaUrl as string
  const ticket = media.split('ticket=')[1] as string
  const open = () => k.anonymous.get(path(media)).then(({ status }) => status)
  assert.equal(await open(), 200)
  for (const other of [rec('booth1'), rec('hall2'), 'no-such-id'])
    assert.equal((await k.anonymous.get(`/recordings/${other}/stream?ticket=${ticket}`)).status, 401)
  for (const [other, status] of [
    ...[['', 401] as const, ['/waveform', 401] as const, ['/context', 401] as const],
    // Of this recording, but for playing only.
    ['/file', 403] as const,
  ])
    assert.equal((await k.anonymous.get(`/recordings/${rec('hall1')}${other}?ticket=${ticket}`)).status, status, other)
  await grant()
  assert.equal(await open(), 403)
  await grant(hall)
  assert.equal(await open(), 200)
  const kept = (await owner.get('/auth/access-policies')).json.data
  const deny = { effect: 'deny', resourceId: rec('hall1'), resourceType: 'recording', subjectType: 'everyone' }
  ok(await owner.patch('/auth/access-policies', { policies: [...kept, deny] }), 200)
  assert.equal(await open(), 403)
  ok(await owner.patch('/auth/access-policies', { policies: kept }), 200)
  assert.equal(await open(), 200)
  ok(await owner.patch('/auth/users/ann/status', { disabled: true }), 200)
  assert.equal(await open(), 401)
})

// Ways to take a right away, and what the next list then answers.
const ENDS: [what: string, take: (id: string, policies: object[]) => Promise<unknown>, status: number][] = [
  [
    'the grant is removed',
    (id) => w.owner.patch(`/auth/users/${id}/access`, { resourceGrants: [], roles: ['operator'] }),
    200,
  ],
  ['the role is changed', (id) => w.owner.patch(`/auth/users/${id}/access`, { roles: ['auditor'] }), 403],
  ['the user is disabled', (id) => w.owner.patch(`/auth/users/${id}/status`, { disabled: true }), 401],
  ['the session is revoked', (id) => w.owner.delete(`/auth/users/${id}/sessions/session-${id}`), 401],
  [
    'a refusal is added',
    (id, policies) => {
      const deny = { effect: 'deny', resourceId: 'booth', resourceType: 'room', subjectId: id, subjectType: 'user' }
      return w.owner.patch('/auth/access-policies', { policies: [...policies, deny] })
    },
    200,
  ],
  [
    'the group is left',
    async (id) => {
      const group = (await w.owner.get('/auth/groups')).json.data.find((g: { name: string }) => g.name === id)
      return w.owner.put(`/auth/groups/${group.id}/members`, { memberIds: [] })
    },
    200,
  ],
]

for (const [n, [what, take, status]] of ENDS.entries())
  test(`when ${what} lists show nothing more at once, and open streams end by their next look`, async () => {
    const { devices, desk } = w.nodes
    // Frames of the tests before are of the past: none opens the stream.
    w.k.advance('1m')
    const id = `leaver-${n}`
    const leaver = w.k.person(id, ['operator'])
    const kept = (await w.owner.get('/auth/access-policies')).json.data
    if (what === 'the group is left') {
      const group = ok(await w.owner.post('/auth/groups', { memberIds: [id], name: id }), 201).json.data.id
      const allow = {
        effect: 'allow',
        resourceId: desk.id,
        resourceType: 'node',
        subjectId: group,
        subjectType: 'group',
      }
      ok(await w.owner.patch('/auth/access-policies', { policies: [...kept, allow] }), 200)
    } else {
      const resourceGrants = [{ resourceId: desk.id, resourceType: 'node' }]
      ok(await w.owner.patch(`/auth/users/${id}/access`, { resourceGrants, roles: ['operator'] }), 200)
    }
    const policies = (await w.owner.get('/auth/access-policies')).json.data
    assert.equal((await leaver.get('/nodes')).json.data.length, 1)
    const chunk = { 'content-type': 'audio/wav', 'x-svc-duration-ms': '100' }
    ok(await desk.agent.post(`/nodes/${desk.id}/listen/chunk`, wav(), chunk), 202)
    const { sessionId } = ok(await leaver.post(`/nodes/${desk.id}/listen`, {}), 202).json.data
    const headers = { authorization: `Bearer ${leaver.token}` }
    const ask = (url: string) => w.k.app.request(`/api/v1${url}`, { headers })
    const meters = reading(await ask('/meter-events'))
    const audio = reading(await ask(`/nodes/${desk.id}/listen/stream?continuous=true&sessionId=${sessionId}`))
    ok(await meter(devices.main), 202)
    assert.ok(await meters.event('meter'))
    assert.ok(((await audio.bytes()) as Uint8Array).length > 0)

    const answer = (await take(id, policies)) as { status: number; text: string }
    assert.ok(answer.status < 300, answer.text)

    const list = await leaver.get('/nodes')
    const played = await leaver.get(`/nodes/${desk.id}/listen/stream?sessionId=${sessionId}`)
    assert.equal(list.status, status)
    if (status === 200) assert.ok(!list.json.data.some((node: { id: string }) => node.id === desk.id))
    assert.equal(played.status, status === 401 ? 401 : 403)
    // The look comes every few seconds of the clock: a frame after it shows nothing more of the node.
    w.k.advance('6s')
    ok(await desk.agent.post(`/nodes/${desk.id}/listen/chunk`, wav(), chunk), 202)
    assert.equal(await audio.bytes(), undefined)
    ok(await meter(devices.main), 202)
    if (status === 200) {
      const mark = meters.event('meter')
      ok(
        await w.owner.patch(`/auth/users/${id}/access`, {
          resourceGrants: [{ resourceId: w.nodes.vault.id, resourceType: 'node' }],
          roles: ['operator'],
        }),
        200,
      )
      w.k.advance('6s')
      const frame = { capturedAt: w.k.now(), interfaceId: devices.cellar, levels: [level(1)], nodeId: w.nodes.vault.id }
      ok(await w.nodes.vault.agent.post(`/nodes/${w.nodes.vault.id}/meter-frame`, frame), 202)
      assert.equal(((await mark) as { nodeId: string }).nodeId, w.nodes.vault.id)
    } else assert.equal(await meters.event('meter'), undefined)
    await meters.cancel()
    await audio.cancel()
    ok(await w.owner.patch('/auth/access-policies', { policies: kept }), 200)
  })
