import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { changedTags } from '../../../../src/controller/recordings/library/recordings.rules.ts'
import { kit } from '../../../kit/kit.ts'
import { pattern, takes } from './takes.ts'

const ids = (answer: { json: { data: { id: string }[] } }): string[] => answer.json.data.map((row) => row.id)

test('metadata is edited field by field, what is empty is cleared, and search finds the new words', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1', { name: 'Old', tags: ['a'] })
  k.forget()
  const operator = k.person('op', ['operator'], [['node', 'n1']])
  const body = { name: ' Rat ', notes: 'Über Öl', tags: ['X', 'x', 'y'], transcriptSnippets: ['会議の記録'] }
  const { status, json } = await operator.patch('/recordings/r1/metadata', body)
  assert.equal(status, 200)
  const { name, notes, tags, transcriptSnippets } = json.data
  assert.deepEqual({ name, notes, tags, transcriptSnippets }, { ...body, name: 'Rat', tags: ['X', 'y'] })
  assert.deepEqual(k.trail(), ['recordings.metadata.update allowed', 'recordings.metadata.update.succeeded succeeded'])
  for (const word of ['ÜBER', '会議', 'öl'])
    assert.deepEqual(ids(await operator.get(`/recordings?search=${encodeURIComponent(word)}`)), ['r1'], word)
  assert.deepEqual(ids(await operator.get('/recordings?search=Old')), [])
  const cleared = await operator.patch('/recordings/r1/metadata', { notes: '', tags: [], transcriptSnippets: null })
  assert.deepEqual(
    [cleared.json.data.notes, cleared.json.data.tags, cleared.json.data.transcriptSnippets],
    [undefined, [], undefined],
  )
  for (const bad of [
    {},
    { name: '' },
    { colour: 1 },
    { notes: 'x'.repeat(2001) },
    { tags: ['x'.repeat(49)] },
    { folder: null },
  ]) {
    const refused = await operator.patch('/recordings/r1/metadata', bad)
    assert.deepEqual([refused.status, Array.isArray(refused.json.issues)], [400, true], JSON.stringify(bad))
  }
  assert.equal((await k.as('viewer').patch('/recordings/r1/metadata', { name: 'x' })).status, 403)
  assert.equal((await k.as('admin').patch('/recordings/nope/metadata', { name: 'x' })).status, 404)
  await k.close()
})

test('bulk metadata adds, removes or replaces tags of what is in scope, all or none', async () => {
  const k = kit()
  const t = takes(k)
  t.node('n2', 'South', 'b')
  t.recording('r1', { tags: ['a', 'B'] })
  t.recording('r2', { tags: ['b', 'c'] })
  t.recording('r3', { nodeId: 'n2', roomId: 'b', tags: ['z'] })
  const operator = k.person('op', ['operator'], [['node', 'n1']])
  const changed = await operator.patch('/recordings/bulk-metadata', {
    recordingIds: ['r2', 'r1', 'r2'],
    addTags: ['N'],
    removeTags: ['b'],
    folder: 'F',
  })
  assert.deepEqual(changed.json.meta, { updatedCount: 2 })
  assert.deepEqual(
    changed.json.data.map((r: { folder: string; id: string; tags: string[] }) => [r.id, r.folder, r.tags]),
    [
      ['r2', 'F', ['c', 'N']],
      ['r1', 'F', ['a', 'N']],
    ],
  )
  k.forget()
  const blind = await operator.patch('/recordings/bulk-metadata', { recordingIds: ['r1', 'r3'], replaceTags: ['q'] })
  assert.deepEqual([blind.status, blind.json.error], [404, 'One or more recordings are not visible'])
  assert.deepEqual(k.trail(), [
    'recordings.metadata.bulk_update allowed',
    'recordings.metadata.bulk_update.failed denied recordings_not_visible',
  ])
  const many = Array.from({ length: 32 }, (_, i) => `t${i}`)
  assert.equal(
    (await operator.patch('/recordings/bulk-metadata', { recordingIds: ['r2', 'r1'], addTags: many })).status,
    400,
  )
  assert.deepEqual(t.store.get('r1').tags, ['a', 'N'])
  for (const bad of [
    { recordingIds: ['r1'] },
    { recordingIds: [], folder: 'x' },
    { recordingIds: ['r1'], addTags: ['a'], replaceTags: ['b'] },
  ])
    assert.equal((await operator.patch('/recordings/bulk-metadata', bad)).status, 400, JSON.stringify(bad))
  await k.close()
})

