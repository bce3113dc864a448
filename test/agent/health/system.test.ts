import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import type { Happening } from '../../../src/agent/health/report.ts'
import { HEALTHY, judge, levelOf, type Reading } from '../../../src/agent/health/system.rules.ts'
import { createSystemHealth } from '../../../src/agent/health/system.ts'
import { isInstalled } from '../../../src/system/host/ffmpeg.ts'
import { quiet, until } from '../jobs/kit.ts'
import { tempDir } from '../server.ts'

const limits = { disk: { critical: 95, warning: 85 }, loadPerCore: { critical: 4, warning: 2 } }

/** The events of readings one after the other, as [type, severity]. */
function story(readings: Reading[]): string[] {
  let levels = HEALTHY
  return readings.flatMap((reading) => {
    const [next, events] = judge(levels, reading, limits)
    levels = next
    return events.map(({ severity, type }) => `${type.replace('agent.', '')} ${severity}`)
  })
}

const disk = (usedPercent: number): Reading => ({ disk: { freeBytes: 1, usedPercent } })
const load = (loadAverage: number): Reading => ({ load: { cores: 2, loadAverage } })

test('a limit counts from its own value on', () => {
  assert.deepEqual(
    [84.9, 85, 94.9, 95].map((value) => levelOf(value, limits.disk)),
    ['ok', 'warning', 'warning', 'critical'],
  )
})

test('disk and load are told when their level changes; a healthy start is silent', () => {
  assert.deepEqual(story([disk(50), disk(86), disk(90), disk(96), disk(90), disk(80), disk(80)]), [
    'system.disk_pressure warning',
    'system.disk_pressure critical',
    'system.disk_pressure warning',
    'system.disk_recovered info',
  ])
  assert.deepEqual(story([load(3.9), load(4), load(8), load(1)]), [
    'system.cpu_pressure warning',
    'system.cpu_pressure critical',
    'system.cpu_recovered info',
  ])
})

test('a machine without a device to record from is told, and when there is one again', () => {
  assert.deepEqual(story([{ audio: false }, { audio: false }, { audio: true }, { audio: true }]), [
    'audio_backend.unavailable warning',
    'audio_backend.recovered info',
  ])
})

test('a machine that cannot encode is told at the first look, and when it can', async (t) => {
  const dir = tempDir(t)
  const events: Happening[] = []
  const errors: string[] = []
  const health = createSystemHealth({
    encoder: () => isInstalled('ffmpeg', dir),
    everyMs: 5,
    gauge: async () => undefined,
    limits,
    loadavgPath: '/nonexistent',
    log: { ...quiet, error: (message: string) => void errors.push(message) },
    report: (h) => void events.push(h),
  })
  health.start()
  t.after(() => health.stop())
  await until(() => events.length === 1)
  assert.deepEqual([events[0]?.type, events[0]?.severity], ['agent.encoder.missing', 'critical'])
  assert.match(errors.join(), /ffmpeg is not installed.*apt-get install ffmpeg/)
  fs.writeFileSync(path.join(dir, 'ffmpeg'), '', { mode: 0o755 })
  await until(() => events.length === 2)
  assert.deepEqual([events[1]?.type, events[1]?.severity], ['agent.encoder.recovered', 'info'])
})

test('the test source is a device to record from', async (t) => {
  const events: Happening[] = []
  const space = { freeBytes: 10, usedPercent: 10 }
  const health = createSystemHealth({
    encoder: async () => true,
    everyMs: 5,
    gauge: async () => space,
    limits,
    loadavgPath: path.join(tempDir(t), 'none'),
    log: quiet,
    report: (h) => void events.push(h),
  })
  health.heard([{ backend: 'unknown', channelCount: 2, systemRef: 'test:tone' }])
  health.start()
  // Told in the same look as the audio: by then the audio was judged.
  space.usedPercent = 99
  await until(() => events.length > 0)
  await health.stop()
  assert.deepEqual(
    events.map((e) => e.type),
    ['agent.system.disk_pressure'],
  )
})

test('what cannot be measured changes nothing', () => {
  assert.deepEqual(story([disk(90), {}, disk(90), {}]), ['system.disk_pressure warning'])
})

test('the details say what was seen and where the limits are', () => {
  const [, [pressure, cpu]] = judge(HEALTHY, { ...disk(90.456), load: { cores: 2, loadAverage: 5 } }, limits)
  assert.deepEqual(pressure?.details, { criticalAt: 95, freeBytes: 1, usedPercent: 90.46, warningAt: 85 })
  assert.deepEqual(cpu?.details, { cores: 2, criticalAt: 4, loadAverage: 5, loadPerCore: 2.5, warningAt: 2 })
})

test('the machine is looked at as long as the service runs', async (t) => {
  const loadavgPath = path.join(tempDir(t), 'loadavg')
  fs.writeFileSync(loadavgPath, '0.00 0.01 0.05 1/100 1\n')
  const events: Happening[] = []
  const space = { freeBytes: 10, usedPercent: 99 }
  const health = createSystemHealth({
    encoder: async () => true,
    everyMs: 5,
    gauge: async () => space,
    limits,
    loadavgPath,
    log: quiet,
    report: (h) => void events.push(h),
  })
  health.heard([{ backend: 'unknown', channelCount: 2 }])
  health.start()
  await until(() => events.length === 2)
  fs.writeFileSync(loadavgPath, '100000.00 0.01 0.05 1/100 1\n')
  space.usedPercent = 10
  health.heard([{ backend: 'alsa', channelCount: 2 }])
  await until(() => events.length === 5)
  await health.stop()
  assert.deepEqual(
    events.map((e) => e.type.replace('agent.', '')),
    ['system.disk_pressure', 'audio_backend.unavailable', ...events.slice(2).map((e) => e.type.replace('agent.', ''))],
  )
  assert.deepEqual(
    events
      .slice(2)
      .map((e) => e.type)
      .sort(),
    ['agent.audio_backend.recovered', 'agent.system.cpu_pressure', 'agent.system.disk_recovered'],
  )
})
