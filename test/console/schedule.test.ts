// Where occurrences stand on the wall clock of a week, also on the days clocks change.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scheduleBody, weekFrom } from '../../src/console/schedule/draft.rules.ts'
import {
  changeOf,
  landing,
  layOut,
  moved,
  offsetOf,
  rowsOf,
  wallOf,
  weekOf,
  within,
} from '../../src/console/schedule/layout.rules.ts'
import { recurrenceOf, sentenceOf } from '../../src/console/schedule/recurrence.rules.ts'
import { instantAt, instantKept, wallTimeOf } from '../../src/console/time/wall.rules.ts'
import { de } from '../../src/console/words/de.ts'
import { en } from '../../src/console/words/en.ts'
import { dateOf, dayNumber, zone } from '../../src/kernel/zones.ts'
import type { CalendarItem, Recurrence, Schedule } from '../../src/wire/schedules.ts'

const item = (scheduleId: string, recordingStartAt: string, recordingEndAt?: string): CalendarItem => ({
  enabled: true,
  recordingStartAt,
  recurrenceMode: 'weekly',
  room: 'Hall',
  scheduledStartAt: recordingStartAt,
  scheduleId,
  scheduleName: scheduleId,
  timezone: 'Europe/Berlin',
  ...(recordingEndAt ? { recordingEndAt } : {}),
})
const berlin = zone('Europe/Berlin')

test('a week begins on the day of the settings, also before 1970', () => {
  const first = (day: string, startsOn: Parameters<typeof weekOf>[1]) => dateOf(weekOf(dayNumber(day), startsOn))
  assert.equal(first('2026-03-29', 'monday'), '2026-03-23')
  assert.equal(first('2026-03-23', 'monday'), '2026-03-23')
  assert.equal(first('1969-12-31', 'monday'), '1969-12-29')
  assert.equal(first('2026-03-29', 'sunday'), '2026-03-29')
  assert.equal(first('2026-03-28', 'sunday'), '2026-03-22')
  assert.equal(first('1969-12-31', 'saturday'), '1969-12-27')
})

test('a day by rooms: a row each, by name; rooms of one name are told apart by their recorder', () => {
  const of = (name: string, room: string, nodeId?: string) => ({
    ...item(name, '2026-03-02T09:00:00Z', '2026-03-02T10:00:00Z'),
    ...(nodeId ? { nodeId } : {}),
    room,
  })
  const items = [of('a', 'Hall', 'n1'), of('b', 'Barn', 'n2'), of('c', 'Hall', 'n3'), of('d', 'Hall', 'n1')]
  const rows = rowsOf(items, berlin, dayNumber('2026-03-02'), [])
  assert.deepEqual(
    rows.map(({ nodeId, pieces, room }) => [room, nodeId, pieces.map(({ lanes }) => lanes)]),
    [
      ['Barn', undefined, [1]],
      ['Hall', 'n1', [2, 2]],
      ['Hall', 'n3', [1]],
    ],
  )
  assert.deepEqual(rowsOf(items, berlin, dayNumber('2026-03-03'), []), [])
})

test('a day by rooms shows the free ones too, and what is booked in a room stands there whatever was written', () => {
  const rooms = [
    { id: 'h', name: 'Hall', site: 'North' },
    { id: 'b', name: 'Barn', site: 'North' },
    { id: 's', name: 'Hall', site: 'South' },
  ]
  const at = item('a', '2026-03-02T09:00:00Z', '2026-03-02T10:00:00Z')
  const items = [
    { ...at, room: 'Great hall', roomId: 'h' },
    { ...at, room: 'Hall', roomId: 'h', scheduleId: 'b' },
    { ...at, room: 'Somewhere', scheduleId: 'c' },
  ]
  const rows = rowsOf(items, berlin, dayNumber('2026-03-02'), rooms)
  assert.deepEqual(
    rows.map(({ pieces, room, site }) => [room, site, pieces.length]),
    [
      ['Barn', undefined, 0],
      ['Hall', 'North', 2],
      ['Hall', 'South', 0],
      ['Somewhere', undefined, 1],
    ],
  )
})

test('in the hour that comes twice, a time has its offset', () => {
  const told = ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2026-10-25T02:00:00Z', '2026-03-29T01:00:00Z']
  assert.deepEqual(
    told.map((at) => offsetOf(at, berlin)),
    ['UTC+02:00', 'UTC+01:00', '', ''],
  )
  assert.equal(offsetOf('2026-11-01T04:30:00Z', zone('America/St_Johns')), 'UTC-03:30')
})

