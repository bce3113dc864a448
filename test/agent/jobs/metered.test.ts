import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBus } from '../../../src/agent/capture/bus.ts'
import { captureDevice } from '../../../src/agent/capture/devices.ts'
import { Feeds } from '../../../src/agent/capture/feeds.ts'
import { Meters } from '../../../src/agent/meters/meters.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { MeterFrame } from '../../../src/wire/meters.ts'
import { job, quick, quiet, tempDir, until, world } from './kit.ts'

test('an interface that is not the metered one is open, and metered, as long as its take; then its frames end', async (t) => {
  const bus = createBus()
  const story: string[] = []
  bus.subscribe({
    block: () => {},
    closed: ({ interfaceRef }, fault) => void story.push(`closed ${interfaceRef} ${fault ?? 'on purpose'}`),
    opened: ({ interfaceRef }) => void story.push(`opened ${interfaceRef}`),
  })
  const frames: MeterFrame[] = []
  const told: string[] = []
  const meters = new Meters({
    bus,
    clock: systemClock,
    interfaces: async () => [],
    link: {
      meterFrame: async (frame) => void frames.push(frame),
      meterFrames: async (several) => void frames.push(...several),
    },
    log: quiet,
    report: ({ type }) => void told.push(type),
    settings: {
      captureDevice: 'test:room',
      heartbeatSeconds: 1,
      meterBackend: 'alsa',
      meterClipDbfs: -1,
      meterFlatlineDbfs: -120,
      meterLowSignalDbfs: -55,
      meterSampleSeconds: 0.2,
      nodeId: 'node_1',
    },
    token: { current: () => 'svc_node_secret', refresh: () => {} },
  })
  meters.start()
  t.after(() => meters.stop())
  const feeds = new Feeds({ bus, clock: systemClock, settings: quick })
  t.after(() => feeds.stop())
  const name = 'test:room'
  const request = { backend: 'alsa', command: 'arecord', device: name, env: {}, seconds: 60 } as const
  const asked = { channels: 2, format: 'S16_LE', rate: 48_000 } as const
  feeds.standby({ asked, device: captureDevice(request, systemClock), hardware: name, how: '', interfaceRef: name })
  const w = world(t, {}, tempDir(t), { feeds })
  const count = (ref: string) => frames.filter((frame) => frame.interfaceId === ref).length

  w.runner.accept(w.link.add(job('a', { captureDevice: 'test:stage', durationSeconds: 2 })))
  await until(() => count('test:stage') >= 2 && count(name) >= 2)
  assert.equal(bus.openings().length, 2)
  await w.runner.idle()
  assert.deepEqual(
    bus.openings().map((o) => o.interfaceRef),
    [name],
  )
  // What the analyst had in hand comes before the next frames of the other.
  const then = count(name)
  await until(() => count(name) >= then + 2)
  const ended = count('test:stage')
  await until(() => count(name) >= then + 5)
  assert.equal(count('test:stage'), ended)
  assert.deepEqual(story.slice().sort(), ['closed test:stage on purpose', 'opened test:room', 'opened test:stage'])
  assert.deepEqual(told, [])
})
