import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lag } from '../../../src/agent/capture/lag.rules.ts'

const RATE = 48_000

interface Life {
  /** Ms a block comes late, by its index. */
  late?: (block: number) => number
  /** Frames lost before a block. */
  lost?: (block: number) => number
  /** Frames of a block. */
  period?: number
  /** Of the card's clock, relative. */
  drift?: number
  seconds: number
  /** Whether the source says what it lost, and says something before that block. */
  told?: (block: number) => boolean
}

/** Lives through a stream and returns what was inserted: at which second, how many ms. */
function live({ drift = 0, late = () => 0, lost = () => 0, period = 4800, seconds, told }: Life): [number, number][] {
  const lag = new Lag(RATE, told !== undefined)
  const inserted: [number, number][] = []
  let [frames, played] = [0, 0]
  for (let block = 0; played < seconds * RATE; block++) {
    played += lost(block) + period
    frames += period
    if (told?.(block)) lag.told()
    const now = (played / (RATE * (1 + drift))) * 1000 + late(block)
    const missing = lag.arrived(now, frames)
    frames += missing
    if (missing > 0) inserted.push([Math.round(now / 10) / 100, Math.round((missing / RATE) * 1000)])
  }
  return inserted
}

const NEVER = () => false

test('a steady stream has no gap, whatever its blocks', () => {
  for (const period of [256, 4800, 24_000, 96_000]) assert.deepEqual(live({ period, seconds: 300 }), [])
})

test('lost audio is found within seconds, with its length', () => {
  const lost = (block: number) => (block === 100 ? 0.3 * RATE : 0)
  const [[at, ms] = [0, 0], ...more] = live({ lost, seconds: 60 })
  assert.ok(at >= 10 && at <= 15, `found at ${at} s`)
  assert.equal(ms, 300)
  assert.deepEqual(more, [])
})

test('losses one after the other are all found, small ones together', () => {
  const lost = (block: number) => (block > 0 && block % 50 === 0 ? 0.03 * RATE : 0)
  const sum = live({ lost, seconds: 120 }).reduce((all, [, ms]) => all + ms, 0)
  const all = 23 * 30
  assert.ok(sum <= all && sum > all - 120, `${sum} of ${all} ms`)
})

test('the drift of a card is no loss, in either direction and over a day', () => {
  for (const drift of [-700e-6, -300e-6, -50e-6, 50e-6, 300e-6, 700e-6])
    assert.deepEqual(live({ drift, seconds: 86_400 }), [])
  for (const drift of [-700e-6, 700e-6]) assert.deepEqual(live({ drift, period: 96_000, seconds: 86_400 }), [])
})

test('drift with the unrest of buffers is no loss, over hours', () => {
  const late = (block: number) => ((block * 7919) % 101) / 4
  for (const drift of [-700e-6, 700e-6]) assert.deepEqual(live({ drift, late, seconds: 21_600 }), [])
})

test('a loss of 60 ms is found within seconds at any drift, also after hours', () => {
  for (const drift of [-700e-6, 0, 700e-6])
    for (const at of [100, 36_000]) {
      const lost = (block: number) => (block === at ? 0.06 * RATE : 0)
      const [[second, ms] = [0, 0], ...more] = live({ drift, lost, seconds: at / 10 + 60 })
      assert.ok(second >= at / 10 && second <= at / 10 + 6, `drift ${drift}: found at ${second} s`)
      assert.ok(Math.abs(ms - 60) <= 5, `drift ${drift}: ${ms} ms`)
      assert.deepEqual(more, [])
    }
})

test('a clock that is being set right is no loss', () => {
  // An offset of 0.1 s, an eighth of the rest each second, and back again.
  const late = (block: number) => 100 * Math.exp(-Math.abs(block - 3000) / 80)
  assert.deepEqual(live({ late: (block) => 100 - late(block), seconds: 600 }), [])
  assert.deepEqual(live({ late, seconds: 600 }), [])
})

test('a clock that is far behind is set right while it is recorded, and nothing is put in', () => {
  // What systemd-timesyncd leaves to the kernel is below 0.4 s: an eighth of the rest each second.
  for (const told of [undefined, NEVER])
    for (const [period, perSecond] of [
      [1024, RATE / 1024],
      [6000, 8],
    ] as const)
      for (const behind of [150, 200, 300, 400]) {
        const late = (block: number) => behind * (1 - Math.exp(-Math.max(0, block / perSecond - 60) / 8))
        assert.deepEqual(live({ late, period, seconds: 300, ...(told && { told }) }), [], `${behind} ms, ${period}`)
      }
})

test('a loss that is a little more than the unrest is seen, whole', () => {
  const seen = Array.from({ length: 60 }, (_, seed) => {
    const late = (block: number) => ((((block + seed * 977) * 7919) % 997) / 997) * 60
    const lost = (block: number) => (block === 400 + seed ? 0.07 * RATE : 0)
    return live({ late, lost, period: 6000, seconds: 120, told: NEVER }).reduce((all, [, ms]) => all + ms, 0)
  })
  assert.ok(seen.filter((ms) => ms === 0).length <= 3, `${seen}`)
  assert.ok(Math.max(...seen) <= 90, `${seen}`)
})

