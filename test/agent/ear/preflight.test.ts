import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createBus } from '../../../src/agent/capture/bus.ts'
import { captureDevice } from '../../../src/agent/capture/devices.ts'
import type { Taker } from '../../../src/agent/capture/feed.ts'
import { Feeds } from '../../../src/agent/capture/feeds.ts'
import type { Want } from '../../../src/agent/capture/slot.ts'
import { Ear } from '../../../src/agent/ear/ear.ts'
import { Preflights } from '../../../src/agent/ear/preflight.ts'
import { Accumulator } from '../../../src/agent/meters/accumulator.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { PlannedPreflight, SoundReading } from '../../../src/wire/soundreadings.ts'
import { hands } from '../capture/hands.ts'
import { quick, quiet, until } from '../jobs/kit.ts'
import { noise, pcm } from '../meters/sound.ts'

const RATE = 8000
const FORMAT = { channels: 2, format: 'S16_LE', rate: RATE } as const
const START = Date.parse('2026-03-02T10:00:00.000Z')
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString()

const planned = (more: Partial<PlannedPreflight> = {}): PlannedPreflight => ({
  command: { captureDevice: 'hw:1', captureFormat: 'S16_LE', captureSampleRate: RATE, channels: [2, 1] },
  listenAt: at(-300),
  scheduleId: 'service',
  startsAt: at(0),
  ...more,
})

/** So many seconds of a room. */
const sound = (seconds: number): Buffer => pcm(FORMAT, seconds * RATE, [noise(1, 0.01), noise(2, 0.02)])

/** A recorder's ear on a device in the test's hands; what the meters' thread does is done here at once. */
function recorder(t: TestContext, more: { patienceMs?: number } = {}) {
  let now = START - 300_000
  const bus = createBus()
  const story: string[] = []
  const ear = new Ear()
  let accumulator: Accumulator | undefined
  bus.subscribe({
    block: (opening, frames, capturedAt) => {
      accumulator?.add(frames, capturedAt)
      for (const slice of accumulator?.slices() ?? []) ear.heard(opening, slice)
    },
    closed: (_, fault) => void story.push(`closed ${fault ?? 'on purpose'}`),
    opened: ({ interfaceRef }) => {
      story.push(`opened ${interfaceRef}`)
      accumulator = new Accumulator(FORMAT, { clipDbfs: -1, seconds: 1 })
      accumulator.listen(true)
    },
    unavailable: (device) => void story.push(`unavailable ${device}`),
  })
  const feeds = new Feeds({
    bus,
    clock: systemClock,
    settings: { ...quick, retryPauseSeconds: 0.001, stalledSeconds: 1000 },
  })
  const { device, opened } = hands()
  const want: Want = { asked: FORMAT, device, hardware: 'alsa:hw:1,0', how: '', interfaceRef: 'hw:CARD=Desk,DEV=0' }
  const readings: { freshMs: number; reading: SoundReading }[] = []
  let wanted: () => Promise<Want> = async () => want
  const preflights = new Preflights({
    ear,
    feeds,
    log: quiet,
    now: () => now,
    poster: { post: (reading, freshMs) => void readings.push({ freshMs, reading }) },
    want: () => wanted(),
    ...more,
  })
  preflights.start()
  t.after(async () => {
    await preflights.stop()
    await feeds.stop()
  })
  /** Lets everything run that can. */
  const turns = async () => {
    for (let n = 0; n < 30; n++) await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    feeds,
    opened,
    preflights,
    readings,
    story,
    turns,
    want,
    wants: (next: () => Promise<Want>) => {
      wanted = next
    },
    /** Time passes, and the controller says the same once more. */
    pass: async (seconds: number, ...plans: PlannedPreflight[]) => {
      now += seconds * 1000
      preflights.apply({ preflights: plans })
      await turns()
    },
  }
}

/** A take that counts what it gets. */
function taking() {
  const got = { frames: 0, holes: 0, losses: [] as string[] }
  const taker: Taker = {
    block: (frames) => {
      got.frames += frames.length / 4
    },
    failed: ({ said }) => void got.losses.push(said),
    full: false,
    hole: () => {
      got.holes++
    },
    suits: () => true,
    told: () => {},
  }
  return { got, taker }
}

test('five minutes before a take its device is opened once, heard for four seconds, and closed', async (t) => {
  const r = recorder(t)
  await r.pass(-1, planned())
  assert.equal(r.opened.length, 0, 'not before its time')
  await r.pass(1, planned())
  await until(() => r.opened.length === 1)
  r.opened[0]!.give(sound(5))
  await until(() => r.story.includes('closed on purpose'))
  const { freshMs, reading } = r.readings[0]!
  assert.ok(reading.kind === 'preflight')
  const { heardAt, prints, scheduleId, seconds, startsAt } = reading
  assert.deepEqual([scheduleId, startsAt, heardAt, seconds], ['service', at(0), at(-300), 4])
  assert.deepEqual(
    prints.map(({ channelIndex }) => channelIndex),
    [2, 1],
    'the channels of the take',
  )
  assert.ok(prints[0]!.floorDbfs - prints[1]!.floorDbfs > 5, 'each its own')
  assert.equal(freshMs, 300_000, 'worth nothing once the take has begun')
  await r.pass(60, planned())
  assert.deepEqual([r.opened.length, r.readings.length], [1, 1])
})

