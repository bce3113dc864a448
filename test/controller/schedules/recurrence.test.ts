import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  currentSlot,
  isExcepted,
  keepsAnchor,
  lengthSeconds,
  nextSlot,
  type Plan,
  type Slot,
  slotsAfter,
} from '../../../src/controller/schedules/recurrence.rules.ts'
import { dateOf, dayNumber, zone } from '../../../src/kernel/zones.ts'
import { Recurrence } from '../../../src/wire/schedules.ts'

const plan = (recurrence: object, name = 'UTC', anchor = '2026-01-05'): Plan => ({
  anchor: dayNumber(anchor),
  recurrence: Recurrence.parse(recurrence),
  zone: zone(name),
})
const ms = (text: string): number => Date.parse(text)
const starts = (p: Plan, after: string, count: number): string[] =>
  slotsAfter(p, ms(after))
    .take(count)
    .toArray()
    .map((slot) => new Date(slot.startAt).toISOString())
const times = { startTime: '09:00', endTime: '10:00' }
const night = { startTime: '02:30', endTime: '03:30' }

test('weekly 02:30 in Berlin: the first valid instant in March, the earlier one in October', () => {
  const sundays = plan({ mode: 'weekly', daysOfWeek: ['sunday'], ...night }, 'Europe/Berlin')
  assert.deepEqual(starts(sundays, '2026-03-20T00:00:00Z', 3), [
    '2026-03-22T01:30:00.000Z',
    '2026-03-29T01:00:00.000Z',
    '2026-04-05T00:30:00.000Z',
  ])
  assert.deepEqual(starts(sundays, '2026-10-17T00:00:00Z', 3), [
    '2026-10-18T00:30:00.000Z',
    '2026-10-25T00:30:00.000Z',
    '2026-11-01T01:30:00.000Z',
  ])
})

test('a date Samoa never had has no occurrence; its clock changes are followed', () => {
  const daily = plan({ mode: 'daily', ...night }, 'Pacific/Apia')
  assert.deepEqual(starts(daily, '2011-12-28T00:00:00Z', 4), [
    '2011-12-28T12:30:00.000Z',
    '2011-12-29T12:30:00.000Z',
    '2011-12-30T12:30:00.000Z',
    '2011-12-31T12:30:00.000Z',
  ])
  const days = slotsAfter(daily, ms('2011-12-28T00:00:00Z'))
    .take(4)
    .map((slot) => dateOf(slot.day))
    .toArray()
  assert.deepEqual(days, ['2011-12-28', '2011-12-29', '2011-12-31', '2012-01-01'])
  const fridays = plan({ mode: 'weekly', daysOfWeek: ['friday'], ...times }, 'Pacific/Apia')
  assert.deepEqual(starts(fridays, '2011-12-20T00:00:00Z', 2), ['2011-12-23T19:00:00.000Z', '2012-01-05T19:00:00.000Z'])
  // 25 September 2010, midnight: clocks went forward; 3 April 2011, 04:00: back.
  assert.deepEqual(starts(daily, '2010-09-25T00:00:00Z', 3), [
    '2010-09-25T13:30:00.000Z',
    '2010-09-26T12:30:00.000Z',
    '2010-09-27T12:30:00.000Z',
  ])
})

test('half an hour in Lord Howe', () => {
  const daily = plan({ mode: 'daily', startTime: '02:15', endTime: '02:45' }, 'Australia/Lord_Howe')
  assert.deepEqual(starts(daily, '2026-10-02T12:00:00Z', 3), [
    '2026-10-02T15:45:00.000Z',
    '2026-10-03T15:30:00.000Z',
    '2026-10-04T15:15:00.000Z',
  ])
  const twice = plan({ mode: 'daily', startTime: '01:45', endTime: '02:45' }, 'Australia/Lord_Howe')
  assert.deepEqual(starts(twice, '2026-04-03T12:00:00Z', 3), [
    '2026-04-03T14:45:00.000Z',
    '2026-04-04T14:45:00.000Z',
    '2026-04-05T15:15:00.000Z',
  ])
})

