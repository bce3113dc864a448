// What stands against recordings of the coming day, as the calendar tells it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clashing, type Due, faultsOf, type Readiness } from '../../../src/controller/schedules/risks.rules.ts'
import type { Kit } from '../../kit/kit.ts'
import { daily, house } from './world.ts'

const beat = (k: Kit, status = 'online') => k.sql('UPDATE nodes SET status = ?, last_seen_at = ?', status, k.now())

test('a recorder that is ready is no risk; offline, retired, without its device or channels it is one', async () => {
  const { add, admin, k, nodeId } = await house()
  await add({ name: 'N', captureChannelSelection: [3, 4] })
  const risks = async () => {
    const { data } = (await admin.get(`/schedules/calendar?scheduleId=${(await listed()).id}`)).json
    return data.map((item: { risks?: string[] }) => item.risks?.join() ?? '-').slice(0, 2)
  }
  const listed = async () => (await admin.get('/schedules?search=N')).json.data[0]
  beat(k)
  assert.deepEqual(await risks(), ['-', '-'])
  k.sql('UPDATE interfaces SET channel_count = 3')
  assert.deepEqual(await risks(), ['channels_missing', '-'], 'what starts in more than a day is not foreseen')
  k.sql('UPDATE interfaces SET channel_count = 4, absent = 1')
  assert.deepEqual(await risks(), ['device_missing', '-'])
  k.sql('UPDATE interfaces SET absent = 0')
  k.sql("UPDATE nodes SET last_seen_at = '2026-03-02T08:00:00.000Z'")
  assert.deepEqual(await risks(), ['recorder_offline', '-'])
  beat(k, 'retired')
  assert.deepEqual(await risks(), ['recorder_missing', '-'])
  k.sql('DELETE FROM nodes WHERE id = ?', nodeId)
  assert.deepEqual(await risks(), ['recorder_missing', '-'])
  await k.close()
})

test('without a device of its own, a schedule is at risk when the recorder has none at all', async () => {
  const { add, admin, k } = await house()
  k.sql("UPDATE channels SET room_id = 'hall'")
  await add({ name: 'N', captureInterfaceId: undefined, captureChannelSelection: undefined })
  const risks = async () => (await admin.get('/schedules/calendar')).json.data[0].risks
  beat(k)
  assert.equal(await risks(), undefined)
  k.sql('UPDATE interfaces SET absent = 1')
  assert.deepEqual(await risks(), ['device_missing'])
  k.sql(`UPDATE nodes SET audio_defaults = '{"captureDevice":"hw:1"}'`)
  assert.equal(await risks(), undefined, 'a device that no inventory lists is used all the same')
  await k.close()
})

test('two that take the same channels at the same time are told of, each of them', async () => {
  const { add, admin, k } = await house()
  beat(k)
  await add({ name: 'A', captureChannelSelection: [1, 2] })
  await add({ name: 'B', captureChannelSelection: [2], recurrence: { ...daily, startTime: '10:30' } })
  await add({ name: 'C', captureChannelSelection: [3] })
  await add({ name: 'D', captureChannelSelection: [1], recurrence: { ...daily, startTime: '11:00', endTime: '12:00' } })
  const { data } = (await admin.get('/schedules/calendar?end=2026-03-02T23:00:00Z')).json
  const told = data.map(
    (item: { risks?: string[]; scheduleName: string }) => `${item.scheduleName} ${item.risks ?? ''}`,
  )
  assert.deepEqual(told.sort(), ['A clash', 'B clash', 'C ', 'D '])
  await k.close()
})

const ready: Readiness = {
  ...{ channels: null, deviceId: 'card', deviceMissing: false, missingChannels: false },
  ...{ nodeId: 'node', nodeStatus: 'online' },
}

test('an open recording clashes with all that follow on its device, and with none elsewhere', () => {
  const due = (startAt: number, endAt: number, more: Partial<Readiness> = {}): Due => ({
    endAt,
    readiness: { ...ready, ...more },
    startAt,
  })
  const open = due(0, Number.POSITIVE_INFINITY)
  const later = due(10, 20, { channels: [7] })
  const elsewhere = due(10, 20, { nodeId: 'other' })
  const otherDevice = due(12, 20, { deviceId: null })
  assert.deepEqual([...clashing([open, later, elsewhere, otherDevice])], [open, later])
  assert.deepEqual([...clashing([due(0, 10), due(10, 20)])], [], 'one ends as the next begins')
})

test('the first thing that is wrong is told: what follows from it is not', () => {
  assert.deepEqual(faultsOf({ ...ready, deviceMissing: true, missingChannels: true, nodeStatus: 'offline' }), [
    'recorder_offline',
  ])
  assert.deepEqual(faultsOf({ ...ready, nodeStatus: 'recording' }), [])
})
