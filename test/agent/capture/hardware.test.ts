import assert from 'node:assert/strict'
import { test } from 'node:test'
import { captureDevice, type DeviceRequest } from '../../../src/agent/capture/devices.ts'
import { equals, hardwareKey, mayCollide, refOf, shares } from '../../../src/agent/capture/hardware.rules.ts'
import { type StandbySettings, standbyWish } from '../../../src/agent/capture/standby.rules.ts'
import type { LocalInterface } from '../../../src/agent/inventory/alsa.ts'
import { systemClock } from '../../../src/kernel/clock.ts'

const alsa = (device: string) => hardwareKey('alsa', device)

test('every name of the same hardware has one key', () => {
  const names = ['hw:CARD=Desk,DEV=0', 'plughw:CARD=Desk,DEV=0', 'hw:Desk,0', 'plughw:Desk', 'hw:Desk,0,3']
  assert.deepEqual(new Set(names.map(alsa)), new Set(['alsa:hw:Desk,0']))
  assert.equal(alsa('hw:CARD=Desk,DEV=1'), 'alsa:hw:Desk,1')
  assert.equal(alsa('default'), 'alsa:default')
  assert.equal(hardwareKey('pipewire', 'hw:1'), 'pipewire:hw:1')
  assert.equal(alsa('test:tone'), 'test:tone')
})

test('a key gives the stable ref back, unless the card has no name', () => {
  assert.equal(refOf('alsa:hw:Desk,0'), 'hw:CARD=Desk,DEV=0')
  assert.equal(refOf('alsa:hw:U192k,1'), 'hw:CARD=U192k,DEV=1')
  assert.equal(refOf('alsa:hw:1,0'), undefined)
  assert.equal(refOf('alsa:default'), undefined)
})

test('only names that say which card they use never stand in the way of each other', () => {
  assert.equal(mayCollide('alsa:hw:Desk,0', 'alsa:hw:Wall,0'), false)
  assert.equal(mayCollide('alsa:hw:Desk,0', 'alsa:default'), true)
  assert.equal(mayCollide('pipewire:mic', 'alsa:hw:Desk,0'), true)
  assert.equal(mayCollide('pipewire:mic', 'pipewire:line'), false)
  assert.equal(mayCollide('test:tone', 'alsa:default'), false)
})

test('a stream is shared when none of what was asked is lost', () => {
  const stream = { channels: 8, format: 'S24_LE', rate: 48_000 } as const
  assert.ok(shares(stream, { ...stream, channels: 2 }))
  assert.ok(shares(stream, { ...stream, format: 'S16_LE' }))
  assert.ok(!shares(stream, { ...stream, channels: 9 }))
  assert.ok(!shares(stream, { ...stream, format: 'S32_LE' }))
  assert.ok(!shares(stream, { ...stream, rate: 44_100 }))
})

test('a device that was asked for the same gives the same', () => {
  const asked = { channels: 2, format: 'S16_LE', rate: 44_100 } as const
  const stream = { channels: 8, format: 'S32_LE', rate: 48_000 } as const
  assert.ok(equals(stream, asked, asked))
  assert.ok(!equals(stream, stream, asked))
  const mono = { ...asked, channels: 1 }
  assert.ok(equals(mono, asked, asked), 'it has no more than one')
})

const card = (systemRef: string, id: string, systemName: string, channelCount = 8): LocalInterface => ({
  alias: systemName,
  backend: 'alsa',
  channelCount,
  channels: [],
  id,
  sampleRates: [44_100, 48_000, 96_000],
  systemName,
  systemRef,
})
const cards = [
  card('hw:CARD=Desk,DEV=0', 'alsa_card_desk_dev_0', 'Desk USB Audio', 2),
  card('hw:CARD=MADI,DEV=0', 'alsa_card_madi_dev_0', 'RME MADI FX', 64),
]
const settings: StandbySettings = {
  captureChannels: 2,
  captureDevice: 'default',
  captureFormat: 'S16_LE',
  captureSampleRate: 44_100,
  meterBackend: 'alsa',
}

test('the metering device is the configured one, else the first, as wide as it is', () => {
  const wish = (captureDevice: string) => standbyWish({ ...settings, captureDevice }, cards)
  const wide = { channels: 64, format: 'S16_LE', rate: 48_000 }
  assert.deepEqual(wish('plughw:CARD=MADI,DEV=0'), {
    asked: wide,
    device: 'plughw:CARD=MADI,DEV=0',
    interfaceRef: 'hw:CARD=MADI,DEV=0',
  })
  assert.equal(wish('hw:madifx')!.interfaceRef, 'hw:CARD=MADI,DEV=0')
  for (const none of ['default', 'hw:Gone,0', 'hw:MADI,3']) {
    const first = { asked: { ...wide, channels: 2 }, device: 'hw:CARD=Desk,DEV=0', interfaceRef: 'hw:CARD=Desk,DEV=0' }
    assert.deepEqual(wish(none), first)
  }
})

test('a name of its own is opened as it is configured; made-up meters and a machine without a device open nothing', () => {
  const asked = { channels: 2, format: 'S16_LE', rate: 44_100 }
  for (const captureDevice of ['room', 'sysdefault:CARD=Desk'])
    assert.deepEqual(standbyWish({ ...settings, captureDevice }, cards), {
      asked,
      device: captureDevice,
      interfaceRef: captureDevice,
    })
  assert.equal(standbyWish({ ...settings, captureDevice: 'room' }, [])!.device, 'room')
  assert.equal(standbyWish(settings, []), undefined)
  assert.equal(standbyWish({ ...settings, meterBackend: 'pipewire' }, cards)!.device, 'default')
  assert.equal(standbyWish({ ...settings, meterBackend: 'synthetic' }, cards), undefined)
})

test('only arecord on the hardware itself tells of what it lost', () => {
  const tells = (more: Partial<DeviceRequest>) => {
    const request = { backend: 'alsa', command: 'arecord', device: 'hw:CARD=Desk,DEV=0', env: {}, seconds: 1 } as const
    return captureDevice({ ...request, ...more }, systemClock).tells
  }
  assert.deepEqual([{}, { command: '/usr/bin/arecord' }, { device: 'plughw:1' }].map(tells), [true, true, true])
  const watched = [
    { device: 'default' },
    { device: 'room' },
    { backend: 'pipewire' },
    { command: 'ffmpeg' },
    { argsTemplate: '-D {device}' },
  ] as const
  assert.ok(!watched.some(tells))
})
