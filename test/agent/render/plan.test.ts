import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterOf, modeMixes, renderPlan } from '../../../src/agent/render/plan.rules.ts'
import type { AgentJob } from '../../../src/wire/recordings.ts'
import { job } from '../jobs/kit.ts'

const plan = (command: Partial<AgentJob['command']>, channels = command.captureChannels ?? 2) =>
  renderPlan(job('x', { captureChannels: channels, ...command }).command, { channels })
const filter = (command: Partial<AgentJob['command']>, channels?: number) => filterOf(plan(command, channels))

test('the mode of the profile counts where there is no map', () => {
  const rows: [Partial<AgentJob['command']>, string | undefined][] = [
    [{ channelMode: 'mono' }, 'pan=1c|c0=0.500000*c0+0.500000*c1'],
    [{ channelMode: 'mono_to_stereo_mix' }, 'pan=2c|c0=0.500000*c0+0.500000*c1|c1=0.500000*c0+0.500000*c1'],
    [{ channelMode: 'stereo' }, undefined],
    [{ channelMode: 'multichannel' }, undefined],
    [{ captureChannelSelection: [2], channelMode: 'mono' }, 'pan=1c|c0=c1'],
    [{ captureChannelSelection: [2], channelMode: 'stereo' }, 'pan=2c|c0=c1|c1=c1'],
    [{ captureChannelSelection: [2, 1], channelMode: 'stereo' }, 'pan=2c|c0=c1|c1=c0'],
    [{ captureChannelSelection: [2], channelMode: 'multichannel' }, 'pan=1c|c0=c1'],
    [{ captureChannelSelection: [1, 2], channelMode: 'multichannel' }, undefined],
    [{}, undefined],
  ]
  for (const [command, wanted] of rows) assert.equal(filter(command), wanted, JSON.stringify(command))
  assert.equal(filter({ captureChannels: 1, channelMode: 'stereo' }), 'pan=2c|c0=c0|c1=c0')
  assert.equal(filter({ captureChannels: 1, channelMode: 'mono' }), undefined)
  assert.equal(filter({ captureChannels: 4, channelMode: 'stereo' }), 'pan=2c|c0=c0|c1=c1')
})

test('a mean is a mean, however many', () => {
  for (const count of [1, 2, 3, 32]) {
    const [mean] = modeMixes(
      'mono',
      Array.from({ length: count }, (_, i) => i),
    )
    assert.ok(Math.abs(mean!.reduce((sum, { gain }) => sum + gain, 0) - 1) < 1e-12)
    assert.equal(mean!.length, count)
  }
})

test('a map wins over the mode', () => {
  const entry = { included: true, label: '', sourceChannelIndex: 2 }
  const channelMap = { channelMode: 'mono' as const, entries: [entry], sourceChannels: 2 }
  assert.equal(filter({ channelMap, channelMode: 'mono_to_stereo_mix' }), 'pan=1c|c0=c1')
})

test('the enhanced rendition has one channel, two for a stereo mode, else those of the map', () => {
  const entries = [1, 2, 3].map((n) => ({ included: true, label: '', sourceChannelIndex: n }))
  const channelMap = { channelMode: 'multichannel' as const, entries, sourceChannels: 3 }
  const rows: [Partial<AgentJob['command']>, number][] = [
    [{}, 1],
    [{ channelMode: 'mono' }, 1],
    [{ channelMode: 'multichannel' }, 1],
    [{ channelMode: 'stereo' }, 2],
    [{ channelMode: 'mono_to_stereo_mix' }, 2],
    [{ captureChannels: 3, channelMap }, 3],
  ]
  for (const [command, wanted] of rows) assert.equal(plan(command).enhancedChannels, wanted, JSON.stringify(command))
})