test('what the meters have open is listened to, and stays open', async (t) => {
  const r = recorder(t)
  r.feeds.standby({ ...r.want, asked: { ...FORMAT, channels: 1 }, how: 'meters' })
  await until(() => r.opened.length === 1)
  r.opened[0]!.give(sound(1))
  await until(() => r.story.length === 1)
  await r.pass(0, planned())
  for (let n = 0; n < 6; n++) r.opened[0]!.give(sound(1))
  await until(() => r.readings.length === 1)
  assert.equal(r.readings[0]!.reading.kind, 'preflight')
  await r.turns()
  assert.deepEqual([r.opened.length, r.story], [1, ['opened hw:CARD=Desk,DEV=0']])
})

test('a take that begins meanwhile gets the device as it is, loses nothing, and the preflight comes again later', async (t) => {
  const r = recorder(t)
  await r.pass(0, planned())
  await until(() => r.opened.length === 1)
  r.opened[0]!.give(sound(1))
  await until(() => r.story.length === 1)
  const { got, taker } = taking()
  const tap = r.feeds.take(r.want, taker)
  await r.turns()
  r.opened[0]!.give(sound(6))
  await until(() => got.frames === 6 * RATE)
  assert.deepEqual([r.opened.length, got.holes, got.losses, r.readings], [1, 0, [], []])
  await r.pass(20, planned())
  assert.deepEqual([r.opened.length, r.readings.length], [1, 0], 'what a take has is not listened to')
  await tap.release()
  assert.deepEqual(r.story, ['opened hw:CARD=Desk,DEV=0', 'closed on purpose'])
  await r.pass(20, planned())
  await until(() => r.opened.length === 2)
  r.opened[1]!.give(sound(5))
  await until(() => r.readings.length === 1)
})

test('a take that opens the device in another way has it as soon as it is closed', async (t) => {
  const r = recorder(t)
  await r.pass(0, planned())
  await until(() => r.opened.length === 1)
  r.opened[0]!.give(sound(1))
  await until(() => r.story.length === 1)
  const { got, taker } = taking()
  const tap = r.feeds.take({ ...r.want, asked: { ...FORMAT, rate: 16_000 }, how: 'other' }, taker)
  await until(() => r.opened.length === 2)
  r.opened[1]!.give(sound(1))
  await until(() => got.frames > 0)
  assert.deepEqual([got.holes, got.losses, r.readings], [0, [], []])
  await tap.release()
})

test('a device that another program has, or that is gone, is told of by its own words, and not by the meters', async (t) => {
  const r = recorder(t, { patienceMs: 200 })
  await r.pass(0, planned())
  await until(() => r.opened.length === 1)
  r.opened[0]!.end('arecord: main:830: audio open error: Device or resource busy')
  await until(() => r.readings.length === 1)
  const { reading } = r.readings[0]!
  assert.ok(reading.kind === 'unopened')
  assert.match(reading.fault, /Device or resource busy|nothing was heard/)
  assert.deepEqual(
    r.story.filter((line) => line.startsWith('unavailable')),
    [],
  )
  await r.pass(60, planned())
  assert.equal(r.readings.length, 1, 'once is enough')
})

test('what may not be opened, and what cannot, is told; a test tone says nothing about a room', async (t) => {
  const r = recorder(t)
  r.wants(() => Promise.reject(new Error('capture_device_not_allowed: hw:9')))
  await r.pass(0, planned())
  await until(() => r.readings.length === 1)
  assert.deepEqual(r.readings[0]!.reading, {
    fault: 'capture_device_not_allowed: hw:9',
    heardAt: at(-300),
    kind: 'unopened',
    scheduleId: 'service',
    startsAt: at(0),
  })
  const request = { backend: 'alsa', command: 'arecord', device: 'test:room', env: {}, seconds: 60 } as const
  r.wants(async () => ({ ...r.want, device: captureDevice(request, systemClock) }))
  await r.pass(0, planned({ scheduleId: 'tone' }))
  assert.deepEqual([r.readings.length, r.story], [1, []])
})

test('shortly before its take nothing is opened any more, nor for what is planned no longer', async (t) => {
  const r = recorder(t)
  await r.pass(275, planned())
  assert.equal(r.opened.length, 0)
  await r.pass(0, planned({ listenAt: at(10), scheduleId: 'later', startsAt: at(310) }))
  await r.pass(60)
  assert.deepEqual([r.opened.length, r.readings.length], [0, 0])
})

test('two takes of one device are listened for one after the other', async (t) => {
  const r = recorder(t)
  await r.pass(0, planned({ scheduleId: 'b', startsAt: at(60) }), planned({ scheduleId: 'a' }))
  await until(() => r.opened.length === 1)
  r.opened[0]!.give(sound(5))
  await until(() => r.opened.length === 2)
  r.opened[1]!.give(sound(5))
  await until(() => r.readings.length === 2)
  assert.deepEqual(
    r.readings.map(({ reading }) => 'scheduleId' in reading && reading.scheduleId),
    ['a', 'b'],
  )
})
