import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

const HEADER =
  'id,alias,status,site,building,floor,room,hostname,ip_addresses,agent_version,last_seen_at,os_name,kernel_release,' +
  'architecture,audio_backends,max_concurrent_recordings,interface_count,interfaces,tags,notes'

test('an export has a line a node with everything known of it, and is no formula', async () => {
  const k = kit()
  const { id } = await k.enroll('=Hall', {
    ipAddresses: ['10.0.0.1', '10.0.0.2'],
    notes: 'two, "loud"',
    runtime: { architecture: 'x86_64', audioBackends: ['alsa', 'jack'], kernelRelease: '6.1', osName: 'Debian' },
    tags: ['a', 'b'],
    interfaces: [
      {
        alias: 'Desk',
        systemName: 'USB',
        backend: 'alsa',
        channelCount: 2,
        sampleRates: [44100, 48000],
        serialNumber: 'S1',
        hardwarePath: '/sys/1',
      },
      { alias: 'Line', systemName: 'PCI', channelCount: 1 },
    ],
  })
  const answer = await k.as('admin').get('/nodes/export')
  assert.equal(
    answer.headers.get('content-disposition'),
    `attachment; filename="svc-nodes-${k.now().replaceAll(':', '-')}.csv"`,
  )
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.deepEqual(
    answer.text.split('\n'),
    [
      HEADER,
      `${id},'=Hall,provisioning,North,,,Hall,=hall.local,10.0.0.1; 10.0.0.2,unknown,${k.now()},Debian,6.1,x86_64,alsa; jack,1,2,` +
        'Desk [alsa] USB channels=2 rates=44100/48000 serial=S1 path=/sys/1; Line [unknown] PCI channels=1,a; b,"two, ""loud"""',
    ].map((line) => line.replace(',=hall.local', ",'=hall.local")),
  )
  await k.close()
})

test('the list filters an export, and pages do not', async () => {
  const k = kit()
  for (const alias of ['A', 'B', 'C'])
    await k.enroll(alias, { location: { site: alias === 'C' ? 'South' : 'North', room: 'x' } })
  const admin = k.as('admin')
  const aliases = (text: string) =>
    text
      .split('\n')
      .slice(1)
      .map((line) => line.split(',')[1])
  assert.deepEqual(aliases((await admin.get('/nodes/export?limit=1&offset=1')).text), ['A', 'B', 'C'])
  assert.deepEqual(aliases((await admin.get('/nodes/export?site=north&q=b.local')).text), ['B'])
  const ann = k.person('ann', ['viewer'], [['site', 'South']])
  assert.deepEqual(aliases((await ann.get('/nodes/export')).text), ['C'])
  assert.equal((await admin.get('/nodes/export?page=1')).status, 400)
  await k.close()
})

test('chosen nodes come once, in the order asked for; one that is not visible refuses all', async () => {
  const k = kit()
  const { id: a } = await k.enroll('A')
  const { id: b } = await k.enroll('B', { location: { site: 'South', room: 'x' } })
  const chosen = async (principal: ReturnType<typeof k.person>, nodeIds: unknown) =>
    principal.post('/nodes/export', { nodeIds })
  const ids = (text: string) =>
    text
      .split('\n')
      .slice(1)
      .map((line) => line.split(',')[0])
  assert.deepEqual(ids((await chosen(k.as('admin'), [b, a, b])).text), [b, a])
  k.forget()
  const ann = k.person('ann', ['viewer'], [['site', 'South']])
  assert.equal((await chosen(ann, [b, a])).status, 404)
  assert.deepEqual(ids((await chosen(ann, [b])).text), [b])
  for (const nodeIds of [[], 'x', Array(201).fill(a), undefined]) assert.equal((await chosen(ann, nodeIds)).status, 400)
  assert.deepEqual(k.trail().slice(0, 4), [
    'nodes.export_selected allowed',
    'nodes.export_selected.failed denied node_not_visible',
    'nodes.export_selected allowed',
    'nodes.export_selected.succeeded succeeded',
  ])
  await k.close()
})

test('a search finds every word of a node, its interfaces and channels, in any case and script', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, node, agent } = await k.enroll('Große Aula', { notes: '会議室 links', tags: ['Orgel'] })
  await k.enroll('Other')
  const found = async (q: string) =>
    (await admin.get(`/nodes?q=${encodeURIComponent(q)}`)).json.data.map((n: { id: string }) => n.id)
  for (const q of ['GROSSE'.replace('SS', 'ß'), 'aula', '会議', 'orgel', 'ORGEL', id])
    assert.deepEqual(await found(q), [id], q)
  assert.equal((await found('hw:card=desk')).length, 2)
  assert.deepEqual(await found('%'), [])
  await admin.patch(`/nodes/${id}/interfaces/${node.interfaces[0].id}`, {
    channels: [{ alias: 'Rednerpult', index: 2 }],
  })
  assert.deepEqual(await found('rednerpult'), [id])
  await agent.post(`/nodes/${id}/heartbeat`, {
    agentVersion: 'agent-9',
    hostname: 'neu',
    runtime: { osName: 'Trixie', uptimeSeconds: 77777 },
  })
  assert.deepEqual([await found('trixie'), await found('77777')], [[id], []])
  assert.deepEqual(await found('online'), [id])
  await admin.patch(`/nodes/${id}`, { notes: null })
  assert.deepEqual(await found('会議'), [])
  await agent.post(`/nodes/${id}/inventory`, {
    interfaces: [{ alias: 'n', systemName: 'Fresh card', channelCount: 1 }],
  })
  assert.deepEqual(await found('fresh card'), [id])
  await k.close()
})
