import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  channelOf,
  collector,
  pointsFor,
  previewOf,
  resampled,
} from '../../../../src/controller/recordings/waveforms/peaks.rules.ts'

test('more slices than expected become wider ones, and no extreme is lost', () => {
  const wanted = 4
  const collected = collector(2, wanted)
  for (let i = 0; i < 37; i++) collected.add([i === 20 ? -1 : -0.1, i === 9 ? 0.5 : 0.1, -0.2, 0.2])
  const peaks = collected.peaks()
  assert.ok(peaks.points >= wanted && peaks.points < 2 * wanted, String(peaks.points))
  const left = channelOf(peaks, 0)
  // Eight slices a point: the ninth and the twentieth.
  assert.deepEqual(left.max, [0.102, 0.504, 0.102, 0.102, 0.102])
  assert.deepEqual(left.min, [-0.102, -0.102, -1, -0.102, -0.102])
  assert.deepEqual(channelOf(peaks, 1).max, [0.197, 0.197, 0.197, 0.197, 0.197])
})

test('fewer points keep the extremes, more than there are stay as they are', () => {
  const collected = collector(1, 10)
  for (const level of [0, 0.25, 1, 0, -1, 0, 0.5]) collected.add([Math.min(0, level), Math.max(0, level)])
  const peaks = collected.peaks()
  assert.equal(resampled(peaks, 100), peaks)
  const few = resampled(peaks, 3)
  assert.deepEqual(channelOf(few, 0), { min: [0, 0, -1], max: [0.252, 1, 0.504] })
  const facts = { generatedAt: 'then', sampleCount: 7, sampleRate: 8000 }
  assert.deepEqual(previewOf(few, facts), {
    ...facts,
    channelCount: 1,
    peaks: [0.252, 1, 1],
    source: 'ffmpeg_decoded_peak',
  })
})

test('what is kept of a file is bounded however many channels it has', () => {
  for (const channels of [1, 2, 64, 512]) assert.ok(pointsFor(channels) * channels * 2 <= 131_072)
  assert.equal(pointsFor(1), 4000)
})
