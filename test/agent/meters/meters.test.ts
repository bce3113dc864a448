import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { createBus, type Opening } from '../../../src/agent/capture/bus.ts'
import { toneOptions, toneSource } from '../../../src/agent/capture/tones.ts'
import type { Happening } from '../../../src/agent/health/report.ts'
import { LinkError } from '../../../src/agent/link/link.ts'
import type { FromAnalyst } from '../../../src/agent/meters/analyst.worker.ts'
import { type MeterSettings, Meters } from '../../../src/agent/meters/meters.ts'
import { FramePoster } from '../../../src/agent/meters/poster.ts'
import { startWorker } from '../../../src/kernel/assets.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { MeterFrame } from '../../../src/wire/meters.ts'
import { noise, pcm, silence, sine, type Wave } from './sound.ts'

const RATE = 8000
const NOW = Date.parse('2030-01-01T00:00:00Z')
const quietLog = { debug: () => {}, error: () => {}, info: () => {}, warn: () => {} }

const opening = (interfaceRef = 'hw:CARD=Desk,DEV=0', channels = 2, test = false): Opening => ({
  device: interfaceRef,
  format: { channels, format: 'S16_LE', rate: RATE },
  interfaceRef,
  test,
})

/** The service on a bus of its own, with real threads and a link that keeps what it is given. */
function kit(
  t: TestContext,
  settings: Partial<MeterSettings> = {},
  send?: (frame: MeterFrame) => Promise<void>,
  start = () => startWorker('agent/meters/analyst'),
) {
  const bus = createBus()
  const frames: MeterFrame[] = []
  const told: Happening[] = []
  const threads: Worker[] = []
  let measured = 0
  const token: { value: string | undefined } = { value: 'svc_node_secret' }
  const errors: unknown[] = []
  const together: MeterFrame[][] = []
  const meters = new Meters({
    bus,
    clock: systemClock,
    interfaces: async () => [{ ...device('Desk', 3), systemRef: 'hw:CARD=Desk,DEV=0' }, device('Bare', 1)],
    link: {
      meterFrame: async (frame) => {
        frames.push(MeterFrame.parse(frame))
        await send?.(frame)
      },
      meterFrames: async (several) => void together.push(several.map((frame) => MeterFrame.parse(frame))),
    },
    log: { ...quietLog, error: (_, fields) => errors.push(fields) } as ConstructorParameters<typeof Meters>[0]['log'],
    report: (happening) => told.push(happening),
    settings: {
      captureDevice: 'default',
      heartbeatSeconds: 1,
      meterBackend: 'alsa',
      meterClipDbfs: -1,
      meterFlatlineDbfs: -120,
      meterLowSignalDbfs: -55,
      meterSampleSeconds: 1,
      nodeId: 'node_1',
      ...settings,
    },
    startAnalyst: () => {
      const thread = start()
      threads.push(thread)
      thread.on('message', ({ measurements }: FromAnalyst) => {
        measured += measurements.length
      })
      return thread
    },
    token: { current: () => token.value, refresh: () => {} },
  })
  meters.start()
  t.after(() => meters.stop())
  return {
    bus,
    errors,
    frames,
    measured: () => measured,
    meters,
    threads,
    token,
    together,
    told,
    types: () => told.map(({ type }) => type),
  }
}

const device = (alias: string, channelCount: number) => ({
  alias,
  backend: 'alsa' as const,
  channelCount,
  channels: [],
  id: `iface_${alias}`,
  sampleRates: [RATE],
  systemName: alias,
})

type Kit = ReturnType<typeof kit>

async function until(what: string, ask: () => boolean): Promise<void> {
  for (const end = performance.now() + 30_000; !ask(); await sleep(5))
    if (performance.now() > end) throw new Error(`waited for ${what}`)
}

/** Publishes one second and waits until it is measured. */
async function measure(k: Kit, of: Opening, waves: Wave[]): Promise<void> {
  const before = k.measured()
  k.bus.block(of, pcm(of.format, RATE, waves), NOW)
  await until('the measurement of a second', () => k.measured() > before)
}

