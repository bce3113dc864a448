import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { send } from '../listen/chunks.ts'
import { frame, level } from '../meters/frames.ts'
import { makers, scraped } from './world.ts'

const k = kit()
after(() => k.close())
const make = makers(k)
const AT = k.now()
const { id, agent, node } = await k.enroll()
const interfaceId: string = node.interfaces[0].id
make.node('n2')

/** docs/contract/api.md: Metrics, name, type, labels. */
const CONTRACT: [name: string, type: string, ...labels: string[]][] = [
  ['controller_started_at_seconds', 'gauge'],
  ['database_unavailable', 'gauge'],
  ['node_online', 'gauge', 'alias', 'node_id', 'room', 'site', 'status'],
  ['recording_active', 'gauge', 'node_id'],
  ['recording_cached', 'gauge', 'node_id'],
  ['recording_duration_seconds', 'gauge', 'node_id', 'recording_id', 'source', 'status'],
  ['recording_bytes_written', 'gauge', 'node_id', 'recording_id', 'source', 'status'],
  ['recording_jobs', 'gauge', 'node_id', 'status'],
  ...['rms_dbfs', 'peak_dbfs', 'clipping_ratio', 'speech_score', 'noise_score', 'broadband_noise_score', 'hum_score']
    .concat(['static_score', 'estimated_snr_db', 'intelligibility_score'])
    .map((name): [string, string, ...string[]] => [`input_${name}`, 'gauge', 'channel', 'interface_id', 'node_id']),
  ['input_channel_correlation_score', 'gauge', 'channel', 'interface_id', 'node_id', 'peer_channel', 'phase'],
  ['listen_monitor_chunk_age_seconds', 'gauge', 'node_id', 'source'],
  ['listen_monitor_chunk_duration_seconds', 'gauge', 'node_id', 'source'],
  ['audit_events_total', 'counter', 'action', 'actor_type', 'outcome', 'permission'],
  ['health_events_active', 'gauge', 'severity', 'status'],
  ['health_events_total', 'counter', 'event_type', 'severity', 'status'],
  ['recording_watchdog_alerts_active', 'gauge', 'severity'],
  ['recording_watchdog_alerts_total', 'counter', 'severity'],
  ['node_offline_alerts_active', 'gauge', 'node_id', 'severity', 'status'],
  ['device_xruns_active', 'gauge'],
  ['device_xruns_total', 'counter', 'severity'],
  ['upload_queue_depth', 'gauge', 'provider', 'status'],
  ['upload_queue_oldest_due_seconds', 'gauge', 'provider', 'status'],
  ['upload_failures_total', 'counter', 'provider'],
]

