import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classify, DeviceWatch } from '../../../src/agent/meters/faults.rules.ts'
import { type Edge, InputWatch } from '../../../src/agent/meters/watch.rules.ts'
import type { AudioLevel, AudioQuality, MeterFrame } from '../../../src/wire/meters.ts'

const THRESHOLDS = { clipDbfs: -1, flatlineDbfs: -120, lowSignalDbfs: -55 }
const QUALITY: AudioQuality = {
  broadbandNoiseScore: 0.1,
  crestFactorDb: 12,
  estimatedSnrDb: 20,
  humScore: 0.2,
  intelligibilityScore: 0.7,
  noiseScore: 0.3,
  speechLike: true,
  speechScore: 0.8,
  staticScore: 0.4,
  zeroCrossingRate: 0.1,
}

const level = (channelIndex: number, rmsDbfs = -30, more: Partial<AudioLevel> = {}): AudioLevel => ({
  channelIndex,
  clipping: false,
  label: `Input ${channelIndex}`,
  peakDbfs: Math.min(0, rmsDbfs + 10),
  quality: QUALITY,
  rmsDbfs,
  ...more,
})
const clipped = (channelIndex: number, peakDbfs: number) => level(channelIndex, -10, { clipping: true, peakDbfs })
const like = (channelIndex: number, peerChannelIndex: number, score: number) => {
  const phase = score < 0 ? 'inverted' : ('same' as const)
  return level(channelIndex, -30, { quality: { ...QUALITY, channelCorrelation: { peerChannelIndex, phase, score } } })
}
const frame = (levels: AudioLevel[]): MeterFrame => ({
  capturedAt: '2030-01-01T00:00:00.000Z',
  interfaceId: 'hw:CARD=Desk,DEV=0',
  levels,
  nodeId: 'node_1',
})

const names = (edges: Edge[]) => edges.map(({ raised, rule }) => `${raised ? '+' : '-'}${rule}`)
/** What each frame told, by name. */
const story = (watch: InputWatch, frames: AudioLevel[][]) => frames.map((levels) => names(watch.add(frame(levels))))

const good = [level(1), level(2)]

test('three frames raise, three clear, once each', () => {
  const watch = new InputWatch(THRESHOLDS, 1)
  const bad = [level(1), clipped(2, -0.5)]
  const frames = [bad, bad, good, bad, bad, bad, bad, good, good, bad, good, good, good, good]
  const told = story(watch, frames)
  assert.deepEqual(told.flat(), ['+clipping', '-clipping'])
  assert.deepEqual(
    told.flatMap((edges, i) => (edges.length > 0 ? [i] : [])),
    [5, 12],
  )
})

test('frames that are judged together count once, and none of them is overlooked', () => {
  const watch = new InputWatch(THRESHOLDS, 5)
  const window = (bad: AudioLevel[]) => [good, good, bad, good, good]
  const told = story(
    watch,
    [...Array(3)].flatMap(() => window([clipped(1, 0), level(2)])),
  )
  assert.deepEqual(told.flat(), ['+clipping'])
  assert.deepEqual(told.at(-1), ['+clipping'])
  // A pause of a speaker is no low signal: something was heard within each judgement.
  const faint = [level(1, -70), level(2, -80)]
  const pauses = story(
    new InputWatch(THRESHOLDS, 5),
    [...Array(4)].flatMap(() => [faint, faint, good, faint, faint]),
  )
  assert.deepEqual(pauses.flat(), [])
})

test('clipping names its channels at their loudest', () => {
  const watch = new InputWatch(THRESHOLDS, 2)
  const edges = [...Array(6)].flatMap((_, i) => watch.add(frame([clipped(1, i % 2 ? -0.2 : -0.8), level(2)])))
  assert.deepEqual(edges[0]?.details, {
    capturedAt: '2030-01-01T00:00:00.000Z',
    channels: [{ channelIndex: 1, label: 'Input 1', peakDbfs: -0.2 }],
    clipDbfs: -1,
    faultScore: 0.8,
    interfaceId: 'hw:CARD=Desk,DEV=0',
    nodeId: 'node_1',
    quality: {
      maxBroadbandNoiseScore: 0.1,
      maxHumScore: 0.2,
      maxNoiseScore: 0.3,
      maxSpeechScore: 0.8,
      maxStaticScore: 0.4,
      minEstimatedSnrDb: 20,
      minIntelligibilityScore: 0.7,
    },
  })
})

