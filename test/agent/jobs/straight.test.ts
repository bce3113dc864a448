import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { MARKED_HEADER } from '../../../src/agent/audio/marks.rules.ts'
import { tonePeriod } from '../../../src/agent/capture/tones.ts'
import { job, wav, world } from './kit.ts'

test('a wav take is the source, sample for sample, exactly as long as asked', async (t) => {
  const w = world(t)
  w.runner.accept(w.link.add(job('a', { durationSeconds: 3 })))
  assert.deepEqual(w.runner.holding(), ['a'])
  await w.runner.idle()
  const [sent] = w.link.uploads
  const { pcm, ...layout } = wav(sent!.bytes)
  assert.deepEqual(layout, {
    channels: 2,
    dataBytes: 3 * 48_000 * 4,
    dataOffset: MARKED_HEADER,
    format: 'S16_LE',
    rate: 48_000,
  })
  const period = tonePeriod({ channels: 2, format: 'S16_LE', rate: 48_000 })
  assert.ok(pcm.equals(Buffer.concat(Array.from({ length: pcm.length / period.length }, () => period))))
  assert.equal(sent!.durationSeconds, 3)
  assert.equal(sent!.contentType, 'audio/wav')
  assert.equal(sent!.fileName, 'rec_a.wav')
  assert.deepEqual(w.runner.holding(), [])
  assert.deepEqual(fs.readdirSync(path.join(w.workDir, 'takes')), [])
  assert.deepEqual(w.names(), [])
})
