import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, membersOf, placesOf } from '../../src/console/access/grants.rules.ts'
import { may } from '../../src/console/app/may.rules.ts'
import { find } from '../../src/console/app/router.rules.ts'
import { differences } from '../../src/console/audit/differences.rules.ts'
import { eventParser, reconnectMs } from '../../src/console/data/sse.rules.ts'
import { momentsOf } from '../../src/console/library/moments.rules.ts'
import { place } from '../../src/console/listen/cushion.rules.ts'
import { pcmReader } from '../../src/console/listen/wav.rules.ts'
import { moved, placeOf, still } from '../../src/console/meters/ballistics.rules.ts'
import { type Heard, listened, spoken } from '../../src/console/onboard/ticks.rules.ts'
import { roomChanges } from '../../src/console/recorders/channels.rules.ts'
import { captureOf, sharesOf } from '../../src/console/rooms/channels.rules.ts'
import { matches, nextIn, nodesByRoom, stateOf, withoutHoles } from '../../src/console/rooms/list.rules.ts'
import { aheadOf, bytesOf, instantOf, lengthOf, soonOf, timeOf } from '../../src/console/time/format.rules.ts'
import { hourly } from '../../src/console/time/hour.rules.ts'
import { instantAt } from '../../src/console/time/wall.rules.ts'
import {
  allOnlyThere,
  coming,
  dangersOf,
  dayAhead,
  deviceOf,
  microphones,
  onlyThere,
  whereMended,
} from '../../src/console/today/today.rules.ts'
import { bodyOf, type Entered } from '../../src/console/ui/form.rules.ts'
import { columns } from '../../src/console/waveform/peaks.rules.ts'
import type { Interface, Node } from '../../src/wire/nodes.ts'
import type { Room } from '../../src/wire/rooms.ts'
import type { CalendarItem } from '../../src/wire/schedules.ts'

test('an address finds its page; what is no page is none', () => {
  const patterns = ['/', '/rooms', '/rooms/:id', '/rooms/:id/label', '/settings/:family/:id']
  assert.deepEqual(find(patterns, '/'), { id: '', part: '', pattern: '/' })
  assert.deepEqual(find(patterns, '/rooms/'), { id: '', part: '', pattern: '/rooms' })
  assert.deepEqual(find(patterns, '/rooms/hall%20one'), { id: 'hall one', part: '', pattern: '/rooms/:id' })
  assert.deepEqual(find(patterns, '/rooms/a/label'), { id: 'a', part: '', pattern: '/rooms/:id/label' })
  assert.deepEqual(find(patterns, '/settings/profiles/p1'), {
    id: 'profiles',
    part: 'p1',
    pattern: '/settings/:family/:id',
  })
  for (const wrong of ['/rooms/a/b', '/nothing', '/rooms/%E0%A4%A'])
    assert.equal(find(patterns, wrong), undefined, wrong)
})

test('a permission comes from a role, or from a capability in some room', () => {
  const ann = { permissions: ['node:read' as const], roomCapabilities: [{ capabilities: ['operate'], roomId: 'hall' }] }
  assert.ok(may(ann, 'node:read', 'anywhere'))
  assert.ok(may(ann, 'recording:create') && may(ann, 'recording:create', 'hall'))
  assert.ok(!may(ann, 'recording:create', 'attic'))
  assert.ok(!may(ann, 'node:manage'), 'no room gives that')
})

test('reconnecting waits longer each time, never for ever', () => {
  assert.deepEqual(
    [1, 2, 3, 6, 50].map((attempt) => reconnectMs(attempt, 0)),
    [1000, 2000, 4000, 30_000, 30_000],
  )
  assert.equal(reconnectMs(1, 1), 750)
})

test('events are read from any pieces; comments and other fields are skipped', () => {
  const text = 'retry: 2000\n\n: still here\n\nevent: meter\ndata: {"a":1}\n\ndata: x\n\n'
  for (const size of [1, 7, text.length]) {
    const heard: string[] = []
    const parse = eventParser((name, data) => heard.push(`${name} ${data}`))
    for (let at = 0; at < text.length; at += size) parse(text.slice(at, at + size))
    assert.deepEqual(heard, ['meter {"a":1}', 'message x'])
  }
})