test('every channel dead is a flatline and no low signal; one channel that is heard is neither', () => {
  const watch = new InputWatch(THRESHOLDS, 1)
  const raise = (levels: AudioLevel[]) => [...Array(3)].flatMap(() => watch.add(frame(levels)))
  const [flat, ...more] = raise([level(1, -160), level(2, -140)])
  assert.equal(more.length, 0)
  assert.equal(flat?.rule, 'flatline')
  const { faultScore, flatlineDbfs, maxRmsDbfs } = flat!.details
  assert.deepEqual({ faultScore, flatlineDbfs, maxRmsDbfs }, { faultScore: 0.5, flatlineDbfs: -120, maxRmsDbfs: -140 })
  assert.deepEqual(names(raise([level(1, -160), level(2, -70)])), ['-flatline', '+low_signal'])
  const [low] = raise([level(1, -160), level(2, -54)])
  assert.deepEqual([low?.rule, low?.raised], ['low_signal', false])
  const details = low!.details as Record<string, unknown>
  assert.deepEqual(
    [details.lowSignalDbfs, details.maxRmsDbfs, details.maxSpeechScore, details.faultScore],
    [-55, -54, 0.8, 0],
  )
})

test('correlation tells each pair once, from 0.98', () => {
  const watch = new InputWatch(THRESHOLDS, 1)
  const levels = [
    like(1, 2, -1),
    like(2, 1, -1),
    like(3, 4, 0.97),
    like(4, 3, 0.97),
    like(5, 6, 0.99),
    like(6, 5, 0.99),
  ]
  const [edge] = [...Array(3)].flatMap(() => watch.add(frame(levels)))
  assert.equal(edge?.rule, 'channel_correlation')
  const { correlationAbsScore, faultScore, pairs } = edge!.details
  assert.deepEqual([correlationAbsScore, faultScore], [1, 1])
  assert.deepEqual(pairs, [
    { leftChannelIndex: 1, phase: 'inverted', rightChannelIndex: 2, score: -1 },
    { leftChannelIndex: 5, phase: 'same', rightChannelIndex: 6, score: 0.99 },
  ])
})

test('a frame without levels says nothing', () => {
  assert.deepEqual(story(new InputWatch(THRESHOLDS, 1), [[], [], [], []]).flat(), [])
})

test('words of the program that captures are classified as the contract has it', () => {
  for (const words of ['overrun!!! (at least 3 ms long)', 'Underrun', 'XRUN', 'read error: Broken pipe'])
    assert.equal(classify(words), 'xrun')
  for (const words of [
    'audio open error: No such device',
    'No such file or directory',
    'Unknown PCM hw:9',
    'cannot find card 9',
    'audio open error: Device or resource busy',
    'read error: Input/output error',
  ])
    assert.equal(classify(words), 'device_unavailable')
  assert.equal(classify('Segmentation fault'), 'capture_failed')
})

test('a device in trouble is told once per kind, and once when it is heard again', () => {
  const watch = new DeviceWatch()
  const types = (edges: { severity: string; type: string }[]) =>
    edges.map(({ severity, type }) => `${severity} ${type}`)
  const device = 'hw:CARD=Desk,DEV=0'
  assert.deepEqual(watch.heard(device), [])
  assert.deepEqual(types(watch.fault(device, 'device_unavailable', {})), ['critical agent.meter.device_unavailable'])
  assert.deepEqual(types(watch.fault(device, 'device_unavailable', {})), [])
  assert.deepEqual(types(watch.fault('hw:other', 'capture_failed', {})), ['warning agent.meter.capture_failed'])
  assert.deepEqual(types(watch.fault(device, 'capture_failed', {})), ['warning agent.meter.capture_failed'])
  const [back, ...more] = watch.heard(`plug${device}`)
  assert.deepEqual(more, [])
  assert.equal(back?.type, 'agent.meter.capture_recovered')
  assert.deepEqual(back?.details, {
    device: `plug${device}`,
    previousKind: 'capture_failed',
    previousType: 'agent.meter.capture_failed',
  })
  assert.deepEqual(watch.heard(device), [])
})

test('a device that skips every few seconds is told once, until three frames are whole', () => {
  const watch = new DeviceWatch()
  const skip = () => watch.fault('hw:0', 'xrun', { seconds: 0.01 })
  assert.equal(skip().length, 1)
  for (let i = 0; i < 10; i++) {
    assert.deepEqual([...watch.heard('hw:0'), ...watch.heard('hw:0')], [])
    assert.deepEqual(skip(), [])
  }
  assert.deepEqual([watch.heard('hw:0').length, watch.heard('hw:0').length, watch.heard('hw:0').length], [0, 0, 1])
})

test('devices of any name do not pile up', () => {
  const watch = new DeviceWatch()
  for (let i = 0; i < 1000; i++) watch.fault(`hw:${i}`, 'device_unavailable', {})
  assert.equal(watch.heard('hw:0').length, 0, 'the oldest is forgotten')
  assert.equal(watch.heard('hw:999').length, 1)
})