/** The same, and its frame. */
async function second(k: Kit, of: Opening, waves: Wave[]): Promise<MeterFrame> {
  const before = k.frames.length
  await measure(k, of, waves)
  await until('the frame of a second', () => k.frames.length > before)
  return k.frames.at(-1)!
}

test('an open device gives one frame a second, every channel in it, under the ref of the interface', async (t) => {
  const k = kit(t)
  const desk = opening()
  k.bus.opened(desk)
  const frame = await second(k, desk, [sine(100, 0.5, RATE), sine(200, 0.25, RATE)])
  const { levels, ...about } = frame
  assert.deepEqual(about, { capturedAt: '2030-01-01T00:00:00.000Z', interfaceId: desk.interfaceRef, nodeId: 'node_1' })
  assert.deepEqual(
    levels.map(({ channelIndex, label, peakDbfs, rmsDbfs }) => [channelIndex, label, peakDbfs, rmsDbfs]),
    [
      [1, 'Input 1', -6, -9],
      [2, 'Input 2', -12, -15.1],
    ],
  )
  assert.deepEqual(k.told, [])
})

test('the test source is measured and marked, and never judged', async (t) => {
  const k = kit(t)
  const tone = { ...opening('test:tone', 4, true), device: 'test:speed=4' }
  const source = toneSource(tone.format, toneOptions(tone.device), systemClock)
  t.after(() => source.stop())
  k.bus.opened(tone)
  source.pcm.on('data', (bytes: Buffer) => k.bus.block(tone, bytes, systemClock.now()))
  await until('four frames', () => k.frames.length >= 4)
  for (const { levels, synthetic } of k.frames) {
    assert.equal(synthetic, true)
    assert.deepEqual(
      levels.map(({ peakDbfs }) => peakDbfs),
      [-12, -12, -12, -12],
    )
  }
  const dead = { ...tone, device: 'test:tone' }
  k.bus.opened(dead)
  for (let i = 0; i < 4; i++) await second(k, dead, [silence, silence, silence, silence])
  assert.deepEqual(k.types(), [])
})

test('a thread lives as long as something is open, one for all', async (t) => {
  const k = kit(t)
  assert.equal(k.threads.length, 0)
  const [a, b] = [opening('hw:A'), opening('hw:B')]
  k.bus.opened(a)
  k.bus.opened(b)
  await second(k, a, [silence, silence])
  await second(k, b, [silence, silence])
  assert.equal(k.threads.length, 1)
  k.bus.closed(a)
  await second(k, b, [silence, silence])
  k.bus.closed(b)
  await until('the end of the thread', () => k.threads[0]?.threadId === -1)
  k.bus.opened(a)
  await second(k, a, [silence, silence])
  assert.equal(k.threads.length, 2)
  await k.meters.stop()
  assert.equal(k.threads[1]?.threadId, -1)
  assert.deepEqual(k.types(), [])
})

test('an analyst that lags loses sound, never memory, and says so', async (t) => {
  const k = kit(t)
  const desk = opening()
  k.bus.opened(desk)
  const block = pcm(desk.format, RATE, [sine(100, 0.5, RATE), silence])
  // In one turn of the loop no answer can come back: what is beyond the backlog has no place.
  for (let i = 0; i < 60; i++) k.bus.block(desk, block, NOW + i * 1000)
  await until('the analyst to catch up', () => k.told.length === 2)
  assert.deepEqual(k.types(), ['agent.meter.analysis_lagging', 'agent.meter.analysis_caught_up'])
  assert.deepEqual(k.told[1]?.details, { device: desk.device, unmeasuredSeconds: 58 })
  assert.deepEqual(
    k.frames.map(({ capturedAt }) => capturedAt),
    ['2030-01-01T00:00:00.000Z', '2030-01-01T00:00:01.000Z'],
  )
  assert.equal((await second(k, desk, [silence, sine(100, 0.5, RATE)])).levels[1]?.peakDbfs, -6)
  assert.equal(k.told.length, 2)
})

