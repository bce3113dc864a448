// Each kind of risk: told in time and not before, once, raised when it is near, over when it is.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { desk, lines, watched } from './world.ts'

// The clock of the kit stands at 09:02:10 when the recorder has reported for a while; the lecture is daily, from 10:00 to 11:00.

test('a recorder that is offline is told two hours ahead, becomes critical, and is over when it reports', async () => {
  const world = await watched()
  const { add, k, nodeId, pass, told } = world
  const { id } = await add({ recurrence: { mode: 'daily', interval: 1, startTime: '12:00', endTime: '13:00' } })
  await pass(1800, true)
  assert.deepEqual(lines(world), [], 'it is more than two hours away')
  await pass(1800, true)
  assert.deepEqual(lines(world), ['recorder_offline warning open'])
  const [event] = told()
  assert.deepEqual([event?.nodeId, event?.scheduleId], [nodeId, id])
  assert.equal(event?.details.nextStart, '2026-03-02T12:00:00.000Z')
  assert.match(String(event?.details.message), /Desk does not report/)
  k.forget()
  await pass(6300, true)
  assert.deepEqual(lines(world), ['recorder_offline critical open'])
  assert.deepEqual(
    k.trail().filter((line) => line.startsWith('health.')),
    ['health.foresight.recorder_offline.raised succeeded'],
  )
  await pass(50)
  assert.deepEqual(lines(world), ['recorder_offline critical open'], 'it has only just reported')
  await pass(40)
  assert.deepEqual(lines(world), ['recorder_offline critical risk_gone'])
  await k.close()
})

test('a device that is pulled ten minutes before the lecture is told within a minute', async () => {
  const world = await watched()
  const { add, k, pass, plug } = world
  await add()
  await pass(2870)
  assert.equal(k.now(), '2026-03-02T09:50:00.000Z')
  assert.deepEqual(lines(world), [])
  await plug()
  await pass(60)
  assert.deepEqual(lines(world), ['device_gone critical open'])
  await plug(desk)
  await pass(80)
  assert.deepEqual(lines(world), ['device_gone critical risk_gone'])
  await pass(600)
  assert.deepEqual(lines(world), ['device_gone critical risk_gone'], 'the lecture has begun, and nothing else is told')
  await k.close()
})

test('a device that is taken by something else is told as its recorder tells it, until levels come again', async () => {
  const world = await watched()
  const { add, agent, interfaceId, k, nodeId, pass, told } = world
  await add()
  const details = { device: 'hw:Desk', error: 'Device or resource busy' }
  await agent.post(`/nodes/${nodeId}/health-events`, {
    details,
    severity: 'critical',
    type: 'agent.meter.device_unavailable',
  })
  await pass(60)
  assert.deepEqual(lines(world), ['device_gone warning open'])
  assert.match(String(told()[0]?.details.message), /busy/)
  const level = { channelIndex: 1, clipping: false, label: 'One', peakDbfs: -20, rmsDbfs: -30 }
  const frame = { capturedAt: k.now(), interfaceId, levels: [level], nodeId }
  const posted = await agent.post(`/nodes/${nodeId}/meter-frame`, frame)
  assert.ok(posted.status < 300, posted.text)
  await pass(90)
  assert.deepEqual(lines(world), ['device_gone warning risk_gone'])
  await k.close()
})

test('another device where the right one was, and another one of the same name, are told', async () => {
  const world = await watched()
  const { add, k, pass, plug, told } = world
  const at = { ...desk, hardwarePath: 'usb-1.2', serialNumber: 'A1' }
  await plug(at)
  await add()
  await pass(60)
  await plug({ ...at, alias: 'Webcam', serialNumber: 'W', systemName: 'Webcam', systemRef: 'hw:Webcam' })
  await pass(60)
  assert.deepEqual(lines(world), ['device_changed warning open'])
  assert.match(String(told()[0]?.details.message), /Webcam where Desk was/)
  assert.equal(told()[0]?.details.recordsNothing, true)
  await plug({ ...at, serialNumber: 'B2' })
  await pass(90)
  assert.match(String(told()[0]?.details.message), /Desk \(B2\), not Desk \(A1\)/)
  assert.equal(told()[0]?.details.recordsNothing, false)
  await plug(at)
  await pass(90)
  assert.deepEqual(lines(world), ['device_changed warning risk_gone'])
  await k.close()
})

