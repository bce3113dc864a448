import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateSshKey } from '../../../../src/crypto/sshkey.ts'
import { SetupFile } from '../../../../src/wire/provision.ts'
import { kit } from '../../../kit/kit.ts'

const URL = 'https://controller.example'
const ROOMS = [
  { alias: 'Great Hall', site: 'North', room: 'Hall' },
  { alias: 'Studio', site: 'South', room: 'Studio', hostname: 'studio-box', match: { mac: '00:11:22:AA:BB:CC' } },
]

test('a stick for several rooms is enrolled, minted and answered in one transaction', async () => {
  const k = kit()
  const known = await k.enroll('Old box')
  k.forget()
  const nodes = [...ROOMS, { nodeId: known.id }]
  const nodeless = { effect: 'deny', subjectType: 'user', subjectId: 'ann', resourceType: 'node', resourceId: known.id }
  await k.as('owner').patch('/auth/access-policies', { policies: [nodeless] })
  const ann = k.person('ann', ['admin'])
  const answer = await ann.post('/nodes/bootstrap-config', { controllerUrl: URL, nodes })
  // A node that ann may not see: naming it is refused, and nothing of the rest is made.
  assert.equal(answer.status, 404)
  assert.deepEqual(k.rows('SELECT count(*) AS n FROM nodes'), [{ n: 1 }])
  assert.deepEqual(k.rows('SELECT count(*) AS n FROM bootstrap_tokens'), [{ n: 0 }])
  k.forget()

  const { status, json, headers } = await k.as('admin').post('/nodes/bootstrap-config', {
    controllerUrl: `${URL}/`,
    nodes,
    ttlSeconds: 3600,
    writeBack: true,
  })
  assert.equal(status, 201)
  assert.equal(headers.get('cache-control'), 'no-store')
  const file = SetupFile.parse(json.data)
  assert.equal(file.controllerUrl, URL)
  assert.equal(file.writeBack, true)
  assert.deepEqual(
    file.nodes.map((n) => [n.alias, n.site, n.room, n.expiresAt, n.match]),
    [
      ['Great Hall', 'North', 'Hall', '2026-03-02T10:00:00.000Z', undefined],
      ['Studio', 'South', 'Studio', '2026-03-02T10:00:00.000Z', { mac: '00:11:22:aa:bb:cc' }],
      ['Old box', 'North', 'Hall', '2026-03-02T10:00:00.000Z', undefined],
    ],
  )
  assert.equal(file.nodes[2]?.nodeId, known.id)
  assert.deepEqual(k.rows('SELECT hostname FROM nodes WHERE id <> ? ORDER BY alias', known.id), [
    { hostname: 'great-hall' },
    { hostname: 'studio-box' },
  ])
  assert.deepEqual(k.trail(), [
    'nodes.bootstrap_config.issue allowed',
    'nodes.enroll.succeeded succeeded',
    'nodes.bootstrap_token.issue.succeeded succeeded',
    'nodes.enroll.succeeded succeeded',
    'nodes.bootstrap_token.issue.succeeded succeeded',
    'nodes.bootstrap_token.issue.succeeded succeeded',
  ])
  const audit = JSON.stringify(k.rows('SELECT * FROM audit_events'))
  for (const { bootstrapToken } of file.nodes) assert.ok(!audit.includes(bootstrapToken))
  // The node that exists keeps its token until the box really joins.
  assert.equal((await known.agent.get(`/nodes/${known.id}/config`)).status, 200)
  await k.close()
})

test('each token of a stick opens the door of its own node, once', async () => {
  const k = kit()
  const { json } = await k.as('admin').post('/nodes/bootstrap-config', { controllerUrl: URL, nodes: ROOMS })
  const [hall, studio] = SetupFile.parse(json.data).nodes
  assert.ok(hall && studio)
  const join = (nodeId: string, token: string) =>
    k.bearer(token).post(`/nodes/${nodeId}/bootstrap`, { ...generateSshKey('box'), username: 'svc' })
  const look = (nodeId: string, token: string) => k.bearer(token).get(`/nodes/${nodeId}/bootstrap`)
  // Looking is free, and tells what joining would say.
  for (const _ of [1, 2])
    assert.deepEqual((await look(hall.nodeId, hall.bootstrapToken)).json, { data: { nodeId: hall.nodeId } })
  assert.equal((await look(studio.nodeId, hall.bootstrapToken)).status, 401)
  assert.equal((await join(studio.nodeId, hall.bootstrapToken)).status, 401)
  assert.equal((await join(hall.nodeId, hall.bootstrapToken)).status, 201)
  assert.equal((await join(hall.nodeId, hall.bootstrapToken)).status, 401)
  assert.equal((await look(hall.nodeId, hall.bootstrapToken)).status, 401)
  k.advance('25h')
  assert.equal((await join(studio.nodeId, studio.bootstrapToken)).status, 401)
  await k.close()
})

test('a request that cannot become one file is refused in words, and makes nothing', async () => {
  const k = kit()
  const known = await k.enroll('Old box')
  const ask = (body: object) => k.as('admin').post('/nodes/bootstrap-config', { controllerUrl: URL, ...body })
  const long = (text: string) => text.repeat(160)
  const bad: [object, RegExp][] = [
    [{ nodes: [] }, /nodes/],
    [{ nodes: ROOMS, controllerUrl: 'http://controller.example' }, /allowInsecure/],
    [{ nodes: ROOMS, controllerUrl: 'https://me:secret@controller.example' }, /user name/],
    [{ nodes: ROOMS, ttlSeconds: 86_401 }, /ttlSeconds/],
    [{ nodes: [{ nodeId: known.id }, { nodeId: known.id }] }, /named twice/],
    [{ nodes: [{ ...ROOMS[0], match: {} }] }, /hostname, mac or serial/],
    [{ nodes: ROOMS, controllerCa: 'not a certificate' }, /PEM/],
    [{ nodes: [{ ...ROOMS[0], room: 'Hall\nSVC_NODE_ID=other' }] }, /line breaks/],
    [
      { nodes: Array.from({ length: 64 }, () => ({ alias: long('雪'), site: long('雪'), room: long('雪') })) },
      /one file/,
    ],
  ]
  for (const [body, why] of bad) {
    const answer = await ask(body)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, why)
  }
  assert.deepEqual(k.rows('SELECT count(*) AS n FROM nodes'), [{ n: 1 }])
  assert.equal((await k.as('viewer').post('/nodes/bootstrap-config', { controllerUrl: URL, nodes: ROOMS })).status, 403)
  await k.close()
})
