import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

type States = Record<string, { enabled: boolean; href?: string; reason?: string }>
const reasons = (actions: States) =>
  Object.fromEntries(Object.entries(actions).map(([name, { enabled, reason }]) => [name, enabled || reason]))

const isPath = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replace(/:\w+/g, '[^/]+')}$`).test(path)

test('a node shows what can be done with it, and why not', async () => {
  const k = kit()
  const { id, agent, node } = await k.enroll()
  const read = async (principal = k.as('admin')) => (await principal.get(`/nodes/${id}/actions`)).json.data
  const fresh = await read()
  assert.deepEqual(reasons(fresh.actions), {
    bootstrapToken: true,
    detail: true,
    editNode: true,
    health: true,
    listen: 'node_provisioning',
    meters: 'meter_frame_not_found',
    pairingCode: true,
    revokeCredentials: true,
    rotateCredential: true,
    rotateSshCredential: true,
    sshCredential: true,
    startRecording: 'node_provisioning',
    ...{ installDependencies: true, restartService: true, rotateTrust: true },
    ...{ smokeCheck: true, uninstall: true, updateBinary: true },
  })
  assert.equal(fresh.actions.rotateTrust.href, `/api/v1/nodes/${id}/lifecycle/rotate_trust`)
  assert.deepEqual(fresh.monitor, { available: false })
  assert.equal(fresh.node.id, id)
  const base = `/api/v1/nodes/${id}`
  assert.deepEqual(fresh.links, {
    bootstrapToken: `${base}/bootstrap-token`,
    credentialsRevoke: `${base}/credentials/revoke`,
    credentialsRotate: `${base}/credentials/rotate`,
    detail: base,
    healthEvents: `/api/v1/health-events?nodeId=${id}`,
    interfaces: [{ href: `${base}/interfaces/${node.interfaces[0].id}`, id: node.interfaces[0].id }],
    lifecycle: `${base}/lifecycle`,
    listenStart: `${base}/listen`,
    meters: `${base}/meters`,
    pairingCode: `${base}/pairing-code`,
    recordingStart: '/api/v1/recordings',
    sshCredential: `${base}/ssh-credential`,
    sshCredentialRotate: `${base}/ssh-credential/rotate`,
    update: base,
  })
  await agent.post(`/nodes/${id}/heartbeat`, { agentVersion: '1', hostname: 'h' })
  const live = (await read()).actions
  assert.deepEqual([live.listen.enabled, live.startRecording.enabled], [true, true], 'no frame has come yet')
  // Every link of an action is a route of the controller.
  for (const { href, method } of Object.values(live) as { href?: string; method: string }[])
    if (href)
      assert.ok(
        k.routes.some(
          (r) => r.method === method && isPath(r.path, href.replace('/api/v1', '').split('?')[0] as string),
        ),
        href,
      )
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