test('too few channels are told', async () => {
  const world = await watched()
  const { add, k, pass, plug } = world
  await add({ captureChannelSelection: [3, 4] })
  await plug({ ...desk, channelCount: 2 })
  await pass(60)
  assert.deepEqual(lines(world), ['channels_missing warning open'])
  await plug(desk)
  await pass(90)
  assert.deepEqual(lines(world), ['channels_missing warning risk_gone'])
  await k.close()
})

test('a disk without room for all that is due is told for the take that would not fit', async () => {
  const world = await watched()
  const { add, k, pass, runtime, told } = world
  // An hour of two channels in 16 bits is 659 MiB.
  runtime.disk = { roomBytes: 1_000_000_000 }
  await add({ name: 'First' })
  const { id } = await add({
    name: 'Next',
    recurrence: { mode: 'daily', interval: 1, startTime: '11:00', endTime: '12:00' },
  })
  await pass(60)
  assert.deepEqual(lines(world), ['disk_short warning open'])
  assert.equal(told()[0]?.scheduleId, id)
  assert.equal(told()[0]?.details.recordsNothing, false, 'alone it would fit')
  runtime.disk = { roomBytes: 1_385_000_000 }
  await pass(90)
  assert.deepEqual(lines(world), ['disk_short warning open'], 'hardly enough is not enough again')
  runtime.disk = { roomBytes: 9_000_000_000 }
  await pass(90)
  assert.deepEqual(lines(world), ['disk_short warning risk_gone'])
  runtime.disk = { roomBytes: 100_000_000 }
  await pass(60)
  assert.deepEqual(lines(world).slice(1), ['disk_short warning open', 'disk_short warning open'])
  await k.close()
})

test('of two takes for the same channels the one that would find them in use is told, and who waits a moment is not', async () => {
  const world = await watched()
  const { add, admin, k, pass, told } = world
  const times = (startTime: string, endTime: string) => ({ mode: 'daily', interval: 1, startTime, endTime })
  await add({ name: 'First' })
  await add({ name: 'Beside', captureChannelSelection: [3, 4] })
  await add({ name: 'After', recurrence: times('11:00', '12:00') })
  await pass(60)
  assert.deepEqual(lines(world), [])
  const { id } = await add({ name: 'Across', captureChannelSelection: [2], recurrence: times('10:30', '10:45') })
  await pass(60)
  assert.deepEqual(lines(world), ['clash warning open'])
  const [event] = told()
  assert.deepEqual([event?.scheduleId, event?.details.busyUntil], [id, '2026-03-02T11:00:00.000Z'])
  assert.ok(
    !JSON.stringify(event?.details).includes('First'),
    'what else is recorded is not told to who may see only this',
  )
  await admin.patch(`/schedules/${id}`, { captureChannelSelection: [4], recurrence: times('11:30', '11:45') })
  await pass(90)
  assert.deepEqual(lines(world), ['clash warning risk_gone'])
  await k.close()
})

test('a running recording that would still hold the channels is a clash, and over when it is stopped', async () => {
  const world = await watched()
  const { add, admin, interfaceId, k, nodeId, pass } = world
  await add()
  const started = await admin.post('/recordings', {
    ...{ captureInterfaceId: interfaceId, captureChannelSelection: [1], durationSeconds: 7200, nodeId },
  })
  assert.equal(started.status, 202, started.text)
  await pass(60)
  assert.deepEqual(lines(world), ['clash warning open'])
  k.sql("UPDATE recording_jobs SET status = 'completed'")
  await pass(90)
  assert.deepEqual(lines(world), ['clash warning risk_gone'])
  await k.close()
})

