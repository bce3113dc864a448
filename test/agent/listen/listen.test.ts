import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { LinkError } from '../../../src/agent/link/link.ts'
import { demandOf } from '../../../src/agent/listen/demand.rules.ts'
import { createMonitor } from '../../../src/agent/listen/monitor.ts'
import { asked, openingOf, Room, STEREO, until } from './kit.ts'

const DESK = 'hw:CARD=Desk,DEV=0'
const DOOR = 'hw:CARD=Door,DEV=0'

/** The tones as a monitor mix hears them, from their beginning. */
function mixOf(t: TestContext, seconds: number): number[] {
  const out: number[] = []
  const monitor = createMonitor(openingOf(DESK), 250, { full: () => undefined, piece: ({ pcm }) => out.push(...pcm) })
  const room = new Room(t)
  room.bus.subscribe({ block: (_, frames, at) => monitor.block(frames, at) })
  room.play(openingOf(DESK), seconds)
  monitor.end()
  return out
}

describe('live listen', () => {
  test('holds nothing while nobody listens, and nothing again afterwards', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    room.bus.opened(desk)
    room.listen.apply(asked(false))
    room.play(desk, 1)
    assert.deepEqual([room.subscriptions, room.sent.length], [0, 0])
    room.listen.apply(asked(true))
    room.play(desk, 1)
    await until(() => room.heard().length >= 12_000)
    room.listen.apply(asked(false))
    assert.equal(room.subscriptions, 0)
    const sent = room.sent.length
    room.play(desk, 2)
    await room.settle()
    assert.equal(room.sent.length, sent)
  })

  test('sends every sample once and in order, numbered and stamped', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    room.bus.opened(desk)
    room.listen.apply(asked(true))
    const began = room.now
    for (let n = 0; n < 30; n++) {
      room.play(desk, 0.3)
      await room.settle()
    }
    await until(() => room.heard().length >= 8.75 * 16_000)
    assert.deepEqual(room.heard(), mixOf(t, 9.5).slice(0, 8.75 * 16_000))
    assert.deepEqual(
      room.sent.map(({ sequence }) => sequence),
      room.sent.map((_, n) => n),
    )
    let ms = 0
    for (const { capturedAt, durationMs, rendition } of room.sent) {
      assert.deepEqual([capturedAt - began, rendition], [ms, 'raw'])
      ms += durationMs
    }
    assert.deepEqual(room.events, [])
  })

  test('a hole of the device is heard as silence, and the numbers go on', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    room.bus.opened(desk)
    room.listen.apply(asked(true))
    room.play(desk, 1)
    room.now += 500
    room.bus.gap(desk, 0.5)
    room.play(desk, 1)
    await until(() => room.heard().length === 2.25 * 16_000)
    assert.ok(
      room
        .heard()
        .slice(16_200, 23_800)
        .every((x) => x === 0),
    )
    assert.deepEqual(
      room.sent.map(({ sequence }) => sequence),
      room.sent.map((_, n) => n),
    )
  })

  test('a hole before the first sound is none', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    room.bus.opened(desk)
    room.listen.apply(asked(true))
    room.bus.gap(desk, 1)
    const began = room.now
    room.play(desk, 1)
    await until(() => room.heard().length >= 12_000)
    assert.equal(room.sent[0]!.capturedAt, began)
    assert.equal(room.heard().length, 12_000)
  })

  test('hears the device that was open first, another while it is away, and it again when it is back', async (t) => {
    const room = new Room(t)
    const [desk, door, again] = [openingOf(DESK), openingOf(DOOR), openingOf(DESK, { ...STEREO, rate: 44_100 })]
    room.bus.opened(desk)
    room.bus.opened(door)
    room.listen.apply(asked(true))
    const heardOf = async (opening: typeof desk) => {
      const before = room.heard().length
      room.play(opening, 1)
      await room.settle()
      return room.heard().length > before
    }
    assert.deepEqual([await heardOf(door), await heardOf(desk)], [false, true])
    room.bus.closed(desk, 'No such device')
    assert.equal(await heardOf(door), true)
    room.bus.opened(again)
    await room.settle()
    assert.deepEqual([await heardOf(door), await heardOf(again)], [false, true])
  })

  test('a way that fails for a moment loses nothing and is told once', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    let failures = 2
    room.way = async () => {
      if (failures-- > 0) throw new LinkError('busy', 503)
    }
    room.bus.opened(desk)
    room.listen.apply(asked(true))
    room.play(desk, 3)
    await until(() => room.heard().length === 2.75 * 16_000)
    assert.deepEqual(room.heard(), mixOf(t, 3).slice(0, 2.75 * 16_000))
    assert.deepEqual(room.types, ['chunk.sync_failed', 'chunk.sync_recovered'])
    // What waited went together.
    assert.ok(room.sent.length < 5, `${room.sent.length} requests`)
  })

  test('a way that is too slow loses the oldest, keeps memory bounded, says it once, and goes on', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    const opened = Promise.withResolvers<void>()
    room.way = () => opened.promise
    room.bus.opened(desk)
    room.listen.apply(asked(true))
    room.play(desk, 0.5)
    await room.settle()
    room.play(desk, 60)
    assert.deepEqual(room.types, ['audio_dropped'])
    opened.resolve()
    await until(() => room.types.includes('audio_dropped_recovered'))
    // The first request was under way, what it held is not dropped; of the rest the last ten seconds.
    const seconds = room.heard().length / 16_000
    assert.ok(seconds > 9 && seconds < 11, `${seconds} s arrived`)
    const dropped = room.events.at(-1)!.details?.seconds as number
    assert.ok(Math.abs(60.5 - seconds - dropped) <= 0.25, `${dropped} s dropped, ${seconds} s arrived`)
    // A gap in the audio is a gap in the numbers.
    const numbers = room.sent.map(({ sequence }) => sequence)
    assert.equal(numbers.at(-1)! - numbers[0]!, numbers.length)
    assert.equal(room.types.length, 2)
  })

  test('while nothing gets through nothing is made; when the way is free it begins again', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    let free = false
    room.way = async () => {
      if (!free) throw new LinkError('no answer')
    }
    room.bus.opened(desk)
    room.listen.apply(asked(true))
    room.play(desk, 1)
    await until(() => room.types.length > 0)
    room.now += 20_000
    await until(() => room.subscriptions === 0)
    room.play(desk, 30)
    free = true
    await until(() => room.subscriptions === 1)
    assert.deepEqual(room.types, ['chunk.sync_failed', 'chunk.sync_recovered'])
  })

  test('what the controller refuses for good is not sent again, and the rest is', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    let first = true
    room.way = async () => {
      if (!first) return
      first = false
      throw new LinkError('refused', 400)
    }
    room.bus.opened(desk)
    room.listen.apply(asked(true))
    room.play(desk, 0.5)
    await until(() => !first)
    room.play(desk, 1)
    await until(() => room.heard().length > 0)
    assert.deepEqual(room.types, ['chunk.sync_failed', 'chunk.sync_recovered'])
  })

  test('stopping does not wait for a request that hangs', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    const hanging = Promise.withResolvers<void>()
    room.way = (_, signal) =>
      new Promise((_, reject) => {
        hanging.resolve()
        signal?.addEventListener('abort', () => reject(new LinkError('stopped')))
      })
    room.bus.opened(desk)
    room.listen.apply(asked(true))
    room.play(desk, 1)
    await hanging.promise
    await room.listen.stop()
    assert.deepEqual([room.sent, room.types, room.subscriptions], [[], [], 0])
  })

  test('a controller that does not know of live audio gets a second of it with each heartbeat', async (t) => {
    const room = new Room(t)
    const desk = openingOf(DESK)
    room.bus.opened(desk)
    room.listen.apply(asked(undefined))
    for (let n = 0; n < 40; n++) {
      room.play(desk, 0.5)
      await room.settle()
    }
    assert.deepEqual(
      room.sent.map(({ audio, durationMs }) => [audio.length, durationMs]),
      Array(4).fill([32_044, 1000]),
    )
  })

  test('what is sent follows from what the controller says', () => {
    const of = (listening?: boolean, enhanced?: boolean) => Object.values(demandOf(asked(listening, enhanced)))
    assert.deepEqual(of(false, true), [false, 250, 'off'])
    assert.deepEqual(of(true, false), [false, 250, 'continuous'])
    assert.deepEqual(of(true, true), [true, 250, 'continuous'])
    // Unknown to it, but whoever wants it enhanced listens.
    assert.deepEqual(of(undefined, false), [false, 1000, 'samples'])
    assert.deepEqual(of(undefined, true), [true, 1000, 'continuous'])
  })
})