test('cards that overlap share the width, others have it whole; one over midnight has two', () => {
  const day = dayNumber('2026-03-02')
  const pieces = layOut(
    [
      item('a', '2026-03-02T09:00:00Z', '2026-03-02T11:00:00Z'),
      item('b', '2026-03-02T10:00:00Z', '2026-03-02T12:00:00Z'),
      item('c', '2026-03-02T11:00:00Z', '2026-03-02T12:00:00Z'),
      item('d', '2026-03-02T13:00:00Z', '2026-03-02T14:00:00Z'),
      item('e', '2026-03-02T22:00:00Z', '2026-03-03T00:30:00Z'),
      item('f', '2026-03-02T16:00:00Z'),
    ],
    berlin,
    day,
    2,
  )
  const told = pieces.map(({ day: on, end, item: of, lane, lanes, start }) =>
    [of.scheduleId, on - day, start, end, lane, lanes].join(' '),
  )
  assert.deepEqual(told, [
    'a 0 600 720 0 2',
    'b 0 660 780 1 2',
    'c 0 720 780 0 2',
    'd 0 840 900 0 1',
    'f 0 1020 1080 0 1',
    'e 0 1380 1440 0 1',
    'e 1 0 90 0 1',
  ])
})

test('the hour that is lost and the one that comes twice', () => {
  assert.deepEqual(changeOf(dayNumber('2026-03-29'), berlin), { doubled: false, end: 180, start: 120 })
  assert.deepEqual(changeOf(dayNumber('2026-10-25'), berlin), { doubled: true, end: 180, start: 120 })
  assert.equal(changeOf(dayNumber('2026-03-30'), berlin), undefined)
  assert.deepEqual(changeOf(dayNumber('2026-03-08'), zone('America/St_Johns')), {
    doubled: false,
    end: 180,
    start: 120,
  })
  // Half an hour.
  assert.deepEqual(changeOf(dayNumber('2026-04-05'), zone('Australia/Lord_Howe')), {
    doubled: true,
    end: 120,
    start: 90,
  })
})

test('clocks that change at midnight: the hour is lost or doubled on the day it belongs to', () => {
  const told = (name: string, ...days: string[]) => days.map((day) => changeOf(dayNumber(day), zone(name)))
  const first = { doubled: false, end: 60, start: 0 }
  assert.deepEqual(told('Africa/Cairo', '2026-04-23', '2026-04-24', '2026-04-25'), [undefined, first, undefined])
  assert.deepEqual(told('Asia/Beirut', '2026-03-28', '2026-03-29', '2026-03-30'), [undefined, first, undefined])
  const last = { doubled: true, end: 1440, start: 1380 }
  assert.deepEqual(told('Africa/Cairo', '2026-10-29', '2026-10-30'), [last, undefined])
  assert.deepEqual(told('Asia/Beirut', '2026-10-24', '2026-10-25'), [last, undefined])
  // From 23:00 to midnight, and a day that a zone left out whole.
  assert.deepEqual(told('America/Nuuk', '2026-03-28', '2026-03-29'), [{ ...last, doubled: false }, undefined])
  assert.deepEqual(told('Pacific/Apia', '2011-12-29', '2011-12-30', '2011-12-31'), [
    undefined,
    { doubled: false, end: 1440, start: 0 },
    undefined,
  ])
})

test('what begins in the second hour of autumn stays there until it is moved', () => {
  const second = '2026-10-25T01:40:00.000Z'
  const at = wallOf(Date.parse(second), berlin)
  assert.deepEqual(at, { day: dayNumber('2026-10-25'), minute: 160 })
  assert.equal(landing(item('a', second), at, berlin), second)
  assert.equal(landing(item('a', second), { ...at, minute: 165 }, berlin), '2026-10-25T00:45:00.000Z')
  assert.equal(instantKept('2026-10-25T02:40', second, 'Europe/Berlin'), second)
  assert.equal(instantKept('2026-10-25T02:45', second, 'Europe/Berlin'), '2026-10-25T00:45:00.000Z')
  assert.equal(instantKept('2026-10-25T02:40', second, 'UTC'), '2026-10-25T02:40:00.000Z', 'another zone')
})

test('a card stays on the days that are shown', () => {
  assert.deepEqual(within({ day: 9, minute: 5 }, 10, 7), { day: 10, minute: 5 })
  assert.deepEqual(within({ day: 17, minute: 5 }, 10, 7), { day: 16, minute: 5 })
  assert.deepEqual(within({ day: 12, minute: 5 }, 10, 7), { day: 12, minute: 5 })
})

test('a card across the change of the clock keeps its length on the wall', () => {
  const [piece] = layOut(
    [item('a', '2026-10-25T00:30:00Z', '2026-10-25T01:15:00Z')],
    berlin,
    dayNumber('2026-10-25'),
    1,
  )
  assert.deepEqual([piece?.start, piece?.end], [150, 151], 'from 02:30 to the second 02:15')
})

test('a card moves in steps of five minutes, and stays on its day', () => {
  const at = { day: 10, minute: 603 }
  assert.deepEqual(moved(at, 0, 5), { day: 10, minute: 610 })
  assert.deepEqual(moved(at, -1, 0), { day: 9, minute: 605 })
  assert.deepEqual(moved(at, 0, 5000), { day: 10, minute: 1435 })
  assert.deepEqual(moved(at, 0, -5000), { day: 10, minute: 0 })
})

