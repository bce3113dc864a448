import assert from 'node:assert/strict'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { createBus } from '../../../src/agent/capture/bus.ts'
import { Feeds } from '../../../src/agent/capture/feeds.ts'
import { type Gap, Recorder } from '../../../src/agent/capture/recorder.ts'
import { Standby } from '../../../src/agent/capture/standby.ts'
import type { LocalInterface } from '../../../src/agent/inventory/alsa.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { NodeConfig } from '../../../src/wire/nodes.ts'
import { quick, quiet, tempDir, until } from '../jobs/kit.ts'
import { hands } from './hands.ts'

const RATE = 8000
const asked = { channels: 1, format: 'S16_LE', rate: RATE } as const
const settings = { ...quick, stalledSeconds: 1000, retryPauseSeconds: 0.001 }

function bench(t: TestContext, seconds: number, retryPauseSeconds = settings.retryPauseSeconds) {
  let now = 1000
  const clock = { monotonic: () => now, now: () => 1_700_000_000_000 + now }
  const bus = createBus()
  const heard: string[] = []
  bus.subscribe({
    block: (_, frames, at) => void heard.push(`block ${frames.length / 2} ${at - 1_700_000_000_000}`),
    closed: (_, fault) => void heard.push(`closed ${fault}`),
    gap: (_, gone) => void heard.push(`gap ${gone}`),
    opened: (o) => void heard.push(`opened ${o.interfaceRef}`),
    unavailable: (name, fault) => void heard.push(`unavailable ${name} ${fault}`),
  })
  const feeds = new Feeds({ bus, clock, settings: { ...settings, retryPauseSeconds } })
  t.after(() => feeds.stop())
  const { device, opened } = hands()
  const want = { asked, device, hardware: 'alsa:hw:1,0', how: '', interfaceRef: 'hw:CARD=Desk,DEV=0' }
  const events: [string, Record<string, unknown>][] = []
  const gaps: Gap[] = []
  let written = 0
  const recorder = new Recorder({
    asked,
    attach: (taker) => feeds.take(want, taker),
    clock,
    file: path.join(tempDir(t), 'take.wav'),
    gapsNoted: async () => {},
    makeRoom: async () => {},
    onFrames: (frames) => {
      written = frames
    },
    onGap: (gap) => void gaps.push(gap),
    onStart: async () => {},
    seconds,
    settings,
    tell: (_, name, details) => void events.push([name, details]),
  })
  recorder.start()
  return {
    advance: (ms: number) => {
      now += ms
    },
    events,
    feeds,
    gaps,
    heard,
    opened,
    recorder,
    want,
    written: () => written,
  }
}

const block = (frames: number) => Buffer.alloc(frames * 2, 1)

test('audio that is silently skipped is found by the clock and becomes a gap of its length', async (t) => {
  const b = bench(t, 30)
  await until(() => b.opened.length === 1)
  let given = 0
  const live = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) {
      b.advance(100)
      b.opened[0]!.give(block(800))
      given++
      await until(() => b.heard.filter((words) => words.startsWith('block')).length === given)
    }
  }
  await live(5000)
  b.advance(700)
  await live(6000)
  b.recorder.stop()
  const { frames } = await b.recorder.done
  assert.deepEqual(
    b.gaps.map((gap) => gap.seconds),
    [0.7],
  )
  assert.equal(frames, 11.7 * RATE)
  const [[name, details]] = b.events as [[string, Record<string, unknown>]]
  assert.deepEqual([name, details.noticedBy, details.seconds], ['capture_overrun', 'clock', 0.7])
  const { atFrame } = b.gaps[0]!
  assert.ok(atFrame > 5 * RATE && atFrame < 10 * RATE, `noticed within seconds: ${atFrame}`)
  assert.ok(b.heard.includes('gap 0.7'))
})