test('live audio: samples come out whole however the bytes come in', () => {
  const header = Buffer.alloc(44)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(16_000, 24)
  header.writeUInt16LE(16, 34)
  const wav = Buffer.concat([header, Buffer.from(new Int16Array([0, 16_384, -32_768, 32_767]).buffer)])
  for (const size of [1, 5, 46, 100]) {
    const reader = pcmReader()
    const samples: number[] = []
    for (let at = 0; at < wav.length; at += size) samples.push(...reader.push(wav.subarray(at, at + size)))
    assert.deepEqual(
      samples.map((value) => Math.round(value * 100)),
      [0, 50, -100, 100],
      `${size} bytes at once`,
    )
    assert.equal(reader.rate(), 16_000)
  }
  header.writeUInt16LE(2, 22)
  assert.throws(() => pcmReader().push(header), /16-bit mono/)
})

test('pieces of live audio follow without a seam; late ones wait, and a long delay is skipped', () => {
  assert.deepEqual(place(10, 0), { at: 10.1, buffering: true, skipped: 0 })
  assert.equal(place(10, 10.9).skipped, 0)
  assert.deepEqual(place(10, 10.65), { at: 10.65, buffering: false, skipped: 0 })
  assert.deepEqual(place(10, 10.05), { at: 10.4, buffering: true, skipped: 0 })
  assert.ok(place(10, 11.01).skipped > 0)
  const late = place(10, 12)
  assert.equal(late.at, 10.4)
  assert.ok(Math.abs(late.skipped - 1.6) < 1e-9)
})

test('a meter is up at once, falls 20 dB in 1.7 s, and holds its peak for a moment', () => {
  const up = moved(still(), -6, 16)
  assert.deepEqual([up.level, up.hold], [-6, -6])
  const fallen = moved(up, -60, 1700)
  assert.ok(Math.abs(fallen.level - -26) < 1e-9)
  assert.equal(moved(up, -60, 1000).hold, -6)
  assert.ok(moved(moved(up, -60, 1000), -60, 600).hold < -6)
  assert.equal(moved(up, undefined, 60_000).level, -60, 'no frame is no level')
  assert.deepEqual([-80, -60, -30, 0, 6].map(placeOf), [0, 0, 0.5, 1, 1])
})

test('times are those of the named zone, also on the day the clock changes', () => {
  const berlin = { locale: 'en-GB', zone: 'Europe/Berlin' }
  assert.equal(timeOf('2026-03-29T00:59:00Z', berlin), '01:59')
  assert.equal(timeOf('2026-03-29T01:00:00Z', berlin), '03:00')
  assert.equal(instantOf('2026-10-25T23:30:00Z', berlin), 'Mon, 26 Oct 2026, 00:30')
  assert.deepEqual([0, 61.9, 3723, -5].map(lengthOf), ['0:00', '1:01', '1:02:03', '0:00'])
})

test('what is soon has no date: today its time, tomorrow that word, also around the days the clock changes', () => {
  const berlin = { locale: 'en-GB', zone: 'Europe/Berlin' }
  const soon = (at: string, now: string, timeFormat = berlin) => soonOf(at, Date.parse(now), timeFormat)
  assert.equal(soon('2026-03-28T23:30:00Z', '2026-03-28T23:00:00Z'), '00:30')
  assert.equal(soon('2026-03-29T22:30:00Z', '2026-03-28T23:00:00Z'), 'Tomorrow, 00:30')
  assert.equal(soon('2026-10-26T22:30:00Z', '2026-10-24T22:30:00Z'), 'Tomorrow, 23:30')
  assert.equal(soon('2026-10-26T23:30:00Z', '2026-10-24T22:30:00Z'), 'Tue, 27 Oct 2026, 00:30')
  assert.equal(soon('2026-10-25T22:30:00Z', '2026-10-24T21:30:00Z', { ...berlin, locale: 'de-DE' }), 'Morgen, 23:30')
})