test('wall times and instants agree in every zone', () => {
  for (const name of ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia'])
    for (const wall of ['2026-01-15T10:00', '2026-07-15T23:55'])
      assert.equal(wallTimeOf(instantAt(wall, name), name), wall, name)
  assert.deepEqual(wallOf(Date.parse('2026-07-01T23:30:00Z'), berlin), { day: dayNumber('2026-07-02'), minute: 90 })
})

test('a form is the recurrence it stands for; exceptions stay', () => {
  const instant = (wall: string): string => instantAt(wall, 'Europe/Berlin')
  const before = { exceptions: [{ action: 'skip', date: '2026-03-09' }], mode: 'manual' } as Recurrence
  assert.deepEqual(
    recurrenceOf(
      {
        days: { monday: true, tuesday: false, friday: true },
        endTime: '11:30',
        interval: 2,
        mode: 'weekly',
        startEarlyMinutes: 5,
        startTime: '10:00',
        stopLateMinutes: null,
      },
      before,
      instant,
    ),
    {
      daysOfWeek: ['monday', 'friday'],
      endTime: '11:30',
      exceptions: [{ action: 'skip', date: '2026-03-09' }],
      interval: 2,
      mode: 'weekly',
      startEarlySeconds: 300,
      startTime: '10:00',
    },
  )
  assert.deepEqual(
    recurrenceOf({ durationMinutes: 90, mode: 'once', startsAt: '2026-03-02T10:00' }, undefined, instant),
    {
      durationSeconds: 5400,
      mode: 'once',
      startsAt: '2026-03-02T09:00:00.000Z',
    },
  )
})

test('a recurrence reads as a sentence in both languages', () => {
  const weekly = {
    daysOfWeek: ['monday', 'friday'],
    endTime: '11:30',
    interval: 2,
    mode: 'weekly',
    startEarlySeconds: 300,
    startTime: '10:00',
  } as Recurrence
  assert.equal(
    sentenceOf(weekly, 'Europe/Berlin', en),
    'Every 2 weeks on Monday, Friday, 10:00 to 11:30, Europe/Berlin, starting 5 minutes early.',
  )
  assert.equal(
    sentenceOf(weekly, 'Europe/Berlin', de),
    'Alle 2 Wochen am Montag, Freitag, 10:00 bis 11:30, Europe/Berlin, Beginn 5 Minuten früher.',
  )
  const late = { ...weekly, endTime: '01:00', interval: 1, startEarlySeconds: 90, startTime: '22:00' } as Recurrence
  assert.equal(
    sentenceOf(late, 'UTC', en),
    'Every week on Monday, Friday, 22:00 to 01:00 the next day, UTC, starting 90 seconds early.',
  )
  const long = { durationSeconds: 5490, mode: 'once', startsAt: '2026-03-02T13:05:00Z' } as Recurrence
  assert.equal(sentenceOf(long, 'UTC', en), 'Once, Mon, 02 Mar 2026, 13:05, 5,490 seconds long, UTC.')
  const once = { mode: 'once', startsAt: '2026-03-02T13:05:00Z' } as Recurrence
  assert.equal(sentenceOf(once, 'Europe/Berlin', en), 'Once, Mon, 02 Mar 2026, 14:05, Europe/Berlin.')
})

const model = {
  assignedGroupIds: [],
  assignedUserIds: ['ann'],
  captureBackend: 'jack',
  captureChannelSelection: [1, 2],
  captureInterfaceId: 'desk',
  channelMode: 'mono',
  id: 's1',
  name: 'Botany',
  nodeId: 'n1',
  recordingProfileId: 'wav',
  retentionPolicyId: 'ten-years',
  uploadPolicyIds: ['archive'],
  watchdogPolicyId: 'strict',
} as Partial<Schedule> as Schedule

test('a duplicate has every setting of its model, also those the form could not show', () => {
  const { id: _id, name: _name, ...carried } = model
  const fields = { name: 'Zoology' }
  assert.deepEqual(scheduleBody({ chosen: {}, fields, model }, false), { ...carried, ...fields })
  const changed = scheduleBody(
    { channel: { 1: false, 3: true }, chosen: { assignedUserIds: [] }, fields: { captureInterfaceId: 'box' }, model },
    false,
  )
  assert.deepEqual(changed, {
    ...carried,
    assignedUserIds: [],
    captureChannelSelection: [3],
    captureInterfaceId: 'box',
  })
})

test('a change sends what was shown; channels of a device that was not stay', () => {
  const fields = { name: 'Zoology' }
  assert.deepEqual(scheduleBody({ chosen: {}, fields, model }, true), fields)
  assert.deepEqual(
    scheduleBody({ channel: { 1: false }, chosen: {}, fields: { captureInterfaceId: 'desk' }, model }, true),
    { captureChannelSelection: null, captureInterfaceId: 'desk' },
  )
  assert.deepEqual(scheduleBody({ channel: { 2: false }, chosen: {}, fields, model: undefined }, false), fields)
})

test('the days to tick stand in the order of the site’s week', () => {
  const names = weekFrom(Object.entries(en.schedule.weekdays), 'sunday').map(([day]) => day)
  assert.deepEqual([names[0], names[1], names.length], ['sunday', 'monday', 7])
})
