import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ChunkSet,
  joinTimes,
  missing,
  sourcesOf,
  storedStatus,
} from '../../../../src/controller/recordings/chunks/chunks.rules.ts'
import { chunkStore } from '../../../../src/controller/recordings/chunks/chunks.store.ts'
import { CHUNK_STATUSES, type ChunkStatus } from '../../../../src/wire/chunks.ts'
import { kit } from '../../../kit/kit.ts'
import { takes } from '../library/takes.ts'

// docs/contract/recordings.md: Chunks, row by row; every pair that is not named is forbidden.
const STORED: [from: ChunkStatus | undefined, rendition: 'primary' | 'enhanced' | 'raw', to: ChunkStatus][] = [
  [undefined, 'raw', 'capturing'],
  [undefined, 'primary', 'cached'],
  [undefined, 'enhanced', 'cached'],
  ['capturing', 'primary', 'cached'],
  ['capturing', 'raw', 'capturing'],
  ['cached', 'enhanced', 'cached'],
  ['cached', 'raw', 'cached'],
  ...(['uploading', 'uploaded', 'partial', 'failed'] as const).flatMap(
    (from) =>
      [
        [from, 'primary', from],
        [from, 'raw', from],
      ] as [ChunkStatus, 'primary' | 'raw', ChunkStatus][],
  ),
]
for (const [from, rendition, to] of STORED)
  test(`a chunk that is ${from ?? 'new'} is ${to} once its ${rendition} file is stored`, () => {
    assert.equal(storedStatus(from, rendition), to)
  })

test('uploads move a chunk through its states, and through no others', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.job('j1', 'r1', { status: 'running' })
  const chunks = chunkStore(k.db)
  const begin = ['cached', 'partial', 'failed']
  for (const from of CHUNK_STATUSES) {
    const at = () => chunks.get('r1', 1)?.status
    const place = () => {
      const file = { index: 1, path: 'a.wav', rendition: 'primary', checksum: 'sha256:00', sizeBytes: 1 } as const
      chunks.put(
        { ...file, durationSeconds: 1, jobId: 'j1', mimeType: 'audio/wav', recordingId: 'r1', total: undefined },
        k.now(),
      )
      k.sql('UPDATE recording_chunks SET status = ?', from)
    }
    place()
    assert.equal(chunks.uploading('r1', 1), begin.includes(from), `${from} -> uploading`)
    assert.equal(at(), begin.includes(from) ? 'uploading' : from)
    for (const to of ['uploaded', 'partial', 'failed'] as const) {
      place()
      assert.equal(chunks.settled('r1', 1, to), from === 'uploading', `${from} -> ${to}`)
      assert.equal(at(), from === 'uploading' ? to : from)
    }
  }
  await k.close()
})

const NOW = '2026-03-02T09:00:00.000Z'
const set = (more: Partial<ChunkSet>): ChunkSet => ({
  changedAt: NOW,
  ended: true,
  highest: 3,
  jobId: 'j',
  joinAttempts: 0,
  joinEvent: null,
  primaries: 3,
  primaryJoined: null,
  primaryRevision: 3,
  rawJoined: null,
  rawRevision: 0,
  raws: 0,
  recordingId: 'r',
  releasedAt: null,
  total: 3,
  wholeAt: null,
  ...more,
})
const LATER = '2026-03-02T09:01:00.000Z'

test('a set is joined when it is whole or its job ended without the last chunk; a while later when one is still missing', () => {
  const cases: [Partial<ChunkSet>, object][] = [
    [{}, { primary: NOW }],
    [{ ended: false }, {}],
    [{ total: null }, { primary: NOW }],
    [{ total: null, ended: false }, {}],
    [{ total: null, primaryJoined: 2 }, { primary: LATER }],
    [{ total: 4 }, { primary: LATER }],
    [{ primaries: 2 }, { primary: LATER }],
    [{ primaryJoined: 3 }, {}],
    [{ primaryJoined: 2 }, { primary: NOW }],
    [{ wholeAt: NOW }, {}],
    [{ primaryJoined: 3, raws: 2, rawRevision: 2 }, { raw: LATER }],
    [{ primaryJoined: 3, raws: 3, rawRevision: 3 }, { raw: NOW }],
    [{ primaries: 0, primaryRevision: 0, raws: 1, rawRevision: 1, total: null }, { raw: NOW }],
    [{ primaryJoined: 3, raws: 1, rawRevision: 1, total: null, rawJoined: 0 }, { raw: LATER }],
  ]
  for (const [more, times] of cases) assert.deepEqual(joinTimes(set(more), NOW), times, JSON.stringify(more))
})

test('of a chunk that came twice the enhanced one is played and the raw one is the master; gaps are counted up to the total', () => {
  const file = (index: number, rendition: 'primary' | 'raw' | 'enhanced') => ({
    ...{ checksum: '', index, path: `${index}.${rendition}`, rendition, sizeBytes: 1 },
  })
  const files = [file(4, 'primary'), file(1, 'enhanced'), file(1, 'primary'), file(1, 'raw'), file(2, 'primary')]
  const played = sourcesOf(files, 'primary')
  assert.deepEqual(
    played.map((f) => f.path),
    ['1.enhanced', '2.primary', '4.primary'],
  )
  assert.deepEqual([missing(played, 6), missing(played, null)], [[3, 5, 6], [3]])
  assert.deepEqual(
    sourcesOf(files, 'raw').map((f) => f.path),
    ['1.raw', '2.primary', '4.primary'],
  )
})