test('today: the coming day, and the seconds that exist on recorders only', () => {
  const now = Date.parse('2026-03-02T09:20:00Z')
  assert.deepEqual(dayAhead(now), { end: '2026-03-03T10:00:00.000Z', start: '2026-03-02T09:00:00.000Z' })
  const since = '2026-03-02T09:19:00Z'
  assert.equal(onlyThere({ since, storedSeconds: 15, until: '2026-03-02T10:00:00Z' }, now), 45)
  assert.equal(onlyThere({ since, storedSeconds: 15, until: '2026-03-02T09:19:30Z' }, now), 15, 'it has ended')
  assert.equal(onlyThere({ since, storedSeconds: 90, until: '2026-03-02T10:00:00Z' }, now), 0)
  assert.equal(allOnlyThere({ at: since, growing: 2, seconds: 100, takes: 3 }, now), 220, 'two of them go on')
  const starts = ['2026-03-02T09:19:00Z', '2026-03-02T09:20:00Z', '2026-03-02T09:21:00Z', '2026-03-03T09:21:00Z']
  const items = starts.map((recordingStartAt) => ({ recordingStartAt }) as CalendarItem)
  assert.deepEqual(coming(items, now), [items[2]], 'what runs is not to come')
})

test('today draws the channels of a take, and names them', () => {
  const capture = { channelNames: ['Judge', ''], channels: [3, 4], interfaceId: 'i1', interfaceName: 'Desk' }
  assert.deepEqual(deviceOf(capture), {
    channelCount: 2,
    channels: [
      { alias: 'Judge', index: 3 },
      { alias: '', index: 4 },
    ],
    id: 'i1',
  })
  assert.equal(
    microphones(capture, (n) => `Channel ${n}`),
    'Desk: Judge, Channel 4',
  )
})

test('the clock of a phone that is wrong is set by the answers; what an answer takes is no difference', () => {
  const now = Date.parse('2026-03-02T09:20:00.900Z')
  assert.equal(aheadOf('Mon, 02 Mar 2026 09:19:59 GMT', now), 0)
  assert.equal(aheadOf('Mon, 02 Mar 2026 06:20:00 GMT', now), -3 * 3_600_000 - 900)
})

test('what is at risk leads to the page that mends it', () => {
  const item = { nodeId: 'node/1', scheduleId: 'sched_1' } as CalendarItem
  assert.equal(whereMended('recorder_offline', item), '/recorders/node%2F1')
  assert.equal(whereMended('device_missing', item), '/recorders/node%2F1/setup')
  assert.equal(whereMended('clash', item), '/schedules/sched_1')
  assert.equal(whereMended('device_changed', item), '/recorders/node%2F1/setup')
  assert.equal(whereMended('destination_failing', item), '/settings/destinations')
  assert.equal(whereMended('recorder_offline', { scheduleId: 'sched_1' } as CalendarItem), '/schedules/sched_1')
})

test('a waveform in columns leaves out no peak, whatever the width', () => {
  const channels = [{ max: [0, 0.9, 0, 0.1], min: [0, -0.1, -0.8, 0] }]
  for (const width of [1, 2, 3, 4, 9]) {
    const drawn = columns(channels, width)
    assert.equal(drawn.length, width)
    assert.equal(Math.max(...drawn.map(({ high }) => high)), 0.9, `${width} wide`)
    assert.equal(Math.min(...drawn.map(({ low }) => low)), -0.8, `${width} wide`)
  }
  assert.deepEqual(columns([], 10), [])
})

test('a form is the body it stands for: an emptied number is never 0, a name with dots is a value inside', () => {
  const field = (name: string, value: string, more: Partial<Entered> = {}): Entered => ({
    checked: false,
    empty: 'omit',
    kind: 'text',
    name,
    value,
    ...more,
  })
  assert.deepEqual(
    bodyOf([
      field('name', ' Hall '),
      field('email.port', '587', { kind: 'number' }),
      field('email.host', 'mail.example.org'),
      field('seconds', '', { empty: 'null', kind: 'number' }),
      field('notes', '', { empty: 'text' }),
      field('secret', ''),
      field('enabled', 'on', { checked: true, kind: 'checkbox' }),
      field('tags', 'a, ,b', { kind: 'list' }),
    ]),
    {
      email: { host: 'mail.example.org', port: 587 },
      enabled: true,
      name: ' Hall ',
      notes: '',
      seconds: null,
      tags: ['a', 'b'],
    },
  )
})