test('a destination that is disabled, or failed last, is told of schedules that send there', async () => {
  const world = await watched()
  const { add, admin, k, pass, told } = world
  const made = await admin.post('/settings/upload-destinations', {
    ...{ id: 'archive', displayName: 'Archive', enabled: true, kind: 's3', s3SecretAccessKey: 'secret' },
    s3: { accessKeyId: 'key', bucket: 'takes', region: 'eu-central-1' },
  })
  assert.equal(made.status, 201, made.text)
  await admin.post('/settings/upload-policies', {
    ...{ id: 'copy', destinationId: 'archive', enabled: true, name: 'Copy', trigger: 'on_recording_cached' },
  })
  await add({ uploadPolicyIds: ['copy'] })
  await pass(60)
  assert.deepEqual(lines(world), [])
  k.sql("INSERT INTO upload_troubles VALUES ('archive', 'access denied', ?)", k.now())
  await pass(60)
  assert.deepEqual(lines(world), ['destination_failing warning open'])
  assert.match(String(told()[0]?.details.message), /Archive would fail: access denied/)
  const disable = (enabled: boolean) => admin.patch('/settings/upload-destinations/archive', { enabled })
  await disable(false)
  await pass(90)
  assert.match(String(told()[0]?.details.message), /destination_disabled/)
  await disable(true)
  await pass(90)
  assert.deepEqual(lines(world), ['destination_failing warning risk_gone'], 'what was changed is tried anew')
  await k.close()
})

test('a wrong clock and one without a time server are told while the recorder says so', async () => {
  const world = await watched()
  const { add, k, pass, runtime } = world
  await add()
  runtime.clock = { skewSeconds: 12, synced: false }
  await pass(60)
  assert.deepEqual(lines(world), ['clock_off warning open', 'unsynced warning open'])
  runtime.clock = { synced: true }
  await pass(90)
  assert.deepEqual(lines(world), ['clock_off warning risk_gone', 'unsynced warning risk_gone'])
  await k.close()
})

test('a certificate of the controller that ends too soon is told once for all takes', async () => {
  const certificates = { lastsUntil: '2026-03-02T10:30:00.000Z', served: {} }
  const world = await watched({ certificates: certificates as never })
  const { add, k, pass, told } = world
  for (const name of ['A', 'B']) await add({ name, captureChannelSelection: [name === 'A' ? 1 : 2] })
  await pass(60)
  assert.deepEqual(lines(world), ['certificate_ends warning open'])
  assert.deepEqual([told()[0]?.details.takes, told()[0]?.scheduleId], [2, null])
  certificates.lastsUntil = '2027-03-02T10:30:00.000Z'
  await pass(120)
  assert.deepEqual(lines(world), ['certificate_ends warning risk_gone'])
  await k.close()
})

test('takes that the disk of the controller has no room for are told once, from the first that does not fit', async () => {
  const world = await watched()
  const { add, k, pass, told } = world
  mkdirSync(k.takes, { recursive: true })
  k.sql("UPDATE recording_profiles SET codec = 'wav', channel_mode = 'multichannel', enhancement = NULL")
  const month = { durationSeconds: 2_678_400, mode: 'once' }
  for (const [name, startsAt] of [
    ['Month', '2026-03-02T12:00:00.000Z'],
    ['Other', '2026-03-02T13:00:00.000Z'],
  ])
    await add({
      ...{ captureChannelSelection: name === 'Month' ? [1, 2] : [3, 4], name },
      recurrence: { ...month, startsAt },
    })
  k.sql(`UPDATE nodes SET audio_defaults = '{"captureSampleRate":384000,"captureFormat":"FLOAT_LE"}'`)
  k.sql(`UPDATE interfaces SET sample_rates = '[48000,384000]'`)
  await pass(60)
  assert.deepEqual(lines(world), ['controller_disk_short warning open'])
  assert.equal(told()[0]?.details.nextStart, '2026-03-02T12:00:00.000Z')
  k.sql('UPDATE schedules SET enabled = 0')
  await pass(120)
  assert.deepEqual(lines(world), ['controller_disk_short warning risk_gone'])
  await k.close()
})

test('what a start would refuse for another reason is told in its words', async () => {
  const world = await watched()
  const { add, k, pass, told } = world
  await add()
  k.sql('UPDATE recording_profiles SET channel_mode = ?', 'stereo')
  k.sql(`UPDATE nodes SET audio_defaults = '{"captureFormat":"S8"}'`)
  await pass(60)
  assert.deepEqual(lines(world), ['impossible warning open'])
  assert.match(String(told()[0]?.details.message), /sample format S8/)
  await k.close()
})
