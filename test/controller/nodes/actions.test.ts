import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../kit/kit.ts'

type States = Record<string, { enabled: boolean; href?: string; reason?: string }>
const reasons = (actions: States) =>
  Object.fromEntries(Object.entries(actions).map(([name, { enabled, reason }]) => [name, enabled || reason]))

test('a node shows what can be done with it, and why not', async () => {
  const k = kit()
  const { id, agent, node } = await k.enroll()
  const read = async (who = k.as('admin')) => (await who.get(`/nodes/${id}/actions`)).json.data
  const fresh = await read()
  assert.deepEqual(reasons(fresh.actions), {
    detail: true,
    editNode: true,
    health: true,
    listen: 'node_provisioning',
    meters: 'meter_frame_not_found',
    rotateCredential: true,
    startRecording: 'node_provisioning',
  })
  assert.deepEqual(fresh.monitor, { available: false })
  assert.equal(fresh.node.id, id)
  const base = `/api/v1/nodes/${id}`
  assert.deepEqual(fresh.links, {
    credentialsRotate: `${base}/credentials/rotate`,
    detail: base,
    healthEvents: `/api/v1/health-events?nodeId=${id}`,
    interfaces: [{ href: `${base}/interfaces/${node.interfaces[0].id}`, id: node.interfaces[0].id }],
    listenStart: `${base}/listen`,
    meters: `${base}/meters`,
    recordingStart: '/api/v1/recordings',
    update: base,
  })
  await agent.post(`/nodes/${id}/heartbeat`, { agentVersion: '1', hostname: 'h' })
  const live = (await read()).actions
  assert.deepEqual([live.listen.reason, live.startRecording.enabled], ['monitor_source_unavailable', true])
  const frame = {
    capturedAt: k.now(),
    interfaceId: node.interfaces[0].systemRef,
    levels: [{ channelIndex: 1, clipping: false, label: 'L', peakDbfs: -10, rmsDbfs: -20 }],
    nodeId: id,
  }
  assert.equal((await agent.post(`/nodes/${id}/meter-frame`, frame)).status, 202)
  const heard = await read()
  assert.deepEqual(heard.monitor, { available: true, capturedAt: frame.capturedAt, source: 'meter_frame' })
  assert.deepEqual([heard.actions.listen.enabled, heard.actions.meters.enabled], [true, true])
  k.advance('5m')
  assert.deepEqual(reasons((await read()).actions).startRecording, 'node_offline')
  const viewer = k.person('ann', ['viewer'], [['node', id]])
  const seen = reasons((await read(viewer)).actions)
  assert.deepEqual(
    [seen.detail, seen.editNode, seen.listen, seen.startRecording],
    [true, 'missing_permission', 'missing_permission', 'missing_permission'],
  )
  assert.equal((await k.as('admin').get('/nodes/none/actions')).status, 404)
  await k.close()
})