test('what the device says it lost is silence at that place, and listeners hear of it', async (t) => {
  const b = bench(t, 30)
  await until(() => b.opened.length === 1)
  b.opened[0]!.give(block(1600))
  await until(() => b.written() === 1600)
  b.opened[0]!.source.onWords!('overrun!!! (at least 12')
  b.opened[0]!.source.onWords!('5.000 ms long)\n')
  await until(() => b.written() === 2600)
  b.opened[0]!.give(block(800))
  await until(() => b.written() === 3400)
  assert.deepEqual(b.gaps, [{ atFrame: 1600, seconds: 0.125 }])
  assert.deepEqual(b.heard, ['opened hw:CARD=Desk,DEV=0', 'block 1600 1000', 'gap 0.125', 'block 800 1000'])
  b.recorder.stop()
  await b.recorder.done
})

test('a device that tells of its losses still stands still without a word, and throws away more than it tells', async (t) => {
  const b = bench(t, 40)
  b.want.device.tells = true
  await until(() => b.opened.length === 1)
  let given = 0
  const live = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) {
      b.advance(100)
      b.opened[0]!.give(block(800))
      given++
      await until(() => b.heard.filter((words) => words.startsWith('block')).length === given)
    }
  }
  await live(5000)
  b.advance(700)
  await live(6000)
  const { atFrame } = b.gaps[0]!
  assert.ok(atFrame > 5 * RATE && atFrame < 6 * RATE, `its place is within a second: ${atFrame}`)
  b.advance(625)
  b.opened[0]!.source.onWords!('overrun!!! (at least 125.000 ms long)\n')
  await live(6000)
  b.recorder.stop()
  await b.recorder.done
  assert.deepEqual(
    b.gaps.map((gap) => gap.seconds),
    [0.7, 0.125, 0.5],
  )
  assert.deepEqual(
    b.events.map(([, details]) => details.noticedBy),
    ['clock', 'device', 'clock'],
  )
})

test('a device that comes back is another opening, and its absence is measured by the clock', async (t) => {
  const b = bench(t, 30)
  await until(() => b.opened.length === 1)
  b.opened[0]!.give(block(800))
  await until(() => b.written() === 800)
  b.opened[0]!.end('arecord: pcm_read:2221: read error: No such device')
  await until(() => b.opened.length === 2)
  b.opened[1]!.end('arecord: main:830: audio open error: No such device')
  await until(() => b.opened.length === 3)
  b.advance(4000)
  b.opened[2]!.give(block(1600))
  await until(() => b.written() >= 2400)
  assert.deepEqual(b.gaps, [{ atFrame: 800, seconds: 3.8 }])
  assert.deepEqual(b.heard, [
    'opened hw:CARD=Desk,DEV=0',
    'block 800 1000',
    'closed arecord: pcm_read:2221: read error: No such device',
    'unavailable hw:1 arecord: main:830: audio open error: No such device',
    'opened hw:CARD=Desk,DEV=0',
    'block 1600 5000',
  ])
  b.recorder.stop()
  assert.equal((await b.recorder.done).frames, 800 + 3.8 * RATE + 1600)
})