const labelsOf = (series: string): string[] =>
  [...series.matchAll(/[{,]([a-z_]+)="/g)].map(([, name]) => name as string).sort()

test('an empty fleet has every family with its help and its type', async () => {
  const empty = kit()
  const family = await scraped(empty.as('admin'))
  for (const [name, type] of CONTRACT) {
    assert.equal(family(name).type, type, name)
    assert.ok(family(name).help.length > 10, name)
  }
  await empty.close()
})

test('every family of the contract has its type and its labels', async () => {
  make.recording('r1', 'recording', { node_id: id })
  make.job('j1', 'r1', id, 'running', { started_at: AT })
  make.file('r1', 1000)
  k.sql(`INSERT INTO chunked_recordings (recording_id, job_id, changed_at) VALUES ('r1', 'j1', ?)`, AT)
  k.sql(
    `INSERT INTO recording_chunks (recording_id, idx, status, duration_seconds, created_at) VALUES ('r1', 1, 'cached', 1, ?)`,
    AT,
  )
  k.sql(`INSERT INTO recording_chunk_files VALUES ('r1', 1, 'primary', 'c', 'sha256:0', 500, 'audio/wav', ?, NULL)`, AT)
  make.event('h1', 'watchdog.node_offline', 'critical', 'open', { node_id: 'n2' })
  const { quality, ...bare } = level(2, { clipping: true })
  const first = level(1, { rmsDbfs: -31.5 })
  const correlated = { ...first.quality, channelCorrelation: { peerChannelIndex: 2, phase: 'inverted', score: -0.9 } }
  const sent = frame(id, interfaceId, 2, { levels: [{ ...first, quality: correlated as typeof quality }, bare] })
  assert.equal((await agent.post(`/nodes/${id}/meter-frame`, sent)).status, 202)
  assert.equal((await send(agent, id, 1)).status, 202)
  const family = await scraped(k.as('admin'))
  for (const [name, , ...labels] of CONTRACT) {
    const [series] = family(name).samples.keys()
    assert.ok(series !== undefined, `${name} has no series`)
    assert.deepEqual(labelsOf(series), [...labels].sort(), name)
  }
  const channel = (n: number) => `{channel="${n}",interface_id="${interfaceId}",node_id="${id}"}`
  assert.equal(family('input_rms_dbfs').samples.get(channel(1)), -31.5)
  assert.deepEqual([...family('input_clipping_ratio').samples.values()], [0, 1])
  assert.deepEqual([...family('input_hum_score').samples.keys()], [channel(1)])
  const pair = channel(1).replace('}', ',peer_channel="2",phase="inverted"}')
  assert.equal(family('input_channel_correlation_score').samples.get(pair), -0.9)
})

test('a recording in progress has its length and its bytes; one that ended has no series', async () => {
  make.recording('r2', 'cached', { node_id: id, duration_seconds: 90 })
  k.advance('30s')
  const family = await scraped(k.as('admin'))
  const series = `{node_id="${id}",recording_id="r1",source="ad_hoc",status="recording"}`
  assert.deepEqual([...family('recording_duration_seconds').samples], [[series, 30]])
  assert.deepEqual([...family('recording_bytes_written').samples], [[series, 1500]])
})

test('levels that are old are not levels any more, and those out of sight are not told', async () => {
  const seen = async (principal = k.as('admin')) =>
    [...(await scraped(principal))('input_peak_dbfs').samples.keys()].length
  assert.equal(await seen(), 2)
  assert.equal(await seen(k.person('bob', ['viewer'], [['node', 'n2']])), 0)
  assert.equal(await seen(k.person('ann', ['viewer'], [['node', id]])), 2)
  k.advance('2m')
  assert.equal(await seen(), 0)
})

test('made-up levels are not measured', async () => {
  const sent = frame(id, interfaceId, 1, { capturedAt: k.now(), synthetic: true })
  assert.equal((await agent.post(`/nodes/${id}/meter-frame`, sent)).status, 202)
  assert.equal((await scraped(k.as('admin')))('input_rms_dbfs').samples.size, 0)
})

test('live audio is told by node, the younger of its renditions; who listens only to who sees everything', async () => {
  assert.equal((await send(agent, id, 2, { ms: 500, rendition: 'enhanced' })).status, 202)
  const family = await scraped(k.as('admin'))
  const series = `{node_id="${id}",source="agent_audio_chunk"}`
  assert.deepEqual([...family('listen_monitor_chunk_age_seconds').samples], [[series, 0]])
  assert.deepEqual([...family('listen_monitor_chunk_duration_seconds').samples], [[series, 0.5]])
  assert.equal(family('listen_sessions_active').samples.get(''), 0)
  assert.equal(family('event_streams_active').samples.get(''), 0)
  const bob = await k.person('bob', ['viewer'], [['node', 'n2']]).get('/metrics')
  assert.ok(!/svc_(listen_sessions|event_streams)_active|agent_audio_chunk/.test(bob.text))
})

test('alarms: of silent recordings, of offline nodes, of lost samples; now and ever', async () => {
  make.event('w1', 'watchdog.scheduled_low_signal', 'critical', 'open', { recording_id: 'r1' })
  make.event('w2', 'watchdog.scheduled_low_signal', 'warning', 'suppressed', { recording_id: 'r1' })
  make.event('w3', 'watchdog.clipping', 'warning', 'open', { recording_id: 'r1' })
  make.event('x1', 'agent.meter.xrun', 'warning', 'open', { node_id: id })
  make.event('x2', 'agent.meter.xrun', 'warning', 'open', { node_id: id })
  k.sql(`UPDATE health_events SET status = 'resolved' WHERE id IN ('w1', 'x2')`)
  const family = await scraped(k.as('admin'))
  const of = (name: string) => Object.fromEntries(family(name).samples)
  assert.deepEqual(of('recording_watchdog_alerts_active'), { '{severity="warning"}': 1, '{severity="critical"}': 0 })
  assert.deepEqual(of('recording_watchdog_alerts_total'), { '{severity="warning"}': 0, '{severity="critical"}': 1 })
  assert.deepEqual(of('device_xruns_active'), { '': 1 })
  assert.equal(of('device_xruns_total')['{severity="warning"}'], 2)
  const offline = family('node_offline_alerts_active').samples
  assert.equal(offline.size, 2 * 2 * 3)
  assert.equal(offline.get('{node_id="n2",severity="critical",status="open"}'), 1)
  assert.equal(offline.get(`{node_id="${id}",severity="critical",status="open"}`), 0)
  const ever = family('health_events_total').samples
  assert.equal(ever.get('{event_type="agent.meter.xrun",severity="warning",status="open"}'), 2)
  assert.equal(ever.get('{event_type="agent.meter.xrun",severity="warning",status="resolved"}'), 1)
})

test('uploads: how many wait, since when, how many attempts failed', async () => {
  make.upload('u1', 'r2', 's3', 'queued', { next_attempt_at: '2026-03-02T09:01:00.000Z' })
  make.upload('u2', 'r2', 's3', 'queued', { next_attempt_at: '2026-03-02T10:00:00.000Z' })
  make.upload('u3', 'r2', 'smb', 'failed', { attempt_count: 3 })
  make.upload('u4', 'r2', 'smb', 'failed')
  const family = await scraped(k.as('admin'))
  const depth = family('upload_queue_depth').samples
  assert.equal(depth.size, 9)
  assert.equal(depth.get('{provider="s3",status="queued"}'), 2)
  assert.equal(depth.get('{provider="smb",status="failed"}'), 2)
  // 09:02:30 by now.
  const due = family('upload_queue_oldest_due_seconds').samples
  assert.equal(due.get('{provider="s3",status="queued"}'), 90)
  assert.equal(due.get('{provider="s3",status="retrying"}'), 0)
  assert.equal(family('upload_failures_total').samples.get('{provider="smb"}'), 4)
  const bob = await scraped(k.person('bob', ['viewer'], [['node', 'n2']]))
  assert.equal(bob('upload_queue_depth').samples.get('{provider="s3",status="queued"}'), 0)
  assert.equal(bob('upload_failures_total').samples.get('{provider="smb"}'), 0)
})

test('labels with quotes, backslashes and line ends stay one line', async () => {
  const alias = 'a "b" \\ c\nd'
  make.node('n3', 'online', AT, { alias })
  const answer = await k.as('admin').get('/metrics')
  assert.ok(answer.text.includes('alias="a \\"b\\" \\\\ c\\nd"'))
  await scraped(k.as('admin'))
})
