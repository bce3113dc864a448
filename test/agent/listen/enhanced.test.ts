import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { PcmFormat } from '../../../src/agent/audio/format.rules.ts'
import { EMBEDDED_MODEL } from '../../../src/agent/enhance/model.rules.ts'
import type { ListenDeps } from '../../../src/agent/listen/listen.ts'
import { startWorker } from '../../../src/kernel/assets.ts'
import { pcm, speech } from '../meters/sound.ts'
import { asked, openingOf, Room, until } from './kit.ts'

const MONO: PcmFormat = { channels: 1, format: 'S16_LE', rate: 48_000 }
const BLOCK = 2 * 960

/** A room whose denoising threads are counted. */
class Denoised extends Room {
  readonly desk = openingOf('hw:CARD=Desk,DEV=0', MONO)
  alive = 0
  started = 0

  constructor(t: TestContext, more: Partial<ListenDeps> = {}, worker?: () => Worker) {
    super(t, {
      startEnhancer: (model) => {
        this.started++
        this.alive++
        const thread = worker?.() ?? startWorker('agent/listen/denoise', { workerData: { model } })
        thread.once('exit', () => this.alive--)
        return thread
      },
      ...more,
    })
    this.bus.opened(this.desk)
  }

  seconds(rendition: 'enhanced' | 'raw'): number {
    return this.heard(rendition).length / 16_000
  }

  /** Plays over and over until it is so, not faster than the enhanced pieces come back. */
  async playUntil(voice: Buffer, what: () => boolean): Promise<void> {
    let begun: number | undefined
    for (let at = 0; !what(); at = (at + BLOCK) % voice.length) {
      this.sound(this.desk, voice.subarray(at, at + BLOCK))
      const behind = () => this.seconds('raw') - (begun ?? 0) - this.seconds('enhanced') > 1
      if (this.seconds('enhanced') > 0) begun ??= this.seconds('raw') - this.seconds('enhanced')
      await sleep(begun === undefined || behind() ? 10 : 0)
    }
  }
}

const thread = (text: string) => () =>
  new Worker(`const { parentPort } = require('node:worker_threads'); ${text}`, { eval: true })

/** Of two signals, how far the first lies behind the second, in samples: where they go together best. */
function shift(a: number[], b: number[], most: number): number {
  const product = (by: number) => a.slice(most, -most).reduce((sum, x, n) => sum + x * b[n + most - by]!, 0)
  const shifts = Array.from({ length: 2 * most + 1 }, (_, n) => n - most)
  return shifts.reduce((best, by) => (product(by) > product(best) ? by : best))
}

describe('enhanced live audio', () => {
  const voice = speech()
  const spoken = pcm(MONO, voice.length, [(i) => 0.3 * voice[i]!])

  test('comes while it is asked for, beside the raw one, cut at the same places and in time with it', async (t) => {
    const room = new Denoised(t)
    room.listen.apply(asked(true))
    await room.playUntil(spoken, () => room.seconds('raw') > 1)
    assert.deepEqual([room.started, room.seconds('enhanced')], [0, 0])
    room.listen.apply(asked(true, true))
    await room.playUntil(spoken, () => room.seconds('enhanced') >= 5)
    const [raw, enhanced] = (['raw', 'enhanced'] as const).map((name) => room.sent.filter((c) => c.rendition === name))
    const begins = enhanced![0]!.capturedAt
    const beside = (begins - raw![0]!.capturedAt) % 250
    assert.ok(Math.min(beside, 250 - beside) <= 1, `begins ${beside} ms after a raw piece`)
    assert.deepEqual(
      enhanced!.map(({ sequence }) => sequence),
      enhanced!.map((_, n) => n),
    )
    const from = Math.round((begins - raw![0]!.capturedAt) * 16)
    const rawToo = room.heard().slice(from)
    const count = 16_000 * 4
    const late = shift(room.heard('enhanced').slice(0, count), rawToo.slice(0, count), 40)
    assert.ok(Math.abs(late) <= 16, `${late} samples of 16 kHz behind the raw one`)
    room.listen.apply(asked(true, false))
    await room.settle()
    const had = room.seconds('enhanced')
    await room.playUntil(spoken, () => room.alive === 0)
    assert.equal(room.seconds('enhanced'), had)
    assert.deepEqual([room.types, room.started], [[], 1])
  })

  test('a listener that changes its mind finds the engine still there', async (t) => {
    const room = new Denoised(t)
    room.listen.apply(asked(true, true))
    await room.playUntil(spoken, () => room.seconds('enhanced') > 0.5)
    room.listen.apply(asked(true, false))
    room.play(room.desk, 0.5)
    room.listen.apply(asked(false))
    room.listen.apply(asked(true, true))
    const had = room.seconds('enhanced')
    await room.playUntil(spoken, () => room.seconds('enhanced') > had + 0.5)
    assert.equal(room.started, 1)
    await room.listen.stop()
    assert.equal(room.alive, 0)
  })

  test('a model that is of no use leaves the other engine, and is told once', async (t) => {
    const room = new Denoised(t, { model: { ...EMBEDDED_MODEL, file: '/nonexistent/model.onnx' } })
    room.listen.apply(asked(true, true))
    await room.playUntil(spoken, () => room.seconds('enhanced') >= 2)
    assert.deepEqual(room.types, ['enhancement_fallback'])
    assert.match(String(room.events[0]!.details?.error), /nonexistent/)
  })

  test('without any engine the raw one goes on, told once, and no thread is left', async (t) => {
    const none = thread(`parentPort.postMessage({ failed: 'nothing loads' })`)
    const room = new Denoised(t, {}, none)
    room.listen.apply(asked(true, true))
    await until(() => room.started >= 2 && room.alive === 0)
    room.play(room.desk, 1)
    await until(() => room.seconds('raw') >= 0.75)
    assert.deepEqual([room.types, room.seconds('enhanced')], [['enhancement_failed'], 0])
    assert.equal(room.events[0]!.details?.error, 'nothing loads')
  })

  test('an engine that does not keep up is ended, whatever it was given', async (t) => {
    const slow = thread(`parentPort.on('message', () => {}); parentPort.postMessage({ engine: 'rnnoise' })`)
    const room = new Denoised(t, {}, slow)
    room.listen.apply(asked(true, true))
    await until(() => room.alive === 1)
    await room.playUntil(spoken, () => room.types.length > 0)
    await until(() => room.alive === 0)
    assert.match(String(room.events[0]!.details?.error), /keep up/)
  })

  test('a thread that dies is started again', async (t) => {
    let first = true
    const room = new Denoised(t, {}, () => {
      const dying = first
      first = false
      return thread(dying ? 'process.exit(3)' : `parentPort.on('message', () => {})`)()
    })
    room.listen.apply(asked(true, true))
    await until(() => room.started === 2)
    assert.deepEqual(room.types, ['enhancement_failed'])
  })
})
