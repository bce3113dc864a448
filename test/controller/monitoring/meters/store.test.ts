import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meterStore } from '../../../../src/controller/monitoring/meters/meters.store.ts'
import { iso } from '../../../../src/kernel/clock.ts'
import { frame, level, quality } from './frames.ts'

const START = Date.parse('2026-03-02T09:00:00.000Z')
const at = (second: number): string => iso(START + second * 1000)

test('history is newest first and gives back what came, flags and optional scores included', () => {
  const meters = meterStore(600)
  const rich = frame('n1', 'i1', 2, {
    capturedAt: at(0),
    levels: [
      level(1, { clipping: true, peakDbfs: 0, rmsDbfs: -160 }),
      level(7, {
        label: 'Pult – Ä',
        quality: { ...quality(), channelCorrelation: { peerChannelIndex: 1, phase: 'inverted', score: -0.98 } },
      }),
      { channelIndex: 9, clipping: false, label: 'x', peakDbfs: 24, rmsDbfs: -0.1 },
    ],
  })
  const plain = frame('n1', 'i1', 1, { capturedAt: at(1), synthetic: true })
  meters.put('n1', rich, at(0))
  meters.put('n1', plain, at(2))
  assert.deepEqual(meters.history('n1', 10), [
    { frame: plain, nodeId: 'n1', receivedAt: at(2) },
    { frame: rich, nodeId: 'n1', receivedAt: at(0) },
  ])
  assert.deepEqual(meters.history('n2', 10), [])
})

test('history keeps to its limit per node and to what is asked for', () => {
  const meters = meterStore(100)
  for (let i = 0; i < 400; i++) meters.put('n1', frame('n1', 'i1', 1 + (i % 3), { capturedAt: at(i) }), at(i))
  assert.equal(meters.history('n1', 1000).length, 100)
  assert.deepEqual(
    meters.history('n1', 3).map((s) => s.receivedAt),
    [at(399), at(398), at(397)],
  )
})

test('the newest frame is kept per interface, exactly as it came', () => {
  const meters = meterStore(600)
  const first = frame('n1', 'i1', 1, { levels: [level(1, { peakDbfs: -12.345678 })] })
  meters.put('n1', first, at(0))
  meters.put('n1', frame('n1', 'i2'), at(1))
  assert.equal(meters.latest('n1')?.frame.interfaceId, 'i2')
  assert.deepEqual(meters.latest('n1', 'i1')?.frame, first)
  assert.equal(meters.latest('n1', 'i3'), undefined)
  assert.deepEqual(
    meters.snapshot().map((s) => s.frame.interfaceId),
    ['i1', 'i2'],
  )
})

test('names of interfaces that come and go do not grow what is kept', () => {
  const meters = meterStore(10)
  for (let i = 0; i < 500; i++) meters.put('n1', frame('n1', `made up ${i}`), at(i))
  assert.equal(meters.snapshot().length, 64)
  assert.equal(meters.latest('n1')?.frame.interfaceId, 'made up 499')
})

test('all histories together stay within the budget: the oldest go first', () => {
  const budget = 4 * 1024 * 1024
  const meters = meterStore(600, budget)
  let most = 0
  for (let second = 0; second < 40; second++)
    for (let node = 0; node < 20; node++) {
      // Labels that change with every frame are the worst a node can send.
      const levels = Array.from({ length: 512 }, (_, i) => level(i + 1, { label: `${second} ${i} `.padEnd(100, 'x') }))
      meters.put(`n${node}`, frame(`n${node}`, 'i1', 0, { levels }), at(second))
      most = Math.max(most, meters.usedBytes())
    }
  assert.ok(most <= budget, `${most} bytes`)
  assert.ok(most > budget / 2)
  assert.equal(meters.history('n19', 1)[0]?.receivedAt, at(39))
  assert.equal(meters.latest('n0')?.receivedAt, at(39))
})

test('a frame without levels is a frame', () => {
  const meters = meterStore(600)
  meters.put('n1', frame('n1', 'i1', 0), at(0))
  assert.deepEqual(meters.history('n1', 1)[0]?.frame.levels, [])
})

test('subscribers hear every frame until they end it', () => {
  const meters = meterStore(600)
  const heard: string[] = []
  const end = meters.subscribe((sample) => heard.push(sample.nodeId))
  meters.put('n1', frame('n1', 'i1'), at(0))
  end()
  meters.put('n2', frame('n2', 'i1'), at(0))
  assert.deepEqual(heard, ['n1'])
})