test('every n days, weeks and months is counted from the anchor', () => {
  const third = plan({ mode: 'daily', interval: 3, ...times }, 'UTC', '2026-01-05')
  assert.deepEqual(starts(third, '2026-01-06T00:00:00Z', 2), ['2026-01-08T09:00:00.000Z', '2026-01-11T09:00:00.000Z'])
  // The anchor is a Wednesday: its week starts on Monday.
  const weeks = plan({ mode: 'weekly', interval: 2, daysOfWeek: ['monday', 'sunday'], ...times }, 'UTC', '2026-01-07')
  assert.deepEqual(starts(weeks, '2026-01-07T00:00:00Z', 3), [
    '2026-01-11T09:00:00.000Z',
    '2026-01-19T09:00:00.000Z',
    '2026-01-25T09:00:00.000Z',
  ])
  const quarters = plan({ mode: 'monthly', interval: 3, dayOfMonth: 31, ...times }, 'UTC', '2026-01-07')
  assert.deepEqual(starts(quarters, '2026-01-07T00:00:00Z', 3), [
    '2026-01-31T09:00:00.000Z',
    '2026-04-30T09:00:00.000Z',
    '2026-07-31T09:00:00.000Z',
  ])
  const leap = plan({ mode: 'monthly', dayOfMonth: 30, ...times }, 'UTC')
  assert.deepEqual(starts(leap, '2028-02-01T00:00:00Z', 1), ['2028-02-29T09:00:00.000Z'])
})

test('the anchor stands unless what repeats, how often, or the start changes', () => {
  const base = Recurrence.parse({ mode: 'weekly', interval: 2, daysOfWeek: ['monday', 'friday'], ...times })
  const other = (change: object) => keepsAnchor(base, Recurrence.parse({ ...base, ...change }))
  assert.ok(other({}) && other({ daysOfWeek: ['friday', 'monday'] }) && other({ endTime: '12:00' }))
  assert.ok(other({ exceptions: [{ action: 'skip', date: '2026-02-02' }], startEarlySeconds: 60 }))
  assert.ok(!other({ interval: 3 }) && !other({ daysOfWeek: ['monday'] }) && !other({ startTime: '09:30' }))
  assert.ok(!keepsAnchor(base, Recurrence.parse({ mode: 'daily', interval: 2, ...times })))
})

test('buffers widen the slot; its length is constant; the end before the start is the next day', () => {
  const buffers = { startEarlySeconds: 600, stopLateSeconds: 300 }
  const [slot] = slotsAfter(plan({ mode: 'daily', ...times, ...buffers }), ms('2026-01-05T00:00:00Z')).take(1)
  const shown = [slot?.startAt, slot?.scheduledAt, slot?.endAt].map((at) =>
    new Date(at as number).toISOString().slice(11, 16),
  )
  assert.deepEqual(shown, ['08:50', '09:00', '10:05'])
  const length = (r: object) => lengthSeconds(Recurrence.parse(r))
  assert.equal(length({ mode: 'daily', startTime: '22:00', endTime: '01:00' }), 3 * 3600)
  assert.equal(length({ mode: 'daily', startTime: '08:00', endTime: '08:00' }), 24 * 3600)
  assert.equal(length({ mode: 'once', startsAt: 'x', durationSeconds: 60, ...buffers }), 960)
  assert.equal(length({ mode: 'once', startsAt: 'x' }), undefined)
  assert.equal(length({ mode: 'always_on' }), undefined)
})

test('skips and pauses take local dates out', () => {
  const exceptions = [
    { action: 'skip', date: '2026-01-07' },
    { action: 'pause', startDate: '2026-01-09', endDate: '2026-01-11' },
  ]
  const days = slotsAfter(plan({ mode: 'daily', ...times, exceptions }), ms('2026-01-06T00:00:00Z')).take(3)
  assert.deepEqual(days.map((slot) => dateOf(slot.day)).toArray(), ['2026-01-06', '2026-01-08', '2026-01-12'])
  const pacific = plan({ mode: 'daily', ...times, exceptions }, 'Pacific/Kiritimati')
  // 09:00 on the 8th in Kiritimati is 19:00 UTC on the 7th.
  assert.deepEqual(starts(pacific, '2026-01-06T00:00:00Z', 1), ['2026-01-07T19:00:00.000Z'])
})

test('the slot under way is the latest that has started and not ended', () => {
  const p = plan({ mode: 'daily', ...times })
  const current = (at: string) => currentSlot(p, ms(at))?.scheduledAt
  assert.equal(current('2026-01-06T08:59:59Z'), undefined)
  assert.equal(current('2026-01-06T09:00:00Z'), ms('2026-01-06T09:00:00Z'))
  assert.equal(current('2026-01-06T09:59:59Z'), ms('2026-01-06T09:00:00Z'))
  assert.equal(current('2026-01-06T10:00:00Z'), undefined)
  const once = plan({ mode: 'once', startsAt: '2026-01-06T09:00:00.000Z', durationSeconds: 60 })
  assert.ok(currentSlot(once, ms('2026-01-06T09:00:30Z')) && !currentSlot(once, ms('2026-01-06T09:01:00Z')))
})