test('gaps and alerts stand on a take where they happened; what was before or after it does not', () => {
  const take = { durationSeconds: 60, recordedAt: '2026-03-02T10:00:00.000Z' }
  const alert = (openedAt: string) => ({ openedAt, type: 'agent.meter.clipping' })
  assert.deepEqual(
    momentsOf(
      take,
      [{ atSeconds: 30, seconds: 0.5 }],
      [alert('2026-03-02T09:59:59.000Z'), alert('2026-03-02T10:00:05.000Z'), alert('2026-03-02T10:02:00.000Z')],
    ),
    [
      { alert: 'agent.meter.clipping', atSeconds: 5, seconds: 0 },
      { atSeconds: 30, seconds: 0.5 },
    ],
  )
})

test('a wall time of a zone is an instant, also on the days clocks change', () => {
  assert.equal(instantAt('2026-07-01T10:00', 'Europe/Berlin'), '2026-07-01T08:00:00.000Z')
  assert.equal(instantAt('2026-03-29T02:30', 'Europe/Berlin'), '2026-03-29T01:00:00.000Z')
  assert.equal(instantAt('2026-10-25T02:30', 'Europe/Berlin'), '2026-10-25T00:30:00.000Z')
})

test('bytes are told in the unit a person reads', () => {
  assert.deepEqual(
    [0, 999, 1000, 3_400_000_000].map((n) => bytesOf(n, 'en')),
    ['0 B', '999 B', '1 kB', '3.4 GB'],
  )
})

test('a microphone was spoken into once its level rose 15 dB above its own floor', () => {
  const heard = [
    [-60, -30],
    [-58, -30],
    [-40, -31],
  ].reduce<Heard[]>((before, now) => listened(before, now), [])
  assert.deepEqual(heard.map(spoken), [true, false])
})

test('only channels whose room changes are told, those of one room together', () => {
  const channels = [1, 2, 3, 4].map((index) => ({ alias: `Input ${index}`, index, roomId: 'hall' }))
  const device = { channels, id: 'iface' } as unknown as Interface
  assert.deepEqual(roomChanges(device, { 1: 'booth', 2: 'booth', 3: '', 4: 'hall' }), [
    { channelIndexes: [1, 2], interfaceId: 'iface', roomId: 'booth' },
    { channelIndexes: [3], interfaceId: 'iface', roomId: null },
  ])
})

test('a difference names each place that changed', () => {
  assert.deepEqual(
    differences(
      { a: 1, inner: { x: 'old', y: 2 }, tags: ['a'] },
      { a: 1, inner: { x: 'new', y: 2 }, more: true, tags: [] },
    ),
    [
      { after: 'new', before: 'old', id: 'inner.x' },
      { after: '[]', before: '["a"]', id: 'tags' },
      { after: 'true', before: '', id: 'more' },
    ],
  )
  assert.deepEqual(differences(undefined, undefined), [])
})

test('ticks of places are grants, and grants nobody ticked stay', () => {
  const other = { resourceId: '*', resourceType: 'room' }
  const grants = [
    { resourceId: '*', resourceType: '*' },
    { resourceId: 'North', resourceType: 'site' },
    { resourceId: 'room1', resourceType: 'room' },
    { resourceId: 'node1', resourceType: 'node' },
    other,
  ]
  const asked = { nodes: ['node1'], rooms: ['room1'], sites: ['North'] }
  assert.deepEqual(placesOf(grants), { everywhere: true, other: [other], ...asked })
  assert.deepEqual(grantsOf(placesOf(grants)), grants)
})

test('a room has its part of a device: of a shared one, a take is of its channels alone', () => {
  const device = (more: object) =>
    ({ alias: 'Desk', channelCount: 2, channels: [], id: 'desk', ...more }) as unknown as Interface
  const node = (interfaces: Interface[]) => ({ interfaces, roomId: 'hall' }) as Node
  const taken = (node: Node, roomId: string) => sharesOf(node, roomId).map(captureOf)
  const channels = [
    { alias: '', index: 1 },
    { alias: '', index: 2, roomId: 'booth' },
  ]
  const shared = node([device({ channels })])
  assert.deepEqual(taken(shared, 'hall'), [{ captureChannelSelection: [1], captureInterfaceId: 'desk' }])
  assert.deepEqual(taken(shared, 'booth'), [{ captureChannelSelection: [2], captureInterfaceId: 'desk' }])
  assert.deepEqual(taken(shared, 'attic'), [])
  assert.deepEqual(taken(node([device({})]), 'hall'), [{ captureInterfaceId: 'desk' }], 'it has told of no channels')
  assert.deepEqual(taken(node([device({ absent: true })]), 'hall'), [])
})

