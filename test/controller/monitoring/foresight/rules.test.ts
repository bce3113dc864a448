// The rules of foresight by themselves: no database, no clock.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { neededBytes } from '../../../../src/agent/spool/room.rules.ts'
import { type End, overBecause } from '../../../../src/controller/monitoring/foresight/ends.rules.ts'
import { Holds, OVER_AFTER_MS, TELL_AFTER_MS } from '../../../../src/controller/monitoring/foresight/holds.ts'
import {
  type Facts,
  foreseen,
  houseRisks,
  isAhead,
  NEAR_MS,
  severityOf,
} from '../../../../src/controller/monitoring/foresight/risks.rules.ts'
import { clashes } from '../../../../src/controller/monitoring/foresight/rivals.rules.ts'
import { needOf } from '../../../../src/controller/monitoring/foresight/room.rules.ts'
import { captureBytes } from '../../../../src/controller/recordings/library/room.rules.ts'
import type { Command } from '../../../../src/wire/recordings.ts'
import { job } from '../../../agent/jobs/kit.ts'

const well: Facts = {
  ...{
    alias: 'Hall',
    clash: undefined,
    device: 'Desk',
    disk: undefined,
    doubted: false,
    faults: [],
    instead: undefined,
  },
  ...{ lastSeenAt: '2026-03-02T09:00:00.000Z', refused: undefined, replaced: undefined, skewSeconds: undefined },
  ...{ troubles: [], unavailable: undefined, unsynced: false },
}
const short = { aloneFits: true, neededBytes: 2, roomBytes: 1 }
const trouble = { destinationName: 'Archive', reason: 'down' }
const refused = (reason: string) => ({ message: 'It cannot be recorded', reason })

const CASES: [facts: Partial<Facts>, told: string[]][] = [
  [{}, []],
  [{ faults: ['recorder_missing'] }, ['recorder_offline!']],
  [{ refused: refused('node_retired') }, ['recorder_offline!']],
  // What follows from the first fault is not told; what has nothing to do with it is.
  [
    {
      clash: { until: 1 },
      disk: short,
      faults: ['recorder_offline'],
      skewSeconds: 9,
      troubles: [trouble],
      unsynced: true,
    },
    ['recorder_offline!', 'clash!', 'destination_failing'],
  ],
  [{ faults: ['recorder_offline'], lastSeenAt: undefined }, ['recorder_offline!']],
  [{ faults: ['device_missing'] }, ['device_gone!']],
  [{ faults: ['device_missing'], instead: 'Webcam' }, ['device_changed!']],
  [{ refused: refused('no_capture_device') }, ['device_gone!']],
  [{ unavailable: 'busy' }, ['device_gone!']],
  [{ faults: ['channels_missing'], refused: refused('channel_selection_unknown_channel') }, ['channels_missing!']],
  [{ refused: refused('schedule_room_changed') }, ['device_changed!']],
  [{ replaced: { before: 'A', now: 'B' } }, ['device_changed']],
  [{ refused: refused('codec_channel_limit') }, ['impossible!']],
  [{ disk: short }, ['disk_short']],
  [{ disk: { ...short, aloneFits: false } }, ['disk_short!']],
  [{ disk: { ...short, neededBytes: 1 } }, []],
  [{ skewSeconds: -7.4, unsynced: true }, ['clock_off', 'unsynced']],
  [{ clash: { until: undefined } }, ['clash!']],
  [{ troubles: [trouble, trouble] }, ['destination_failing']],
]

test('what stands against a take, by what is known of it; ! where nothing would be recorded', () => {
  for (const [facts, told] of CASES) {
    const found = foreseen({ ...well, ...facts })
    assert.deepEqual(
      found.map(({ fatal, kind }) => `${kind}${fatal ? '!' : ''}`),
      told,
      JSON.stringify(facts),
    )
    for (const { details } of found)
      assert.ok(String(details.message).length > 10 && String(details.remedy).length > 10)
  }
})