test('a device that ran is opened again at once, then at the pace, and one that only flickers at the pace', async (t) => {
  const LOST = 'arecord: pcm_read:2221: read error: No such device'
  const b = bench(t, 30, 3600)
  await until(() => b.opened.length === 1)
  const turns = async () => {
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  // An hour of audio, as far as the clock tells.
  b.opened[0]!.give(block(800))
  await until(() => b.written() === 800)
  b.advance(3_600_000)
  b.opened[0]!.give(block(800))
  await until(() => b.written() === 1600)
  b.opened[0]!.end(LOST)
  await until(() => b.opened.length === 2)
  b.opened[1]!.give(block(800))
  await until(() => b.heard.filter((words) => words.startsWith('opened')).length === 2)
  b.opened[1]!.end(LOST)
  await until(() => b.heard.filter((words) => words.startsWith('closed')).length === 2)
  await turns()
  assert.equal(b.opened.length, 2)
  b.recorder.stop()
  await b.recorder.done
})

test('a device is lent for a look only when nobody has it, and a take waits for the end of the look', async (t) => {
  const bus = createBus()
  const feeds = new Feeds({ bus, clock: { monotonic: () => 0, now: () => 0 }, settings })
  t.after(() => feeds.stop())
  const { device, opened } = hands()
  const want = { asked, device, hardware: 'alsa:hw:1,0', how: '', interfaceRef: 'hw:1' }
  const look = Promise.withResolvers<string>()
  const answer = feeds.spare('alsa:hw:1,0', () => look.promise)
  await new Promise((resolve) => setImmediate(resolve))
  feeds.standby(want)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(opened.length, 0)
  look.resolve('stereo')
  assert.equal(await answer, 'stereo')
  await until(() => opened.length === 1)
  assert.equal(await feeds.spare('alsa:hw:1,0', async () => 'again'), undefined)
  assert.equal(await feeds.spare('alsa:hw:2,0', async () => 'another'), 'another')
  await assert.rejects(feeds.spare('alsa:hw:3,0', () => Promise.reject(new Error('x'))))
  assert.equal(await feeds.spare('alsa:hw:3,0', async () => 'after a failure'), 'after a failure')
})

test('the device kept for meters goes away while a take uses a name that may be the same card, and comes back', async (t) => {
  const feeds = new Feeds({ bus: createBus(), clock: { monotonic: () => 0, now: () => 0 }, settings })
  t.after(() => feeds.stop())
  const [card, vague] = [hands(), hands()]
  const base = { asked, how: '', interfaceRef: 'x' }
  feeds.standby({ ...base, device: card.device, hardware: 'alsa:hw:Desk,0' })
  await until(() => card.opened.length === 1)
  let closed = false
  void card.opened[0]!.source.ended.then(() => {
    closed = true
  })
  const open = vague.device.open
  vague.device.open = (f) => {
    assert.ok(closed, 'never both')
    return open(f)
  }
  const taker = { block: () => {}, failed: () => {}, full: false, hole: () => {}, suits: () => true, told: () => {} }
  const tap = feeds.take({ ...base, device: vague.device, hardware: 'alsa:default' }, taker)
  await until(() => vague.opened.length === 1)
  await tap.release()
  await until(() => card.opened.length === 2)
})

test('meters without a device: the words of the program; made-up meters open nothing', async (t) => {
  const bus = createBus()
  const faults: string[] = []
  bus.subscribe({ block: () => {}, unavailable: (name, fault) => void faults.push(`${name}: ${fault}`) })
  const card = { channelCount: 2, id: 'x', sampleRates: [48_000], systemName: 'Gone', systemRef: 'hw:CARD=Gone,DEV=0' }
  const standby = (meterBackend: 'alsa' | 'synthetic') => {
    const service = new Standby({
      childEnv: { LC_ALL: 'C', PATH: process.env.PATH },
      clock: systemClock,
      feeds: new Feeds({ bus, clock: systemClock, settings }),
      interfaces: async () => [card as LocalInterface],
      log: quiet,
      settings: {
        captureArgsTemplate: `-c 'echo "audio open error: No such file or directory" >&2; exit 1'`,
        captureChannels: 2,
        captureCommand: 'bash',
        captureDevice: 'default',
        captureFormat: 'S16_LE',
        captureSampleRate: 48_000,
        meterBackend,
      },
    })
    t.after(() => service.stop())
    service.start()
    return service
  }
  await standby('synthetic').stop()
  const real = standby('alsa')
  await until(() => faults.length > 0)
  assert.equal(faults[0], 'hw:CARD=Gone,DEV=0: audio open error: No such file or directory')
  real.apply({ audioDefaults: { captureDevice: 'room' } } as NodeConfig)
  await until(() => faults.some((fault) => fault.startsWith('room: ')))
  await real.stop()
})