test('a rule whose days are all paused has no next slot', () => {
  const exceptions = [{ action: 'pause', startDate: '2000-01-01', endDate: '2099-12-31' }]
  assert.equal(nextSlot(plan({ mode: 'daily', ...times, exceptions }), ms('2026-01-06T00:00:00Z')), undefined)
})

// A small generator of its own, so that a failure can be repeated.
function* random(seed: number): Generator<number> {
  for (let x = seed; ; ) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0
    yield x / 2 ** 32
  }
}

const ZONES = [
  ...['UTC', 'Europe/Berlin', 'Europe/Dublin', 'Pacific/Apia', 'Australia/Lord_Howe', 'America/Havana', 'Asia/Tehran'],
  ...[
    'Africa/Casablanca',
    'Pacific/Chatham',
    'America/Scoresbysund',
    'Asia/Kathmandu',
    'America/St_Johns',
    'Africa/Cairo',
  ],
]
const WEEK = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

function anyPlan(dice: () => number): Plan {
  const below = (n: number) => Math.floor(dice() * n)
  const clock = () => `${String(below(24)).padStart(2, '0')}:${String(below(60)).padStart(2, '0')}`
  const mode = ['daily', 'weekly', 'monthly'][below(3)] as string
  const days = WEEK.filter(() => dice() < 0.4)
  const skip = () => ({ action: 'skip', date: dateOf(dayNumber('2010-06-01') + below(6000)) })
  return plan(
    {
      mode,
      ...{ interval: 1 + below(4), daysOfWeek: days.length ? days : ['sunday'], dayOfMonth: 1 + below(31) },
      ...{ startTime: clock(), endTime: clock(), startEarlySeconds: below(86_401), stopLateSeconds: below(86_401) },
      exceptions: Array.from({ length: below(4) }, skip),
    },
    ZONES[below(ZONES.length)],
    dateOf(dayNumber('2010-01-01') + below(400)),
  )
}

function judge(p: Plan, slots: Slot[]): void {
  const { recurrence: r, zone: z } = p
  for (const [i, slot] of slots.entries()) {
    const said = JSON.stringify({ r, slot, day: dateOf(slot.day) })
    const before = slots[i - 1]
    if (before) assert.ok(before.startAt < slot.startAt && before.day < slot.day, said)
    assert.ok(z.hasDay(slot.day) && !isExcepted(r, slot.day), said)
    assert.equal(((slot.endAt as number) - slot.startAt) / 1000, lengthSeconds(r), said)
    const wall = new Date(slot.scheduledAt + z.offset(slot.scheduledAt)).toISOString()
    const named = `${dateOf(slot.day)}T${'startTime' in r ? r.startTime : ''}`
    // Either the wall shows what the rule says, or the clock has just jumped over it.
    const earlier = new Date(slot.scheduledAt - 1000 + z.offset(slot.scheduledAt - 1000)).toISOString()
    assert.ok(wall.startsWith(named) || (earlier < `${named}:00.000Z` && wall > `${named}:00.000Z`), said)
    if (r.mode === 'weekly') assert.ok(r.daysOfWeek.includes(WEEK[(slot.day + 3) % 7] as never), said)
  }
}

test('whatever the zone and the rule: occurrences rise strictly, keep the rule, and are the same from anywhere', () => {
  const numbers = random(28)
  const dice = () => numbers.next().value as number
  for (let round = 0; round < 400; round++) {
    const p = anyPlan(dice)
    const from = ms('2010-06-01T00:00:00Z') + Math.floor(dice() * 5000) * 86_400_000
    const slots = slotsAfter(p, from).take(30).toArray()
    assert.equal(slots.length, 30)
    judge(p, slots)
    // Asking from any of them goes on with the next: nothing is lost, nothing comes twice.
    const middle = slots[Math.floor(dice() * 20)] as Slot
    const again = slotsAfter(p, middle.startAt).take(5).toArray()
    const place = slots.findIndex((slot) => slot.startAt === middle.startAt) + 1
    assert.deepEqual(again, slots.slice(place, place + 5))
  }
})
