// What operating a site needs beside the families of the contract (docs/contract/api.md: Metrics).
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { makers, scraped } from './world.ts'

const k = kit()
after(() => k.close())
const make = makers(k)
const AT = k.now()
make.node('n1', 'online', AT, { agent_version: '1.2.3', alias: 'Desk' })
make.node('n2', 'retired', AT)

test('who is who: every node with its names and version, once; one that retired is gone', async () => {
  const family = await scraped(k.as('admin'))
  assert.deepEqual(
    [...family('node_info').samples],
    [['{agent_version="1.2.3",alias="Desk",node_id="n1",room="Hall",site="North"}', 1]],
  )
  assert.equal(family('node_last_seen_timestamp_seconds').samples.get('{node_id="n1"}'), Date.parse(AT) / 1000)
})

test('events that stand are told by type and node; what is over has no series', async () => {
  make.event('h1', 'agent.system.disk_pressure', 'warning', 'open', { node_id: 'n1' })
  make.event('h2', 'agent.system.disk_pressure', 'warning', 'open', { node_id: 'n1' })
  make.event('h3', 'schedule.no_capture_device', 'critical', 'acknowledged')
  make.event('h4', 'agent.meter.xrun', 'warning', 'resolved', { node_id: 'n1' })
  const { samples } = (await scraped(k.as('admin')))('health_events_standing')
  const series = (type: string, node: string, severity: string, status: string) =>
    `{event_type="${type}",node_id="${node}",severity="${severity}",status="${status}"}`
  assert.deepEqual(Object.fromEntries(samples), {
    [series('agent.system.disk_pressure', 'n1', 'warning', 'open')]: 2,
    [series('schedule.no_capture_device', '', 'critical', 'acknowledged')]: 1,
  })
})

test('a start is late two minutes after its time, wherever its next attempt stands; not one that is switched off', async () => {
  const late = async (principal = k.as('admin')) => (await scraped(principal))('schedules_late').samples.get('')
  const due = { next_run_at: k.now(), node_id: 'n1', slot_at: k.now() }
  make.schedule('s1', due)
  make.schedule('off', { ...due, enabled: 0 })
  k.advance('2m')
  assert.equal(await late(), 0)
  k.advance('1s')
  assert.equal(await late(), 1)
  k.sql('UPDATE schedules SET next_run_at = ? WHERE id = ?', '2026-03-02T10:00:00.000Z', 's1')
  assert.equal(await late(), 1)
  assert.equal(await late(k.person('bob', ['viewer'], [['room', 'elsewhere']])), 0)
})

test('runs of schedules are counted by how they ended, from zero', async () => {
  const runs = async () => Object.fromEntries((await scraped(k.as('admin')))('schedule_runs_total').samples)
  const none = ['succeeded', 'deferred', 'skipped', 'failed'].map((outcome) => [`{outcome="${outcome}"}`, 0])
  assert.deepEqual(await runs(), Object.fromEntries(none))
  const { json } = await k.as('owner').post('/schedules', {
    ...{ folderTemplate: 'F', name: 'Morning', nodeId: 'n1', room: 'Hall', timezone: 'UTC', titleTemplate: 'T' },
    recurrence: { daysOfWeek: ['monday'], endTime: '09:30', mode: 'weekly', startTime: '09:10' },
  })
  assert.ok(json.data, JSON.stringify(json))
  // Nothing looked in time: the slot has passed.
  k.advance('1h')
  await k.tick('schedule')
  assert.ok(k.trail().includes('schedules.due_run.failed failed schedule_occurrence_missed'))
  assert.equal((await runs())['{outcome="failed"}'], 1)
})

test('what waits for a destination, and since when', async () => {
  const { id } = (
    await k.as('owner').post('/settings/upload-destinations', {
      ...{ displayName: 'Archive', enabled: true, kind: 'smb' },
      smb: { host: 'files', path: 'takes', share: 'audio', username: 'u' },
      smbPassword: 'a-secret-of-the-share',
    })
  ).json.data
  make.recording('r1', 'cached', { node_id: 'n1' })
  const at = { destination_id: id, next_attempt_at: k.now() }
  make.upload('u1', 'r1', 'smb', 'queued', at)
  make.upload('u2', 'r1', 'smb', 'retrying', at)
  make.upload('u3', 'r1', 'smb', 'succeeded', at)
  k.advance('90s')
  const family = await scraped(k.as('admin'))
  const series = `{destination="Archive",destination_id="${id}",provider="smb"}`
  assert.equal(family('upload_destination_pending').samples.get(series), 2)
  assert.equal(family('upload_destination_oldest_due_seconds').samples.get(series), 90)
})

test('the disks of database and takes, and the version that runs', async () => {
  const family = await scraped(k.as('admin'))
  assert.equal(family('controller_info').samples.size, 1)
  // The kit's takes have a directory of their own only when there are some.
  const [size, left] = ['size', 'available'].map((what) => family(`controller_disk_${what}_bytes`).samples)
  const database = '{volume="database"}'
  assert.ok((left?.get(database) ?? 0) > 0 && (size?.get(database) ?? 0) >= (left?.get(database) ?? 0))
})

test('of the controller as a whole only who sees everything is told', async () => {
  const { text } = await k.person('ann', ['viewer'], [['node', 'n1']]).get('/metrics')
  assert.ok(!/svc_(controller_(info|disk)|upload_destination|schedule_runs)/.test(text), text)
  assert.match(text, /# TYPE svc_node_info gauge/)
})

test('a value that is not there has no sample, and nothing that is no counter is named like one', async () => {
  const { text } = await k.as('admin').get('/metrics')
  assert.ok(!/ nan$/im.test(text))
  const gauges = [...text.matchAll(/^# TYPE (\S+_total) (\S+)$/gm)].filter(([, , type]) => type !== 'counter')
  assert.deepEqual(
    gauges.map(([, name]) => name),
    [],
  )
})