test('what is told grows critical a quarter of an hour before, unless it is only to be told or does no harm', () => {
  const rule = { enabled: true, leadMinutes: 60, severity: 'warning' } as const
  const at = (left: number, fatal = true, severity: 'critical' | 'info' | 'warning' = 'warning') =>
    severityOf({ ...rule, severity }, fatal, left, 0)
  assert.deepEqual([at(NEAR_MS + 1), at(NEAR_MS), at(NEAR_MS, false)], ['warning', 'critical', 'warning'])
  assert.deepEqual([at(0, true, 'info'), at(NEAR_MS + 1, false, 'critical')], ['info', 'critical'])
  assert.deepEqual([isAhead(rule, 3_600_000, 0), isAhead(rule, 3_600_001, 0)], [true, false])
  assert.equal(isAhead({ ...rule, enabled: false }, 1, 0), false)
})

const HOUR = 3_600_000
const wish = (from: number, to: number, selection?: number[], interfaceId = 'desk') => ({
  ...{ endAt: to * HOUR, interfaceId, selection, startAt: from * HOUR },
})
const untils = (...args: Parameters<typeof clashes>) =>
  clashes(...args).map((clash) => clash && (clash.until === undefined ? 'unknown' : clash.until / HOUR))

test('takes clash as starts do: the same channels of a device at one time, or more devices than the recorder captures', () => {
  assert.deepEqual(untils([], [wish(1, 2), wish(2, 3)], 1), [undefined, undefined], 'back to back')
  assert.deepEqual(untils([], [wish(1, 3, [1]), wish(2, 4, [2])], 1), [undefined, undefined])
  assert.deepEqual(untils([], [wish(1, 3, [1, 2]), wish(2, 4, [2])], 1), [undefined, 3])
  // Who had to wait takes the rest of its time, and may be in the way of the next.
  assert.deepEqual(untils([], [wish(1, 3), wish(2, 5), wish(4, 6)], 1), [undefined, 3, 5])
  assert.deepEqual(untils([], [wish(1, 3), wish(2, 4, undefined, 'booth')], 1), [undefined, 'unknown'])
  assert.deepEqual(untils([], [wish(1, 3), wish(2, 4, undefined, 'booth')], 2), [undefined, undefined])
  const running = {
    ...{
      captureGroupId: 'g',
      from: 0,
      interfaceId: 'desk',
      jobId: 'j',
      recordingId: 'r',
      roomId: null,
      selection: null,
    },
    until: 1.5 * HOUR,
  }
  assert.deepEqual(untils([running], [wish(1, 2)], 1), [1.5])
  // It was claimed a second late, and ends a second late.
  assert.deepEqual(untils([{ ...running, until: HOUR + 1000 }], [wish(1, 2)], 1), [undefined])
})

test('a take needs room beside those that are not delivered when it begins; one capture serves takes of one device', () => {
  const load = (from: number, to: number, bytes: number, interfaceId = 'desk') => ({
    ...{ bytes, endAt: to * HOUR, interfaceId, startAt: from * HOUR },
  })
  const needed = (...loads: ReturnType<typeof load>[]) =>
    needOf(loads.at(-1) as ReturnType<typeof load>, loads.slice(0, -1), 100).neededBytes
  assert.equal(needed(load(1, 2, 10)), 10)
  assert.equal(needed(load(1, 2, 10), load(2, 3, 10)), 20, 'on its way')
  assert.equal(needed(load(1, 2, 10), load(3, 4, 10)), 10, 'delivered')
  assert.equal(needed(load(1, 3, 10), load(2, 3, 4)), 10, 'one capture')
  assert.equal(needed(load(1, 3, 10), load(2, 3, 4, 'booth')), 14)
  assert.equal(needOf(load(1, 2, 101), [], 100).aloneFits, false)
})

test('the controller counts the disk of a recorder as the recorder does', () => {
  const format = { channels: 4, format: 'S24_LE', rate: 96_000 } as const
  const base = {
    captureChannels: 4,
    captureFormat: format.format,
    captureSampleRate: format.rate,
    durationSeconds: 3600,
  }
  const keeps = { deleteAfterUpload: false, maxAgeDays: 7, maxBytes: null, minFreeDiskPercent: null, policyId: 'p' }
  const commands: Partial<Command>[] = [
    {},
    { chunkSeconds: 300 },
    { chunkSeconds: 300, recorderCacheRetention: { ...keeps, deleteAfterUpload: true, maxAgeDays: null } },
    { chunkSeconds: 300, recorderCacheRetention: keeps },
    { captureChannelSelection: [4, 2] },
  ]
  for (const more of commands) {
    const { command } = job('a', { ...base, ...more } as never)
    const { rawBytes } = neededBytes([command], format, command.durationSeconds)
    assert.equal(captureBytes(command as unknown as Command), rawBytes, JSON.stringify(more))
  }
})