test('tags of a bulk edit', () => {
  assert.deepEqual(changedTags(['A', 'b'], { removeTags: ['a'], addTags: ['B', 'c'] }), ['b', 'c'])
  assert.deepEqual(changedTags(['A'], { replaceTags: [] }), [])
  assert.equal(changedTags(['A'], {}), undefined)
})

// docs/contract/recordings.md: States of a recording. What is not queued or recording, and has no job under way, may go.
test('recordings are deleted in bulk when every one of them may be', async () => {
  const k = kit()
  const t = takes(k)
  t.node('n2', 'South', 'b')
  const states = ['completed', 'failed', 'cached', 'uploaded', 'partial']
  for (const id of states) {
    t.recording(id)
    k.sql('UPDATE recordings SET status = ? WHERE id = ?', id, id)
  }
  const files = [t.file('cached', 'primary', pattern(4)), t.file('partial', 'raw', pattern(4))]
  t.recording('running')
  t.recording('waiting', { status: 'queued' })
  t.recording('foreign', { nodeId: 'n2', roomId: 'b' })
  const admin = k.as('admin')
  for (const active of ['running', 'waiting']) {
    const refused = await admin.post('/recordings/bulk-delete', { recordingIds: ['cached', active] })
    assert.deepEqual([refused.status, refused.json.reason], [409, 'recording_active'], active)
  }
  k.sql("INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'room', 'b', NULL)")
  assert.equal((await admin.post('/recordings/bulk-delete', { recordingIds: ['cached', 'foreign'] })).status, 404)
  assert.equal((await admin.post('/recordings/bulk-delete', { recordingIds: ['cached', 'nope'] })).status, 404)
  for (const file of files) assert.ok(existsSync(join(t.root, file)))
  k.forget()
  const done = await admin.post('/recordings/bulk-delete', { recordingIds: [...states, 'cached'] })
  const kept = k.rows<{ before: string }>(
    `SELECT before FROM audit_events WHERE action = 'recordings.bulk_delete.succeeded' AND before IS NOT NULL`,
  )
  assert.ok(kept.length > 0)
  for (const { before } of kept) assert.ok(Array.isArray(JSON.parse(before).recordings), before)
  assert.deepEqual([done.status, done.json.meta], [200, { cacheDeletedCount: 2, deletedCount: 5 }])
  assert.deepEqual(ids(done), states)
  for (const file of files) assert.ok(!existsSync(join(t.root, file)))
  assert.deepEqual(k.trail(), ['recordings.bulk_delete allowed', 'recordings.bulk_delete.succeeded succeeded'])
  assert.equal(k.rows('SELECT * FROM recordings').length, 3)
  for (const bad of [
    {},
    { recordingIds: [] },
    { recordingIds: ['a'], force: true },
    { recordingIds: Array(201).fill('a') },
  ])
    assert.equal((await admin.post('/recordings/bulk-delete', bad)).status, 400)
  await k.close()
})

test('a take that begins anew while many are deleted stays, and the answer says what went', async () => {
  const k = kit()
  const t = takes(k)
  const all = Array.from({ length: 45 }, (_, i) => `take${String(i).padStart(2, '0')}`)
  for (const id of all) t.recording(id)
  k.sql("UPDATE recordings SET status = 'completed'")
  k.events.on('recording.deleted', 'after', () => k.sql("UPDATE recordings SET status = 'queued' WHERE id = 'take44'"))
  const done = await k.as('admin').post('/recordings/bulk-delete', { recordingIds: all })
  assert.deepEqual([done.status, done.json.meta.deletedCount, done.json.data.length], [200, 44, 44])
  assert.deepEqual(k.rows('SELECT id FROM recordings'), [{ id: 'take44' }])
  await k.close()
})