test('an analyst that dies is told and replaced; what is open is measured on', async (t) => {
  const k = kit(t)
  const desk = opening()
  k.bus.opened(desk)
  await second(k, desk, [silence, silence])
  await k.threads[0]?.terminate()
  await until('the next analyst', () => k.threads.length === 2)
  assert.deepEqual(k.types(), ['agent.meter.analysis_failed'])
  assert.deepEqual(k.told[0]?.details, { error: 'the thread ended with 1', openings: 1, retrySeconds: 1 })
  assert.equal((await second(k, desk, [sine(100, 0.5, RATE), silence])).levels[0]?.peakDbfs, -6)
  assert.deepEqual(k.types(), ['agent.meter.analysis_failed', 'agent.meter.analysis_recovered'])
})

test('an analyst that cannot be started does not reach the capture, and is tried again', async (t) => {
  let refusing = true
  const k = kit(t, {}, undefined, () => {
    if (!refusing) return startWorker('agent/meters/analyst')
    refusing = false
    throw new Error('no thread to be had')
  })
  const desk = opening()
  k.bus.opened(desk)
  assert.equal(k.told[0]?.details?.error, 'no thread to be had')
  await until('the analyst', () => k.threads.length === 1)
  await second(k, desk, [silence, silence])
  assert.deepEqual(k.types(), ['agent.meter.analysis_failed', 'agent.meter.analysis_recovered'])
})

test('the next frame waits for the one on its way, and it is the newest; interfaces do not wait for each other', async (t) => {
  const first = Promise.withResolvers<void>()
  const k = kit(t, {}, ({ interfaceId }) => (interfaceId === 'hw:A' ? first.promise : Promise.resolve()))
  const [a, b] = [opening('hw:A', 1), opening('hw:B', 1)]
  k.bus.opened(a)
  k.bus.opened(b)
  await second(k, a, [silence])
  for (const amplitude of [0.1, 0.2, 0.4]) await measure(k, a, [sine(100, amplitude, RATE)])
  await second(k, b, [silence])
  first.resolve()
  await until('the newest', () => k.frames.filter(({ interfaceId }) => interfaceId === 'hw:A').length === 2)
  assert.equal(k.frames.at(-1)?.levels[0]?.peakDbfs, -8)
})

test('frames that may come together do, and the newest at once when somebody watches', async (t) => {
  const k = kit(t)
  const desk = opening()
  k.bus.opened(desk)
  const liveMeters = { framesPerSecond: 4, togetherSeconds: 5 }
  k.meters.apply({ liveMeters: { ...liveMeters, requested: false } })
  for (const amplitude of [0.1, 0.2, 0.4]) await measure(k, desk, [sine(100, amplitude, RATE)])
  assert.deepEqual([k.frames.length, k.together], [1, []], 'the first says that there is sound')
  k.meters.apply({ liveMeters: { ...liveMeters, requested: true } })
  assert.deepEqual(
    k.together.map((frames) => frames.map(({ levels }) => levels[0]?.peakDbfs)),
    [[-14, -8]],
  )
  await measure(k, desk, [sine(100, 0.4, RATE)])
  assert.equal(k.together.length, 1)
})

test('frames that may come together are sent when their time is over', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const sent: MeterFrame[][] = []
  const poster = new FramePoster({
    link: {
      meterFrame: async (frame) => void sent.push([frame]),
      meterFrames: async (frames) => void sent.push([...frames]),
    },
    log: quietLog,
    report: () => {},
    token: { current: () => 'token', refresh: () => {} },
  })
  const of = (channels: number): MeterFrame => ({
    capturedAt: '2026-03-02T08:00:00.000Z',
    interfaceId: 'hw:A',
    levels: Array.from({ length: channels }, (_, i) => ({
      ...{ channelIndex: i + 1, clipping: false, label: 'Input', peakDbfs: -20, rmsDbfs: -30 },
    })),
    nodeId: 'node_1',
  })
  poster.together(5)
  for (const channels of [1, 2, 3]) poster.post(of(channels))
  const counts = () => sent.map((frames) => frames.map(({ levels }) => levels.length))
  assert.deepEqual(counts(), [[1]])
  t.mock.timers.tick(5000)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(counts(), [[1], [2, 3]])
  for (const channels of [256, 256, 256]) poster.post(of(channels))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(counts(), [[1], [2, 3], [256, 256]], 'no more levels in one request than the controller takes')
  poster.stop()
})