test('the controller tells of its own disk and certificate from the first take they threaten', () => {
  const take = (startAt: number) => ({ bytes: 10, endAt: startAt + 5, startAt })
  const house = { certificateUntil: new Date(22).toISOString(), freeBytes: 25, underWayBytes: 0 }
  const told = (more: object, within = () => 100) =>
    houseRisks({ ...house, ...more }, [take(10), take(20), take(30)], 0, within).map(
      ({ fatal, kind, startAt }) => `${kind} ${startAt}${fatal ? '!' : ''}`,
    )
  assert.deepEqual(told({}), ['certificate_ends 20', 'controller_disk_short 30'])
  assert.deepEqual(told({ underWayBytes: 10 }), ['certificate_ends 20', 'controller_disk_short 20'])
  assert.deepEqual(told({ certificateUntil: new Date(16).toISOString(), freeBytes: undefined }), [
    'certificate_ends 20!',
  ])
  assert.deepEqual(
    told({}, () => 15),
    [],
  )
  assert.deepEqual(told({ certificateUntil: undefined, freeBytes: 30 }), [])
})

test('why an event is over although its risk may not be', () => {
  const end: End = {
    ...{
      began: 1,
      enabled: 1,
      excepted: 0,
      id: 's',
      nodeId: 'n',
      nodeStatus: 'online',
      outcome: null,
      refused: 0,
      slotAt: 'b',
      waiting: 0,
    },
  }
  const occurrence = { date: '2026-03-02', nodeId: 'n', occurrenceAt: 'b', startAt: 'b' }
  const cases: [Partial<End>, now: string, reason: string | undefined][] = [
    [{ id: null }, 'a', 'schedule_deleted'],
    [{ outcome: 'started' }, 'a', 'take_began'],
    [{ began: 0, outcome: 'started', waiting: 1 }, 'c', undefined],
    [{ began: 0, outcome: 'started' }, 'c', 'take_never_began'],
    [{ outcome: 'missed' }, 'a', 'slot_ended'],
    [{ nodeStatus: 'retired' }, 'a', 'node_retired'],
    [{ enabled: 0 }, 'a', 'schedule_disabled'],
    [{ excepted: 1, slotAt: 'd' }, 'a', 'occurrence_skipped'],
    [{ nodeId: 'other' }, 'a', 'schedule_changed'],
    [{ slotAt: 'd' }, 'a', 'schedule_changed'],
    [{}, 'c', undefined],
    [{ refused: 1 }, 'c', 'start_refused'],
    [{}, 'a', 'not_due_yet'],
  ]
  for (const [more, now, reason] of cases) assert.equal(overBecause({ ...end, ...more }, occurrence, now), reason)
})

test('a state holds from when it was first seen, until the other one is', () => {
  const holds = new Holds()
  assert.equal(holds.lasts('k', 'n', 'there', 0), false)
  assert.equal(holds.lasts('k', 'n', 'there', TELL_AFTER_MS - 1), false)
  assert.deepEqual([holds.next(0), holds.next(TELL_AFTER_MS)], [TELL_AFTER_MS, Number.POSITIVE_INFINITY])
  assert.equal(holds.lasts('k', 'n', 'there', TELL_AFTER_MS), true)
  assert.equal(holds.lasts('k', 'n', 'gone', TELL_AFTER_MS), false)
  assert.equal(holds.lasts('k', 'n', 'gone', TELL_AFTER_MS + OVER_AFTER_MS), true)
  assert.deepEqual(holds.lasted(TELL_AFTER_MS + OVER_AFTER_MS), ['n'])
  holds.sweep(undefined)
  assert.equal(holds.lasted(Number.MAX_SAFE_INTEGER).length, 1, 'it was met in this pass')
  holds.sweep(new Set(['other']))
  assert.equal(
    holds.lasted(Number.MAX_SAFE_INTEGER).length,
    1,
    'a pass over another recorder forgets nothing of this one',
  )
  holds.sweep(undefined)
  assert.deepEqual(holds.lasted(Number.MAX_SAFE_INTEGER), [])
})
