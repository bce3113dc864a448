import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fittingChunk } from '../../../../src/controller/recordings/library/capturevalidation.rules.ts'
import type { Command } from '../../../../src/wire/recordings.ts'
import { kit } from '../../../kit/kit.ts'

const GIB = 2 ** 30
const take: Command = {
  captureChannels: 8,
  captureDevice: 'hw:0',
  captureFormat: 'S16_LE',
  captureSampleRate: 48_000,
  durationSeconds: 3600,
  outputCodec: 'wav',
  outputFileName: 'a.wav',
  type: 'alsa_capture',
}
const cut = (more: Partial<Command>, most = 4 * GIB) => fittingChunk({ ...take, ...more }, most)

test('a take that would be too large in one file is cut into the longest chunks that are not', () => {
  assert.equal(cut({}), undefined)
  const longest = cut({ durationSeconds: 7200 }) as number
  assert.ok(longest * 8 * 48_000 * 2 < 4 * GIB && (longest + 400) * 8 * 48_000 * 2 > 4 * GIB, `${longest}`)
  assert.equal(cut({ durationSeconds: 7200, channelMode: 'mono' }), undefined)
  assert.equal(cut({ durationSeconds: 7200, outputCodec: 'flac' }), longest)
  assert.equal(cut({ durationSeconds: 7200, captureFormat: 'S32_LE' }), Math.floor((4 * GIB * 0.95) / (8 * 48_000 * 4)))
  assert.equal(cut({ durationSeconds: 24 * 3600, channelMode: 'stereo', outputCodec: 'mp3' }), undefined)
  assert.notEqual(cut({ durationSeconds: 48 * 3600, channelMode: 'stereo', outputCodec: 'mp3' }), undefined)
})

test('chunks that were asked for stay as they are, unless they are too large themselves', () => {
  assert.equal(cut({ durationSeconds: 7200, chunkSeconds: 600 }), undefined)
  assert.equal(cut({ durationSeconds: 72_000, chunkSeconds: 36_000 }), cut({ durationSeconds: 72_000 }))
  // A limit of a few seconds is no limit to record by.
  assert.equal(cut({ durationSeconds: 7200 }, 1_000_000), undefined)
})

test('an ad-hoc start draws up the command so that the controller will take what is made of it', async (t) => {
  const k = kit({ env: { SVC_RECORDING_CACHE_MAX_BYTES: String(100 * 1024 * 1024) } })
  t.after(() => k.close())
  const { agent, id } = await k.enroll('Hall')
  const started = await k.as('admin').post('/recordings', { durationSeconds: 3600 * 10, nodeId: id })
  assert.equal(started.status, 202, started.text)
  const claimed = await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  assert.equal(claimed.json.data.command.chunkSeconds, Math.floor((100 * 1024 * 1024 * 0.95) / 40_000))
})
