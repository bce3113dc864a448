// Interfaces of an enrollment are placeholders until the node reports what it has.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateSshKey } from '../../../../src/crypto/sshkey.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const found = (name: string) => ({
  alias: name,
  backend: 'alsa',
  channelCount: 2,
  systemName: name,
  systemRef: `hw:CARD=${name},DEV=0`,
})

const interfacesOf = async (k: Kit, id: string) =>
  (await k.as('admin').get(`/nodes/${id}`)).json.data.interfaces.map(
    (i: { absent?: boolean; alias: string; systemRef: string }) => [i.alias, i.systemRef, i.absent ?? false],
  )

test('what the hardware has keeps its label, what it does not have is gone with the first inventory', async () => {
  const k = kit()
  const entered = [
    { alias: 'Lectern', systemRef: 'hw:CARD=Desk,DEV=0' },
    {
      alias: 'Ceiling',
      channels: [
        { alias: 'Left', index: 1 },
        { alias: 'Right', index: 2 },
      ],
    },
    { alias: 'Anything' },
  ]
  const { agent, id, node } = await k.enroll('Hall', { interfaces: entered })
  assert.deepEqual(
    node.interfaces.map((i: { channelCount: number; systemName: string }) => [i.systemName, i.channelCount]),
    [
      ['hw:CARD=Desk,DEV=0', 0],
      ['Ceiling', 2],
      ['Anything', 0],
    ],
  )
  const { json } = await agent.post(`/nodes/${id}/inventory`, { interfaces: [found('Desk')] })
  assert.deepEqual([json.data.changed, json.data.summary.removed], [true, ['Ceiling', 'Anything']])
  assert.deepEqual(await interfacesOf(k, id), [['Lectern', 'hw:CARD=Desk,DEV=0', false]])
  assert.equal((await k.as('admin').get('/nodes?q=ceiling')).json.data.length, 0)
  // What was reported once is no placeholder: it is flagged, not removed.
  const gone = await agent.post(`/nodes/${id}/inventory`, { interfaces: [] })
  assert.deepEqual(gone.json.data.summary.removed, undefined)
  assert.deepEqual(await interfacesOf(k, id), [['Lectern', 'hw:CARD=Desk,DEV=0', true]])
  await k.close()
})

test('a bootstrap is a first contact', async () => {
  const k = kit()
  const { id } = await k.enroll('Hall', { interfaces: [{ alias: 'Anything' }] })
  const { token } = (await k.as('admin').post(`/nodes/${id}/bootstrap-token`, {})).json.data
  const key = generateSshKey('svc-test')
  const joined = await k.bearer(token).post(`/nodes/${id}/bootstrap`, { interfaces: [found('Desk')], ...key })
  assert.equal(joined.status, 201, joined.text)
  assert.deepEqual(await interfacesOf(k, id), [['Desk', 'hw:CARD=Desk,DEV=0', false]])
  await k.close()
})

test('a placeholder that somebody has built on stays as absent, and goes when nothing needs it any more', async () => {
  const k = kit()
  const { agent, id, node } = await k.enroll('Hall', { interfaces: [{ alias: 'Ceiling', channelCount: 2 }] })
  await k.as('admin').post('/rooms', { id: 'hall', name: 'Hall', site: 'North' })
  const put = (roomId: string | null) =>
    k.as('admin').put(`/nodes/${id}/channel-rooms`, {
      assignments: [{ channelIndexes: [1], interfaceId: node.interfaces[0].id, roomId }],
    })
  assert.equal((await put('hall')).status, 200)
  const report = () => agent.post(`/nodes/${id}/inventory`, { interfaces: [found('Desk')] })
  assert.deepEqual((await report()).json.data.summary.absent, ['Ceiling'])
  assert.deepEqual(await interfacesOf(k, id), [
    ['Ceiling', 'Ceiling', true],
    ['Desk', 'hw:CARD=Desk,DEV=0', false],
  ])
  await put(null)
  assert.deepEqual((await report()).json.data.summary.removed, ['Ceiling'])
  assert.deepEqual(await interfacesOf(k, id), [['Desk', 'hw:CARD=Desk,DEV=0', false]])
  await k.close()
})
