// Prints one measured frame for a person at the terminal; opens the device for it.

import { systemClock } from '../../kernel/clock.ts'
import { UserError } from '../../kernel/fail.ts'
import type { MeterFrame } from '../../wire/meters.ts'
import { createBus, type Opening } from '../capture/bus.ts'
import { captureDevice, streamFormat } from '../capture/devices.ts'
import { Feed } from '../capture/feed.ts'
import type { Device } from '../capture/source.ts'
import { type StandbyWish, standbyWish } from '../capture/standby.rules.ts'
import type { AgentConfig } from '../config.ts'
import type { LocalInterface } from '../inventory/alsa.ts'
import { Accumulator, type Measurement } from './accumulator.ts'
import { frameOf } from './meters.ts'
import { meteredOf, syntheticFrame } from './synthetic.ts'

const PATIENCE = { growthGraceSeconds: 5, retryPauseSeconds: 1, stalledSeconds: 5 }

/** Measures the metering device for SVC_METER_SAMPLE_SECONDS. @throws UserError when it cannot be heard */
export async function printMeterFrame(config: AgentConfig, interfaces: LocalInterface[]): Promise<MeterFrame> {
  const { settings } = config
  const wish = standbyWish(settings, interfaces)
  if (wish) {
    const { measurement, opening } = await hearDevice(config, wish, settings.meterSampleSeconds)
    return frameOf(opening, measurement, settings.nodeId)
  }
  const device = meteredOf(settings.captureDevice, interfaces)
  if (!device) throw new UserError('no capture device: arecord -l lists those of this machine')
  return syntheticFrame(settings.nodeId, device, 0, systemClock.now())
}

interface Heard {
  measurement: Measurement
  opening: Opening
}

/**
 * Opens the device until so many seconds are measured or it fails. @throws UserError when it cannot be heard; the signal's
 * reason when aborted, once the device is released
 */
export async function hearDevice(
  config: AgentConfig,
  { asked, device, interfaceRef }: StandbyWish,
  seconds: number,
  signal?: AbortSignal,
): Promise<Heard> {
  const { meterBackend, meterClipDbfs } = config.settings
  const source = deviceOf(config, device, seconds)
  const bus = createBus()
  const heard = firstOf(bus, { clipDbfs: meterClipDbfs, seconds })
  const feed = new Feed({
    asked: streamFormat(meterBackend === 'synthetic' ? 'alsa' : meterBackend, asked),
    bus,
    clock: systemClock,
    device: source,
    interfaceRef,
    settings: PATIENCE,
  })
  const stopped = Promise.withResolvers<never>()
  signal?.addEventListener('abort', () => stopped.reject(signal.reason), { once: true })
  try {
    return await Promise.race([heard, stopped.promise])
  } finally {
    heard.catch(() => {})
    await feed.close()
  }
}

function deviceOf({ childEnv: env, settings }: AgentConfig, device: string, seconds: number): Device {
  const { captureArgsTemplate, captureCommand: command, meterArgsTemplate, meterBackend } = settings
  const backend = meterBackend === 'synthetic' ? 'alsa' : meterBackend
  const argsTemplate = meterArgsTemplate ?? captureArgsTemplate
  const template = argsTemplate === undefined ? {} : { argsTemplate }
  try {
    return captureDevice({ ...template, backend, command, device, env, seconds }, systemClock)
  } catch (e) {
    throw new UserError((e as Error).message)
  }
}

/** The first result of the bus: a measurement, or why there is none. */
function firstOf(bus: ReturnType<typeof createBus>, options: { clipDbfs: number; seconds: number }): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const fail = (device: string, words: string) => reject(new UserError(`cannot capture from ${device}: ${words}`))
    let accumulator: Accumulator | undefined
    bus.subscribe({
      block: (opening, frames, capturedAt) => {
        accumulator ??= new Accumulator(opening.format, options)
        const [measurement] = accumulator.add(frames, capturedAt)
        if (measurement) resolve({ measurement, opening })
      },
      closed: ({ device }, fault) => fail(device, fault ?? 'it ended'),
      unavailable: fail,
    })
  })
}