test('frames that cannot be sent are told at the first and at the end, and none is sent again', async (t) => {
  let broken = true
  const k = kit(t, {}, async () => {
    if (broken) throw new LinkError('no answer', 503)
  })
  const desk = opening()
  k.bus.opened(desk)
  for (let i = 0; i < 3; i++) await second(k, desk, [sine(100, 0.5, RATE), silence])
  await until('the failure', () => k.told.length === 1)
  broken = false
  for (let i = 0; i < 3; i++) await second(k, desk, [sine(100, 0.5, RATE), silence])
  await until('the recovery', () => k.told.length === 2)
  assert.deepEqual(k.types(), ['agent.meter_frame.sync_failed', 'agent.meter_frame.sync_recovered'])
  assert.deepEqual(k.told[0]?.details, { error: 'no answer', status: 503 })
  assert.equal(k.frames.length, 6)
  assert.deepEqual(k.errors, [])
})

test('without a token nothing is sent, and the inputs are judged all the same', async (t) => {
  const k = kit(t)
  k.token.value = undefined
  const desk = opening()
  k.bus.opened(desk)
  for (const amplitude of [1, 1, 1, 0.5, 0.5, 0.5]) await measure(k, desk, [sine(100, amplitude, RATE), noise(1, 0.2)])
  assert.deepEqual(
    k.told.map(({ severity, type }) => `${severity} ${type}`),
    ['warning agent.meter.clipping', 'info agent.meter.clipping_recovered'],
  )
  const { channels, interfaceId, nodeId } = k.told[0]!.details!
  assert.deepEqual(
    [channels, interfaceId, nodeId],
    [[{ channelIndex: 1, label: 'Input 1', peakDbfs: 0 }], desk.interfaceRef, 'node_1'],
  )
  assert.deepEqual(k.frames, [])
})

test('a device that fails gives no level; its trouble is told once and ends with the first second of sound', async (t) => {
  const k = kit(t)
  const desk = opening()
  for (let i = 0; i < 3; i++) k.bus.unavailable(desk.device, 'arecord: audio open error: Device or resource busy')
  k.bus.opened(desk)
  await second(k, desk, [sine(100, 0.5, RATE), silence])
  k.bus.closed(desk, 'arecord: pcm_read: read error: Input/output error')
  k.bus.unavailable(desk.device, 'killed')
  assert.deepEqual(
    k.told.map(({ severity, type }) => `${severity} ${type}`),
    [
      'critical agent.meter.device_unavailable',
      'info agent.meter.capture_recovered',
      'critical agent.meter.device_unavailable',
      'warning agent.meter.capture_failed',
    ],
  )
  assert.deepEqual(k.told[2]?.details, {
    backend: 'alsa',
    classification: 'device_unavailable',
    device: desk.device,
    error: 'arecord: pcm_read: read error: Input/output error',
    format: 'S16_LE',
    nodeId: 'node_1',
    usingSyntheticFallback: false,
  })
  assert.equal(k.frames.length, 1)
})

test('samples the device lost are an xrun', async (t) => {
  const k = kit(t)
  const desk = opening()
  k.bus.opened(desk)
  k.bus.gap(desk, 0.25)
  k.bus.gap(desk, 0.5)
  for (let i = 0; i < 3; i++) await second(k, desk, [sine(100, 0.5, RATE), silence])
  assert.deepEqual(k.types(), ['agent.meter.xrun', 'agent.meter.capture_recovered'])
  assert.equal(k.told[0]?.details?.seconds, 0.25)
})

test('told to make frames up, it marks them and measures nothing', async (t) => {
  const k = kit(t, { meterBackend: 'synthetic' })
  const desk = opening()
  k.bus.opened(desk)
  k.bus.block(desk, pcm(desk.format, RATE, [silence, silence]), NOW)
  await until('two frames', () => k.frames.length >= 2)
  assert.deepEqual(
    k.frames.slice(0, 2).map(({ interfaceId, levels, synthetic }) => [interfaceId, levels.length, synthetic]),
    [
      ['hw:CARD=Desk,DEV=0', 3, true],
      ['hw:CARD=Desk,DEV=0', 3, true],
    ],
  )
  assert.deepEqual([k.threads.length, k.told.length], [0, 0])
})
