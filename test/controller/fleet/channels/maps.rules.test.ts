import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fits, mapOf, outputChannels, sourceChannels } from '../../../../src/controller/fleet/channels/maps.rules.ts'

const entry = (source: number, more: object = {}) => ({
  included: true,
  label: `Source ${source}`,
  sourceChannelIndex: source,
  ...more,
})

test('rules: a map needs its highest included source, and its outputs follow the mode', () => {
  const entries = [entry(2), entry(7, { included: false }), entry(5, { outputChannelIndex: 3 })]
  assert.equal(sourceChannels(entries), 5)
  assert.deepEqual([fits(entries, 5), fits(entries, 4), fits(entries, 0)], [true, false, true])
  const outputs = (channelMode: 'mono' | 'stereo' | 'mono_to_stereo_mix' | 'multichannel', of = entries) =>
    outputChannels({ channelMode, entries: of })
  assert.deepEqual(
    [outputs('mono'), outputs('stereo'), outputs('mono_to_stereo_mix'), outputs('multichannel')],
    [1, 2, 2, 3],
  )
  assert.equal(outputs('multichannel', [entry(1), entry(9)]), 2)
  const template = { channelMode: 'mono', entries, id: 't', name: 'T', revision: 1, tags: [] } as const
  assert.deepEqual(mapOf({ id: 'a', targetId: 'i', targetType: 'interface' }, { ...template, tags: [] }), {
    assignmentId: 'a',
    channelMode: 'mono',
    entries,
    sourceChannels: 5,
    targetId: 'i',
    targetType: 'interface',
    templateId: 't',
    templateName: 'T',
  })
})
