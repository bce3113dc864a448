import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderPlan } from '../../../../src/agent/render/plan.rules.ts'
import {
  commandFault,
  outputsOf,
  rateFor,
} from '../../../../src/controller/recordings/library/capturevalidation.rules.ts'
import type { Interface } from '../../../../src/wire/nodes.ts'
import { CHANNEL_MODES } from '../../../../src/wire/profiles.ts'
import type { AgentJob, Command } from '../../../../src/wire/recordings.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const plain: Command = {
  captureChannels: 2,
  captureDevice: 'hw:CARD=Desk,DEV=0',
  captureFormat: 'S16_LE',
  captureSampleRate: 48_000,
  durationSeconds: 5,
  outputFileName: 'a.wav',
  type: 'alsa_capture',
}
const desk = { alias: 'Desk', channelCount: 2, channels: [], sampleRates: [44_100, 96_000] } as unknown as Interface

test('the channels of a file follow from its mode', () => {
  const outputs = (channelMode: Command['channelMode'], captureChannels = 5) =>
    outputsOf({ ...plain, captureChannels, channelMode: channelMode as 'mono' })
  assert.deepEqual(
    [outputs('mono'), outputs('stereo'), outputs('mono_to_stereo_mix'), outputs('multichannel'), outputs(undefined)],
    [1, 2, 2, 5, 5],
  )
})

test('what a recorder could not carry out has a reason', () => {
  const why = (more: Partial<Command>, device: Interface | undefined = desk) =>
    commandFault({ ...plain, ...more }, device)?.reason
  assert.equal(why({}), undefined)
  assert.equal(why({ captureChannels: 3, channelMode: 'stereo' }), 'channel_selection_mode_arity')
  assert.equal(why({ captureChannels: 3, channelMode: 'mono_to_stereo_mix', outputCodec: 'mp3' }), undefined)
  assert.equal(why({ captureChannels: 3, channelMode: 'multichannel', outputCodec: 'mp3' }), 'codec_channel_limit')
  assert.equal(why({ captureChannels: 9, channelMode: 'multichannel', outputCodec: 'flac' }), 'codec_channel_limit')
  assert.equal(why({ captureChannels: 64, channelMode: 'multichannel', outputCodec: 'wav' }), undefined)
  assert.equal(why({ captureFormat: 'U8' }), 'capture_format_unsupported')
  assert.equal(why({ captureSampleRate: 192_000 }), 'sample_rate_unsupported')
  assert.equal(why({ captureSampleRate: 8000 }), 'sample_rate_unsupported')
  // Only the device itself is bound to what it has; a range may be told by its ends; nothing told rules nothing out.
  assert.equal(why({ captureSampleRate: 192_000, captureDevice: 'plughw:0,0' }), undefined)
  assert.equal(why({ captureSampleRate: 192_000, captureBackend: 'pipewire' }), undefined)
  assert.equal(why({ captureSampleRate: 192_000 }, { ...desk, sampleRates: [] }), undefined)
})

test('without a wish a device is opened at the usual rate, or the nearest it has', () => {
  assert.equal(rateFor(desk, 48_000), 48_000)
  assert.equal(rateFor({ ...desk, sampleRates: [8000, 16_000] }, 48_000), 16_000)
  assert.equal(rateFor({ ...desk, sampleRates: [96_000, 192_000] }, 48_000), 96_000)
  assert.equal(rateFor(undefined, 48_000), 48_000)
})

async function rack(k: Kit, node: object = {}) {
  const { id } = await k.enroll('Rack', {
    interfaces: [
      {
        alias: 'Rack',
        systemName: 'Rack',
        systemRef: 'hw:CARD=Rack,DEV=0',
        backend: 'alsa',
        channelCount: 12,
        sampleRates: [44_100],
      },
    ],
    ...node,
  })
  const admin = k.as('admin')
  let made = 0
  return {
    id,
    profile: async (more: object) =>
      (await admin.post('/settings/recording-profiles', { name: `P${++made}`, ...more })).json.data.id as string,
    start: (more: object = {}) => admin.post('/recordings', { nodeId: id, durationSeconds: 5, ...more }),
    stop: async (recordingId: string) => admin.post(`/recordings/${recordingId}/stop`),
  }
}