test('what a source says it lost is no more than what is missing', () => {
  const lag = new Lag(RATE, true)
  let frames = 0
  for (let ms = 100; ms <= 5000; ms += 100) {
    frames += 4800
    lag.arrived(ms, frames)
  }
  assert.equal(lag.missing(6600, frames, 1500), 1500)
  assert.equal(lag.missing(6100, frames, 1500), 1100)
  assert.equal(lag.missing(5000, frames, 1500), 0)
  assert.equal(new Lag(RATE, true).missing(5000, 0, 1500), 1500)
})

test('a source that tells of its losses is believed; the clock adds what it threw away with them', () => {
  const lost = (block: number) => (block === 100 ? 0.3 * RATE : 0)
  const [[at, ms] = [0, 0], ...more] = live({ lost, seconds: 60, told: (block) => block === 100 })
  assert.ok(at >= 10 && at <= 15, `found at ${at} s`)
  assert.ok(Math.abs(ms - 300) <= 1, `${ms} ms`)
  assert.deepEqual(more, [])
})

test('a card that stands still and goes on has its gap within a second, whether or not its program tells of losses', () => {
  for (const told of [undefined, NEVER])
    for (const drift of [-200e-6, 0, 200e-6])
      for (const seconds of [0.7, 3, 9.5]) {
        const lost = (block: number) => (block === 400 ? seconds * RATE : 0)
        const found = live({ drift, lost, period: 6000, seconds: 120, ...(told && { told }) })
        const [[at, ms] = [0, 0], ...more] = found
        const since = at - (50 + seconds)
        assert.ok(since >= 0 && since <= 1, `${seconds} s, drift ${drift}: found ${since} s behind`)
        assert.ok(Math.abs(ms - seconds * 1000) <= 20, `${seconds} s, drift ${drift}: ${ms} ms`)
        assert.deepEqual(more, [])
      }
})

test('a card that stands still in its first second, or again and again, is followed', () => {
  const at = [2, 12, 40, 48, 56, 400]
  const lost = (block: number) => (at.includes(block) ? 0.8 * RATE : 0)
  const found = live({ lost, period: 6000, seconds: 120, told: NEVER })
  const sum = found.reduce((all, [, ms]) => all + ms, 0)
  assert.ok(Math.abs(sum - at.length * 800) <= 20, `${sum} of ${at.length * 800} ms: ${found}`)
})

test('a short stop of a card that would tell of overruns is found late, but found', () => {
  const lost = (block: number) => (block === 100 ? 0.3 * RATE : 0)
  const [[at, ms] = [0, 0], ...more] = live({ lost, seconds: 60, told: NEVER })
  assert.ok(at >= 10 && at <= 25, `found at ${at} s`)
  assert.equal(ms, 300)
  assert.deepEqual(more, [])
})

test('what buffers held back while the machine was busy is no loss', () => {
  const period = 6000
  // Falls behind for two seconds, stays as far behind as ALSA holds for two more, and catches up.
  const behind = (block: number) => Math.max(0, Math.min(500, (block - 80) * 31, (block - 112 - 16) * -100 + 500))
  // A pipe of seconds that is read slowly after the machine stood still.
  const drained = (block: number) => (block < 80 ? 0 : Math.max(0, 3000 - (block - 80) * 80))
  // Wakes up anywhere within a third of a second, for a minute.
  const anywhere = (block: number) => (block > 80 && block < 560 ? ((block * 7919) % 331) + 20 : 0)
  for (const late of [behind, drained, anywhere])
    assert.deepEqual(live({ late, period, seconds: 120, told: NEVER }), [])
})

test('late arrivals that catch up are no loss', () => {
  const jitter = (block: number) => [0, 3, 40, 0, 110, 11, 70][block % 7]!
  assert.deepEqual(live({ late: jitter, seconds: 120 }), [])
  const stalled = (block: number) => (block >= 100 && block < 110 ? (110 - block) * 100 : 0)
  assert.deepEqual(live({ late: stalled, seconds: 120 }), [])
})

test('a loss is found through jitter, and its length is not that of the jitter', () => {
  const late = (block: number) => [0, 3, 40, 0, 110, 11, 70][block % 7]!
  const lost = (block: number) => (block === 200 ? 0.1 * RATE : 0)
  assert.deepEqual(
    live({ late, lost, seconds: 60 }).map(([, ms]) => ms),
    [100],
  )
})

test('a machine that is busy for a second and a half is no lost audio', () => {
  const late = (block: number) => (block >= 90 && block < 112 ? 90 + (block % 3) : 0)
  assert.deepEqual(live({ late, seconds: 60 }), [])
})

test('a backlog of this machine says nothing about the source', () => {
  const lag = new Lag(RATE)
  let frames = 0
  const give = (now: number) => {
    frames += 4800
    return lag.arrived(now, frames)
  }
  for (let ms = 100; ms <= 5000; ms += 100) assert.equal(give(ms), 0)
  // The disk hung for three seconds: everything comes at once afterwards.
  lag.restart()
  for (let block = 0; block < 30; block++) assert.equal(give(8000), 0)
  for (let ms = 8100; ms <= 20_000; ms += 100) assert.equal(give(ms), 0)
})