test('a group keeps whom somebody else has let in, and does not bring back whom they took out', () => {
  const people = (...ids: string[]) => ids.map((id) => ({ id }))
  const before = people('ann', 'bob', 'cid')
  assert.deepEqual(membersOf(people('bob', 'cid', 'eve'), before, people('ann', 'bob', 'dan')), ['bob', 'eve', 'dan'])
  assert.deepEqual(membersOf(before, before, before), ['ann', 'bob', 'cid'])
})

test('a room in the list has its recorders, the worst of their states, and what comes first in it', () => {
  const device = {
    channels: [
      { alias: '', index: 1, roomId: 'booth' },
      { alias: '', index: 2 },
    ],
  }
  const shared = { id: 'n1', interfaces: [device], roomId: 'hall', status: 'online' } as unknown as Node
  const gone = { id: 'n2', interfaces: [], roomId: 'hall', status: 'offline' } as unknown as Node
  const nodes = nodesByRoom([shared, gone])
  assert.deepEqual(nodes.get('booth'), [shared])
  assert.deepEqual(nodes.get('hall'), [shared, gone])
  assert.equal(stateOf([shared, gone]), 'offline')
  assert.equal(stateOf([]), undefined)
  const room = (name: string, site = 'North') => ({ id: name.toLowerCase(), name, site }) as Room
  const due = (scheduleName: string, recordingStartAt: string, roomId = 'hall') =>
    ({ recordingStartAt, room: 'Hall', roomId, scheduleName }) as CalendarItem
  const items = [
    due('later', '2026-03-02T12:00:00Z'),
    due('began', '2026-03-02T09:00:00Z'),
    due('first', '2026-03-02T11:00:00Z'),
    due('hall of another site', '2026-03-02T10:30:00Z', 'hall-2'),
  ]
  const now = Date.parse('2026-03-02T10:00:00Z')
  assert.equal(nextIn(room('Hall'), items, now)?.scheduleName, 'first')
  assert.equal(nextIn(room('Booth'), items, now), undefined)
  assert.ok(matches(room('Hall'), {}))
  assert.ok(matches(room('Hall'), { q: 'hAL', site: 'North' }))
  assert.ok(!matches(room('Hall'), { site: 'South' }))
  assert.ok(!matches(room('Hall'), { q: 'attic' }))
})

test('each hour is told, also where the clock was put back before the timer ended', () => {
  const hours: number[] = []
  const waits: { fn(): void; ms: number }[] = []
  let now = 3_600_000 * 7 - 5000
  const end = hourly(
    () => now,
    (hour) => hours.push(hour / 3_600_000),
    (fn, ms) => {
      waits.push({ fn, ms })
      return setTimeout(() => {}, 0)
    },
  )
  now = 3_600_000 * 7 - 2000
  waits.shift()?.fn()
  assert.equal(waits[0]?.ms, 2000)
  now = 3_600_000 * 7
  waits.shift()?.fn()
  assert.deepEqual(hours, [6, 7])
  assert.equal(waits[0]?.ms, 3_600_000)
  end()
})

test('what comes in a room is told as far as nothing is left out of it', () => {
  const at = (scheduleId: string, day: number) => ({ recordingStartAt: `2026-12-0${day}T09:00:00.000Z`, scheduleId })
  // Of `a`, daily, three are told; of `b` two, which are all there are.
  const told = [at('a', 1), at('a', 2), at('b', 2), at('a', 3), at('b', 5)]
  assert.deepEqual(withoutHoles(told), told.slice(0, 4))
  assert.deepEqual(withoutHoles([at('b', 2), at('b', 5)]), [at('b', 2), at('b', 5)])
  assert.deepEqual(withoutHoles([]), [])
})

test('a danger that was foreseen and is so now is told once', () => {
  assert.deepEqual(dangersOf({ foreseen: ['device_gone', 'unsynced'], risks: ['device_missing'] }), [
    'device_missing',
    'unsynced',
  ])
  assert.deepEqual(dangersOf({ foreseen: ['disk_short'] }), ['disk_short'])
  assert.deepEqual(dangersOf({}), [])
})
