import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../../src/agent/config.ts'
import { clockSync } from '../../../src/agent/inventory/host.ts'
import { collectInventory, type InventoryOptions } from '../../../src/agent/inventory/inventory.ts'
import { createRemembered } from '../../../src/agent/inventory/remembered.ts'
import { inventoryOptions } from '../../../src/agent/parts.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { type AudioDefaults, Inventory } from '../../../src/wire/nodes.ts'
import { Runtime } from '../../../src/wire/runtime.ts'
import { tempDir } from '../server.ts'

const fixture = path.resolve(import.meta.dirname, '../../fixtures/asound')

const options = (more: Partial<InventoryOptions> = {}): InventoryOptions => ({
  arecordCommand: '/nonexistent/arecord',
  childEnv: { PATH: '/usr/bin:/bin' },
  clock: systemClock,
  nodeAlias: 'Node',
  nodeId: 'node_1',
  nodeRoom: 'Room',
  nodeSite: 'Site',
  remembered: createRemembered(),
  testSource: false,
  ...more,
})

/** A program that answers like arecord: `-l` with a list, the dump with `dump` and an exit code. */
function fakeArecord(t: TestContext, list: string, dump: string, code = 1): string {
  const dir = tempDir(t)
  const file = path.join(dir, 'arecord')
  fs.writeFileSync(path.join(dir, 'list'), list)
  fs.writeFileSync(path.join(dir, 'dump'), dump)
  const script = `#!/bin/sh\nif [ "$1" = -l ]; then cat ${dir}/list; exit 0; fi\necho probed >> ${dir}/probes\ncat ${dir}/dump >&2\nexit ${code}\n`
  fs.writeFileSync(file, script, { mode: 0o755 })
  return file
}

test('the real machine with three cards: stable refs, and the channels of a device in use', async () => {
  const { interfaces, runtime } = await collectInventory(options({ alsaProcRoot: fixture }))
  assert.deepEqual(
    interfaces.map((i) => [i.systemRef, i.id, i.systemName, i.channelCount, i.channels.length, i.hardwarePath]),
    [
      ['hw:CARD=MADI,DEV=0', 'alsa_hw_0_0', 'Loopback PCM', 32, 32, '/proc/asound/card0/pcm0c'],
      ['hw:CARD=MADI,DEV=1', 'alsa_hw_0_1', 'Loopback PCM', 2, 2, '/proc/asound/card0/pcm1c'],
      ['hw:CARD=Intel,DEV=0', 'alsa_hw_1_0', 'Generic Analog', 2, 2, '/proc/asound/card1/pcm0c'],
    ],
  )
  assert.deepEqual(runtime.audioBackends.includes('alsa'), true)
})

test('what the agent carries is told with its machine', async () => {
  const denoiser = { engine: 'deepfilternet3', model: 'some', sha256: 'ab'.repeat(32) } as const
  const told = async (more: Partial<InventoryOptions>) => {
    const { runtime } = await collectInventory(options({ alsaProcRoot: fixture, ...more }))
    return runtime
  }
  assert.deepEqual(Runtime.parse(await told({ denoiser: () => denoiser })).denoiser, denoiser)
  assert.equal('denoiser' in (await told({ denoiser: () => undefined })), false)
  const { clock, disk } = Runtime.parse(await told({ room: async () => 4096, synced: async () => false }))
  assert.deepEqual({ clock, disk }, { clock: { synced: false }, disk: { roomBytes: 4096 } })
  const unknown = await told({ room: async () => undefined, synced: async () => undefined })
  assert.ok(!('clock' in unknown) && !('disk' in unknown))
})

test('whether the clock follows a time server is asked of systemd, seldom, and not known without it', async (t) => {
  const dir = tempDir(t)
  const say = (word: string) =>
    fs.writeFileSync(path.join(dir, 'timedatectl'), `#!/bin/sh\necho asked >> ${dir}/asked\necho ${word}\n`, {
      mode: 0o755,
    })
  let at = 0
  const sync = () => clockSync({ PATH: `${dir}:/bin:/usr/bin` }, { monotonic: () => at })
  say('no')
  const ask = sync()
  assert.equal(await ask(), false)
  say('yes')
  assert.equal(await ask(), false, 'known for a while')
  at += 300_000
  assert.equal(await ask(), true)
  assert.equal(fs.readFileSync(path.join(dir, 'asked'), 'utf8').trim().split('\n').length, 2)
  say('')
  assert.equal(await sync()(), undefined)
  assert.equal(await clockSync({ PATH: '/nowhere' }, { monotonic: () => 0 })(), undefined)
})

test('with a stand-in for /proc/asound arecord does not say which devices exist', async (t) => {
  const arecordCommand = fakeArecord(t, 'card 7: Other [Other], device 0: X [X]\n', '')
  const { interfaces } = await collectInventory(options({ alsaProcRoot: fixture, arecordCommand }))
  assert.equal(interfaces.length, 3)
})

test('arecord lists the devices and the devices say what they can do, whatever mode they refuse', async (t) => {
  const list = fs.readFileSync(path.join(fixture, 'arecord-l.txt'), 'utf8')
  const arecordCommand = fakeArecord(
    t,
    list,
    'FORMAT: S24_3LE\nCHANNELS: [4 18]\nRATE: [44100 96000]\narecord: no such format',
  )
  const { interfaces } = await collectInventory(options({ arecordCommand }))
  assert.deepEqual(
    interfaces.map((i) => [i.id, i.systemRef, i.systemName, i.channelCount]),
    [
      ['alsa_card_madi_dev_0', 'hw:CARD=MADI,DEV=0', 'Loopback Loopback PCM', 18],
      ['alsa_card_madi_dev_1', 'hw:CARD=MADI,DEV=1', 'Loopback Loopback PCM', 18],
      ['alsa_card_intel_dev_0', 'hw:CARD=Intel,DEV=0', 'HDA Intel Generic Analog', 18],
    ],
  )
  assert.deepEqual(interfaces[0]?.sampleRates, [44_100, 48_000, 64_000, 88_200, 96_000])
})

