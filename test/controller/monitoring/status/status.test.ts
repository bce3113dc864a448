import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { makers } from './world.ts'

function world() {
  const k = kit()
  const make = makers(k)
  make.node('n1')
  make.node('n2', 'degraded')
  make.node('n3', 'online', '2026-03-02T08:00:00.000Z', { site: 'South' })
  make.node('n4', 'alerting', undefined, { site: 'South' })
  make.node('n5', 'recording', undefined, { site: 'South' })
  for (const [n, status] of ['queued', 'recording', 'completed', 'failed', 'cached', 'uploaded', 'partial'].entries())
    make.recording(`r${n}`, status, { node_id: n < 4 ? 'n1' : 'n5' })
  for (const id of ['r4', 'r5']) make.file(id)
  make.upload('u1', 'r4', 's3', 'failed')
  make.upload('u2', 'r4', 'smb', 'queued')
  make.upload('u3', 'r1', 's3', 'failed')
  make.job('j1', 'r2', 'n1', 'stop_requested')
  make.event('h1', 'x', 'critical', 'open', { node_id: 'n1' })
  make.event('h2', 'x', 'warning', 'acknowledged', { node_id: 'n1' })
  make.event('h3', 'x', 'warning', 'suppressed', { recording_id: 'r5' })
  make.event('h4', 'x', 'info', 'open', { recording_id: 'r5' })
  make.event('h5', 'x', 'critical', 'resolved', { node_id: 'n1' })
  return k
}

const EVERYTHING = {
  ...{ acknowledgedAlerts: 1, activeRecordings: 2, alertingNodes: 1, cachedRecordings: 2, completedRecordings: 1 },
  ...{
    criticalAlerts: 1,
    degradedNodes: 1,
    failedRecordings: 1,
    failedUploads: 2,
    nodeCount: 5,
    offlineNodes: 1,
    onlineNodes: 1,
  },
  ...{
    openAlerts: 2,
    provisioningNodes: 0,
    queuedRecordings: 1,
    recordingNodes: 1,
    suppressedAlerts: 1,
    totalRecordings: 7,
  },
  ...{ unresolvedAlerts: 4, uploadedRecordings: 1, warningAlerts: 2 },
}

test('the status counts everything, flat and below data alike', async () => {
  const k = world()
  k.advance('90s')
  k.sql("UPDATE nodes SET last_seen_at = ? WHERE id <> 'n3'", k.now())
  k.forget()
  const { json, status } = await k.as('admin').get('/status')
  assert.equal(status, 200)
  const { data, ...flat } = json
  assert.deepEqual(flat, data)
  const { recordingProfile, runners, startedAt, uptimeSeconds, version, watchdogPolicy, ...counts } = data
  assert.deepEqual(counts, EVERYTHING)
  assert.deepEqual([startedAt, uptimeSeconds], ['2026-03-02T09:00:00.000Z', 90])
  assert.ok(version)
  assert.equal(recordingProfile.id, 'voice-mp3-vbr')
  assert.equal(watchdogPolicy.id, 'scheduled-voice-watchdog')
  assert.ok(runners.length > 5)
  assert.deepEqual(k.trail(), ['status.read allowed', 'status.read.succeeded succeeded'])
  await k.close()
})

test('runners are told with their last run, its length and its result', async () => {
  const k = kit()
  const runner = async (name: string) =>
    (await k.as('admin').get('/status')).json.data.runners.find((r: { name: string }) => r.name === name)
  const idle = await runner('job-lease')
  assert.deepEqual(idle, { enabled: true, intervalSeconds: 10, name: 'job-lease', running: false })
  await k.tick('job-lease')
  const ran = await runner('job-lease')
  assert.deepEqual([ran.lastRunAt, typeof ran.lastDurationMs], [k.now(), 'number'])
  assert.ok('lastResult' in ran)
  await k.close()
})

test('a caller in scope is told of what is in scope, and not of the runners', async () => {
  const k = world()
  const { json } = await k.person('ann', ['operator'], [['site', 'South']]).get('/status')
  const told = json.data
  assert.deepEqual([told.nodeCount, told.offlineNodes, told.alertingNodes], [3, 1, 1])
  assert.deepEqual([told.totalRecordings, told.cachedRecordings, told.failedRecordings], [3, 2, 0])
  assert.deepEqual([told.activeRecordings, told.failedUploads], [0, 1])
  assert.deepEqual([told.unresolvedAlerts, told.warningAlerts], [2, 1])
  assert.equal(told.runners, undefined)
  const nobody = (await k.as('viewer').get('/status')).json.data
  assert.deepEqual([nobody.nodeCount, nobody.totalRecordings, nobody.unresolvedAlerts], [0, 0, 0])
  k.sql("INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'node', 'n1', NULL)")
  const refused = (await k.as('admin').get('/status')).json.data
  assert.deepEqual([refused.nodeCount, refused.totalRecordings, refused.unresolvedAlerts], [4, 3, 2])
  assert.equal(refused.runners, undefined)
  await k.close()
})

test('the default profile and policy are told to who may read settings, the first visible when not the built-in', async () => {
  const k = kit()
  const asked = async (name: string, grants: [string, string][]) =>
    (await k.person(name, ['viewer'], grants).get('/status')).json.data
  assert.equal((await asked('none', [])).recordingProfile, undefined)
  k.sql(`INSERT INTO recording_profiles SELECT 'own', 'Own', codec, bitrate_kbps, vbr, channel_mode, silence_detection, silence_skip,
    NULL, NULL, NULL, created_at, updated_at FROM recording_profiles WHERE id = 'voice-mp3-vbr'`)
  assert.equal((await asked('ann', [['recording_profile', 'own']])).recordingProfile.id, 'own')
  assert.equal((await asked('bob', [['recording_profile', '*']])).recordingProfile.id, 'voice-mp3-vbr')
  assert.equal(
    (await asked('cid', [['watchdog_policy', 'scheduled-voice-watchdog']])).watchdogPolicy.id,
    'scheduled-voice-watchdog',
  )
  await k.close()
})

test('who may not read nodes is refused', async () => {
  const k = kit()
  assert.equal((await k.as('auditor').get('/status')).status, 403)
  assert.equal((await k.anonymous.get('/status')).status, 401)
  await k.close()
})

test('nodes that await their first contact are counted', async () => {
  const k = kit()
  const { agent, id } = await k.enroll('New')
  await k.enroll('Newer')
  const counts = async () => {
    const { nodeCount, onlineNodes, provisioningNodes } = (await k.as('admin').get('/status')).json.data
    return [nodeCount, onlineNodes, provisioningNodes]
  }
  assert.deepEqual(await counts(), [2, 0, 2])
  await agent.post(`/nodes/${id}/heartbeat`, { agentVersion: '1', hostname: 'h' })
  assert.deepEqual(await counts(), [2, 1, 1])
  await k.close()
})