test('the channel mode of the profile reaches the command; a retry keeps it', async () => {
  const k = kit()
  const t = await rack(k)
  const begun = await t.start()
  const { command, id } = begun.json.job
  assert.deepEqual(
    [command.channelMode, command.channelMap, command.captureChannels, command.captureSampleRate],
    ['mono_to_stereo_mix', undefined, 2, 44_100],
  )
  await t.stop(begun.json.data.id)
  const retried = await k.as('admin').post(`/recording-jobs/${id}/retry`)
  assert.deepEqual(retried.json.data.command, command)
  await t.stop(begun.json.data.id)
  const asked = await t.start({ channelMode: 'mono' })
  assert.equal(asked.json.job.command.channelMode, 'mono', 'what is asked for wins over the profile')
  await k.close()
})

test('a selection without a mode: mono, stereo, and of more the mode of the profile; nothing is dropped', async () => {
  const k = kit()
  const t = await rack(k)
  const modeOf = async (captureChannelSelection: number[], more: object = {}) => {
    const { json } = await t.start({ captureChannelSelection, ...more })
    if (json.data) await t.stop(json.data.id)
    return json.job ? [json.job.command.channelMap.channelMode, json.job.command.channelMode] : json.reason
  }
  assert.deepEqual(await modeOf([3]), ['mono', undefined])
  assert.deepEqual(await modeOf([3, 4]), ['stereo', undefined])
  assert.deepEqual(await modeOf([3, 4, 5]), ['mono_to_stereo_mix', undefined])
  const stereo = await t.profile({ channelMode: 'stereo' })
  assert.equal(await modeOf([3, 4, 5], { recordingProfileId: stereo }), 'channel_selection_mode_arity')
  await k.close()
})

test('more than two channels that stay apart are recorded as they are, not made into one voice', async () => {
  const k = kit()
  const t = await rack(k)
  const chain = async (more: object) => {
    const { json } = await t.start(more)
    await t.stop(json.data.id)
    return json.job.command.enhancement !== undefined
  }
  const voice = { recordingProfileId: await t.profile({ codec: 'wav' }), channelMode: 'multichannel' }
  assert.equal(await chain({ ...voice, captureChannelSelection: [1, 2, 3] }), false)
  assert.equal(await chain({ ...voice, captureChannelSelection: [1, 2] }), true)
  assert.equal(await chain({ ...voice, channelMode: 'mono', captureChannelSelection: [1, 2, 3] }), true)
  await k.close()
})

test('a profile that contradicts itself is refused; one for many channels has no voice chain of its own', async () => {
  const k = kit()
  const admin = k.as('admin')
  const path = '/settings/recording-profiles'
  const made = await admin.post(path, { name: 'Desk', channelMode: 'multichannel', codec: 'wav' })
  assert.deepEqual([made.status, made.json.data.enhancement], [201, undefined])
  const both = await admin.post(path, { name: 'Both', channelMode: 'multichannel', enhancement: {} })
  assert.deepEqual([both.status, both.json.reason], [400, 'enhancement_channel_mode'])
  assert.match(both.json.issues[0].message, /turn its enhancement off/)
  const one = `${path}/${made.json.data.id}`
  assert.equal((await admin.patch(one, { enhancement: {} })).json.reason, 'enhancement_channel_mode')
  assert.equal((await admin.patch(one, { enhancement: {}, channelMode: 'mono' })).status, 200)
  assert.equal((await admin.patch(one, { channelMode: 'multichannel' })).json.reason, 'enhancement_channel_mode')
  await k.close()
})

test('a rate or a format that was set and is not there is refused with what there is', async () => {
  const k = kit()
  const t = await rack(k, { audioDefaults: { captureSampleRate: 96_000 } })
  const refused = await t.start()
  assert.deepEqual([refused.status, refused.json.reason], [400, 'sample_rate_unsupported'])
  assert.match(refused.json.error, /Rack has no sample rate of 96000 Hz/)
  assert.match(refused.json.issues[0].message, /it has 44100;/)
  await k.as('admin').patch(`/nodes/${t.id}`, { audioDefaults: { captureFormat: 'U8' } })
  assert.equal((await t.start()).json.reason, 'capture_format_unsupported')
  assert.equal(k.rows('SELECT 1 FROM recordings').length, 0)
  await k.close()
})

test('what is refused by its channels is what a recorder would make of the command', () => {
  for (const channelMode of CHANNEL_MODES)
    for (let captureChannels = 1; captureChannels <= 9; captureChannels++) {
      const command = { ...plain, captureChannels, channelMode }
      const { outputChannels } = renderPlan(command as AgentJob['command'], { channels: captureChannels })
      assert.equal(outputsOf(command), outputChannels, `${channelMode} of ${captureChannels}`)
    }
})