test('a device that is busy now keeps what it said before, also after a restart', async (t) => {
  const file = path.join(tempDir(t), 'capabilities.json')
  const arecordCommand = fakeArecord(t, 'card 0: M [M], device 0: P [P]\n', 'CHANNELS: 8\nRATE: 48000\n')
  const channels = async (mayProbe: boolean, remembered = createRemembered(file)) =>
    (await collectInventory(options({ arecordCommand, remembered }), mayProbe)).interfaces[0]?.channelCount
  const probes = () => fs.readFileSync(path.join(path.dirname(arecordCommand), 'probes'), 'utf8').split('\n').length - 1
  const first = createRemembered(file)
  assert.deepEqual([await channels(true, first), await channels(true, first), probes()], [8, 8, 1])
  fs.writeFileSync(path.join(path.dirname(arecordCommand), 'dump'), 'Device or resource busy')
  assert.deepEqual([await channels(true), probes()], [8, 2])
  assert.deepEqual([await channels(false), probes()], [8, 2])
  assert.equal(await channels(true, createRemembered()), 2)
})

test('odd names and very many rates give a report the controller accepts', async (t) => {
  const label = `Mic\u0007${'x'.repeat(400)}`
  const list = `card 0: A [${label}], device 0: B [b]\ncard 0: A [again], device 0: B [b]\n`
  const { interfaces } = await collectInventory(
    options({ arecordCommand: fakeArecord(t, list, `CHANNELS: 600\nRATE: ${'8000 9000 '.repeat(20)}`) }),
  )
  assert.equal(interfaces.length, 1)
  assert.equal(Inventory.parse({ interfaces }).interfaces[0]?.channelCount, 256)
})

test('two identical microphones are two interfaces', async (t) => {
  const list =
    'card 1: Mic [USB Mic], device 0: USB Audio [USB Audio]\ncard 2: Mic_1 [USB Mic], device 0: USB Audio [USB Audio]\n'
  const { interfaces } = await collectInventory(options({ arecordCommand: fakeArecord(t, list, '') }))
  assert.deepEqual(
    interfaces.map((i) => i.systemRef),
    ['hw:CARD=Mic,DEV=0', 'hw:CARD=Mic_1,DEV=0'],
  )
})

test('a machine without a capture device has no interface, or the test source when it is asked for', async (t) => {
  const empty = { procAsoundPcm: path.join(tempDir(t), 'pcm') }
  const none = await collectInventory(options(empty))
  assert.deepEqual(none.interfaces, [])
  const tone = await collectInventory(options({ ...empty, testSource: true }))
  assert.deepEqual(tone.interfaces, [
    {
      alias: 'Test source (no microphone)',
      backend: 'unknown',
      channelCount: 2,
      channels: [
        { alias: 'Input 1', index: 1 },
        { alias: 'Input 2', index: 2 },
      ],
      id: 'iface_test_tone',
      sampleRates: [48_000],
      systemName: 'test:tone',
      systemRef: 'test:tone',
    },
  ])
})

test('a device that the operator names is an interface where there is no card, and only there', async (t) => {
  const card = path.join(tempDir(t), 'card')
  const env = (more: Record<string, string>) => ({ HOME: '/nonexistent', ...more })
  const named = async (more: Record<string, string>, said: AudioDefaults = {}) => {
    const config = readConfig([], env({ SVC_ALSA_PROC_ROOT: card, ...more }))
    const { interfaces } = await collectInventory(inventoryOptions(config, undefined, () => said))
    return interfaces.map((i) => [i.backend, i.systemName, i.systemRef, i.channelCount, i.sampleRates[0]])
  }
  const pulse = ['alsa', 'pulse', 'pulse', 2, 48_000]
  assert.deepEqual(await named({}), [])
  assert.deepEqual(await named({ SVC_CAPTURE_DEVICE: 'pulse' }), [pulse])
  assert.deepEqual(await named({}, { captureDevice: 'pulse' }), [pulse])
  assert.deepEqual(await named({ SVC_CAPTURE_DEVICE: 'default' }), [['alsa', 'default', 'default', 2, 48_000]])
  assert.deepEqual(await named({ SVC_CAPTURE_BACKEND: 'pipewire', SVC_CAPTURE_CHANNELS: '4' }), [
    ['pipewire', 'default', 'default', 4, 48_000],
  ])
  assert.deepEqual(await named({ SVC_CAPTURE_COMMAND: '/usr/local/bin/hear' }), [
    ['alsa', 'default', 'default', 2, 48_000],
  ])
  assert.deepEqual(await named({ SVC_CAPTURE_COMMAND: '/usr/bin/arecord' }), [])
  assert.deepEqual(await named({ SVC_CAPTURE_DEVICE: 'hw:CARD=Desk,DEV=0' }), [], 'a card that is not there')
  const beside = await named({ SVC_ALSA_PROC_ROOT: fixture, SVC_CAPTURE_DEVICE: 'pulse' })
  assert.equal(beside.length, 3)
  assert.ok(!beside.some(([, name]) => name === 'pulse'))
})
