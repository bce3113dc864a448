// Where the sound of a take is, and what another one like it is made of; what a technician is told in the room.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostOf, isLocal } from '../../src/console/data/address.rules.ts'
import {
  capturedBy,
  hasNotBegun,
  heardFirst,
  inputsOf,
  soundOf,
  startLike,
  storedSeconds,
} from '../../src/console/library/sound.rules.ts'
import { unshown } from '../../src/console/recorders/audio.rules.ts'
import { titlesOf } from '../../src/console/rooms/channels.rules.ts'
import type { AudioDefaults, Node } from '../../src/wire/nodes.ts'
import type { Job, JobStatus, Recording } from '../../src/wire/recordings.ts'

const take = (more: Partial<Recording>) => ({ cached: false, durationSeconds: 3000, ...more }) as Recording
const jobs = (...all: JobStatus[]) => all.map((status) => ({ status }))

test('a take says where its sound is: nothing is on its way of what has failed, and nothing has yet to come of what was deleted', () => {
  const at = '2026-03-02T10:00:00.000Z'
  const uploading = { at, percent: 40, stage: 'uploading' as const }
  assert.equal(soundOf(take({ cached: true, status: 'partial' }), jobs('failed')), 'here')
  assert.equal(soundOf(take({ status: 'queued' }), jobs('queued')), 'queued')
  assert.equal(soundOf(take({ status: 'recording' }), jobs('queued', 'failed')), 'queued', 'no recorder has it yet')
  assert.equal(soundOf(take({ status: 'recording' }), jobs('running')), 'running')
  assert.equal(soundOf(take({ progress: uploading, status: 'recording' }), jobs('running')), 'coming')
  assert.equal(soundOf(take({ status: 'completed' }), jobs('stop_requested')), 'coming')
  assert.equal(soundOf(take({ status: 'partial' }), jobs('failed')), 'coming', 'its parts are joined')
  assert.equal(soundOf(take({ status: 'completed' }), jobs('completed')), 'deleted')
  assert.equal(soundOf(take({ status: 'uploaded' }), []), 'deleted')
  assert.equal(soundOf(take({ status: 'failed' }), jobs('failed')), 'missing')
  assert.equal(soundOf(take({ status: 'completed' }), jobs('cancelled')), 'missing')
})

test('a list knows which takes no recorder has begun with', () => {
  const since = '2026-03-02T10:00:00.000Z'
  assert.ok(hasNotBegun({ status: 'recording' }))
  assert.ok(!hasNotBegun({ status: 'recording', undelivered: { since, storedSeconds: 0, until: since } }))
  assert.ok(!hasNotBegun({ status: 'completed' }))
})

test('the raw version is heard first where it is wanted, once it is here', () => {
  const tone = { renditions: { primary: { source: 'test' as const } } }
  assert.equal(heardFirst(take({ enhancedCachePath: 'a.mp3' }), 'raw'), 'primary', 'it is still on its way')
  assert.equal(heardFirst(take({ rawCachePath: 'a.raw.mp3' }), 'raw'), 'raw')
  assert.equal(heardFirst(take({ rawCachePath: 'a.raw.mp3' })), 'primary')
  assert.equal(
    heardFirst(take({ ...tone, rawCachePath: 'a.raw.mp3' })),
    'raw',
    'noise suppression leaves nothing of a tone',
  )
})

test('what a new beginning deletes is what is stored here, in whatever shape', () => {
  assert.equal(storedSeconds(take({ status: 'failed' })), 0)
  for (const more of [
    { cached: true },
    { rawCachePath: 'a.raw.wav' },
    { enhancedCachePath: 'a.mp3' },
    { status: 'partial' as const },
  ])
    assert.equal(storedSeconds(take(more)), 3000)
})

test('another take has the settings of the one before: its length as it was ordered, its channels, its policies', () => {
  const before = take({
    folder: 'Autumn',
    name: 'Anatomy',
    recordingProfileId: 'p',
    retentionPolicyId: 'r',
    tags: ['exam'],
    uploadPolicyIds: ['u'],
  })
  const command = { captureChannels: 4, captureInterfaceId: 'if', channelMode: 'multichannel', durationSeconds: 3600 }
  const like = (more: object) =>
    startLike(before, { command: { ...command, ...more }, nodeId: 'node' } as unknown as Job)
  const same = {
    captureInterfaceId: 'if',
    durationSeconds: 3600,
    folder: 'Autumn',
    name: 'Anatomy',
    nodeId: 'node',
    recordingProfileId: 'p',
    retentionPolicyId: 'r',
    tags: ['exam'],
    uploadPolicyIds: ['u'],
  }
  assert.deepEqual(like({}), { ...same, channelMode: 'multichannel' })
  const map = { channelMode: 'stereo', templateId: 'some' }
  assert.deepEqual(like({ captureChannelSelection: [3, 4], channelMap: map, channelMode: undefined }), {
    ...same,
    captureChannelSelection: [3, 4],
    channelMode: 'stereo',
  })
  assert.deepEqual(like({ channelMap: map, channelMode: undefined }), same, 'a map that is assigned holds by itself')
})

test('the levels of a running take are those of its own channels', () => {
  const channels = [1, 2, 3].map((index) => ({ alias: `Mic ${index}`, index }))
  const node = { interfaces: [{ channels, id: 'desk' }] } as unknown as Node
  const commanded = [{ command: { captureChannelSelection: [2], captureInterfaceId: 'desk' } }] as Job[]
  assert.deepEqual(capturedBy({}, commanded, node)?.channels, [{ alias: 'Mic 2', index: 2 }])
  const told = { capture: { channels: [1, 3], interfaceId: 'desk' } }
  assert.deepEqual(
    capturedBy(told, commanded, node)?.channels.map(({ index }) => index),
    [1, 3],
  )
  assert.deepEqual(inputsOf(told, commanded), [1, 3])
  assert.equal(capturedBy({ capture: { channels: [], interfaceId: 'desk' } }, [], node)?.channels.length, 3)
  assert.equal(capturedBy({}, [], node), undefined)
})

test('devices of one name are told apart by where they are plugged in', () => {
  const device = (id: string, alias: string) => ({ alias, id, systemRef: `hw:CARD=${id},DEV=0` })
  const node = { interfaces: [device('A', 'Mic'), device('B', 'Mic'), device('C', 'Desk')] } as unknown as Node
  assert.deepEqual(Object.fromEntries(titlesOf(node)), {
    A: 'Mic (hw:CARD=A,DEV=0)',
    B: 'Mic (hw:CARD=B,DEV=0)',
    C: 'Desk',
  })
})

test('an address that only this machine reaches is known for one; what is half typed is none', () => {
  const reached = (address: string) => !isLocal(hostOf(address))
  assert.deepEqual(
    ['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:80', 'https://roomtone.example.org', 'htt'].map(
      reached,
    ),
    [false, false, false, true, true],
  )
})

test('what a recorder captures with is replaced whole: what the form shows can be emptied, what it has no field for stays', () => {
  const audio = { captureBackend: 'alsa', captureDevice: 'hw:1', captureFormat: 'S24_LE', captureSampleRate: 48_000 }
  assert.deepEqual(unshown(audio as AudioDefaults), { captureFormat: 'S24_LE' })
})
