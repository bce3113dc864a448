import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { besideManifest, manifestPath, TakeManifest } from '../../../../src/wire/manifests.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { chunked, counted, wav } from '../chunks/world.ts'
import { pattern, takes } from '../library/takes.ts'

const sidecar = (k: Kit, file: string): string => join(k.takes, manifestPath(file))
/** What lies beside a file, held against its schema. */
const told = (k: Kit, file: string): TakeManifest =>
  TakeManifest.parse(JSON.parse(fs.readFileSync(sidecar(k, file), 'utf8')))
const queued = (k: Kit): number => k.rows('SELECT 1 FROM manifest_queue').length
const sidecars = (k: Kit): string[] =>
  (fs.readdirSync(k.takes, { recursive: true }) as string[]).filter((name) => besideManifest(name) !== undefined).sort()

/** A world with one take, `rec_a`. */
function world() {
  const k = kit()
  const t = takes(k)
  t.node('n1', 'North', 'hall')
  t.recording('rec_a', { name: 'Algebra', tags: ['lecture', 'maths'], roomId: 'hall' })
  const path = t.file('rec_a', 'primary', pattern(400))
  k.sql(`UPDATE recordings SET status = 'cached', notes = 'first row' WHERE id = 'rec_a'`)
  return { k, path, t }
}

test('beside a take lies what is told of it: row, place, files with their checksums, and no secret', async () => {
  const { k, path, t } = world()
  t.file('rec_a', 'raw', pattern(800))
  k.sql(
    `UPDATE recording_files SET details = '{"gapCount":1,"gapSeconds":2,"gaps":[{"atSeconds":3,"seconds":2}]}' WHERE rendition = 'raw'`,
  )
  await k.tick('take-manifests')
  const manifest = told(k, path)
  assert.deepEqual(manifest.node, { id: 'n1', alias: 'n1', site: 'North', room: 'hall' })
  assert.deepEqual(manifest.room, { id: 'hall', site: 'North', name: 'hall' })
  const { name, notes, status, tags } = manifest.recording
  assert.deepEqual([name, notes, status, tags], ['Algebra', 'first row', 'cached', ['lecture', 'maths']])
  const checksum = `sha256:${createHash('sha256').update(pattern(400)).digest('hex')}`
  assert.deepEqual(manifest.file, { rendition: 'primary', checksum })
  assert.deepEqual(
    manifest.renditions.map(({ path, rendition, sizeBytes }) => [rendition, path, sizeBytes]),
    [
      ['primary', path, 400],
      ['raw', 'ad-hoc/rec_a.raw.wav', 800],
    ],
  )
  assert.deepEqual(manifest.renditions[1]?.details?.gaps, [{ atSeconds: 3, seconds: 2 }])
  assert.equal(told(k, 'ad-hoc/rec_a.raw.wav').file.rendition, 'raw')
  assert.equal(fs.statSync(sidecar(k, path)).mode & 0o777, 0o640)
  assert.equal(queued(k), 0)
  assert.deepEqual(fs.readdirSync(join(k.takes, '.incoming')), [])
  await k.close()
})

test('what people change of a recording, its room, node or schedule is told anew', async () => {
  const { k, path } = world()
  k.sql(`INSERT INTO schedules (id, name, created_at, updated_at) VALUES ('s1', 'Mondays', ?, ?)`, k.now(), k.now())
  k.sql(`UPDATE recordings SET schedule_id = 's1' WHERE id = 'rec_a'`)
  await k.tick('take-manifests')
  assert.equal(told(k, path).schedule?.name, 'Mondays')
  const admin = k.as('admin')
  assert.equal((await admin.patch('/recordings/rec_a/metadata', { name: 'Geometry', tags: ['x'] })).status, 200)
  assert.equal((await admin.patch('/rooms/hall', { name: 'Aula' })).status, 200)
  k.sql(`UPDATE nodes SET alias = 'Lectern' WHERE id = 'n1'`)
  k.sql(`UPDATE schedules SET name = 'Tuesdays' WHERE id = 's1'`)
  // One walk a pass.
  for (let pass = 0; pass < 4; pass++) await k.tick('take-manifests')
  const { node, recording, room, schedule } = told(k, path)
  assert.deepEqual([recording.name, recording.tags], ['Geometry', ['x']])
  assert.deepEqual([node?.alias, room?.name, schedule?.name], ['Lectern', 'Aula', 'Tuesdays'])
  assert.deepEqual([queued(k), k.rows('SELECT 1 FROM manifest_walks')], [0, []])
  await k.close()
})

test('a take that is being made is told of at its first chunk, then every five minutes, and at once when it ends', async () => {
  const k = kit()
  const t = await chunked(k)
  const listed = async (): Promise<number | undefined> => {
    await k.tick('take-manifests')
    const [first] = sidecars(k)
    return told(k, besideManifest(first as string) as string).chunks?.files.length
  }
  const put = (index: number) => t.put(index, wav(counted(index * 8000, 8000)))
  await put(0)
  assert.equal(await listed(), 1)
  await put(1)
  assert.equal(await listed(), 1)
  k.advance('4m')
  await put(2)
  assert.equal(await listed(), 1)
  k.advance('61s')
  assert.equal(await listed(), 3)
  await put(3)
  await t.agent.post(`/recording-jobs/${t.job.id}/failed`, undefined, { 'x-svc-reason': 'unplugged' })
  assert.equal(await listed(), 4)
  await k.close()
})

test('takes of an older version get their manifests little by little', async () => {
  const k = kit({ env: { SVC_TAKE_MANIFESTS_BATCH_SIZE: '2' } })
  const t = takes(k)
  for (const id of ['rec_a', 'rec_b', 'rec_c', 'rec_d', 'rec_e']) {
    t.recording(id)
    t.file(id, 'primary', pattern(100))
  }
  t.recording('rec_f')
  k.sql('DELETE FROM manifest_queue')
  const counts: number[] = []
  for (let pass = 0; pass < 4; pass++) {
    await k.tick('take-manifests')
    counts.push(sidecars(k).length)
  }
  assert.deepEqual(counts, [2, 4, 5, 5])
  assert.deepEqual(k.rows('SELECT 1 FROM manifest_walks'), [])
  await k.close()
})

test('with a take goes its manifest: deleted by people, by retention, or while the manifest is written', async () => {
  const { k, path, t } = world()
  await k.tick('take-manifests')
  assert.deepEqual(sidecars(k), [manifestPath(path)])
  assert.equal((await k.as('admin').delete('/recordings/rec_a')).status, 204)
  assert.deepEqual(sidecars(k), [])

  t.recording('rec_b', { retentionPolicyId: 'retention-keep-controller-cache', recordedAt: '2020-01-01T00:00:00.000Z' })
  t.file('rec_b', 'primary', pattern(100))
  k.sql(`UPDATE recordings SET status = 'cached'`)
  k.sql(
    `UPDATE retention_policies SET action = 'delete_cache', max_age_days = 1, delete_only_after_uploaded = 0, preserve_tagged = 0`,
  )
  await k.tick('take-manifests')
  assert.equal(sidecars(k).length, 1)
  await k.tick('retention')
  assert.deepEqual(sidecars(k), [])

  t.recording('rec_c')
  t.file('rec_c', 'primary', pattern(100))
  k.sql(`UPDATE recordings SET status = 'cached'`)
  const pass = k.tick('take-manifests')
  const gone = k.as('admin').delete('/recordings/rec_c')
  await Promise.all([pass, gone])
  assert.equal((await gone).status, 204)
  assert.deepEqual(sidecars(k), [])
  await k.close()
})

test('a manifest that cannot be written costs nothing, is told in the log, and is written later', async () => {
  const { k, path } = world()
  // A directory in its place: renaming onto it fails.
  fs.mkdirSync(sidecar(k, path))
  await k.tick('take-manifests')
  assert.equal(queued(k), 1)
  assert.ok(k.logged.some((line) => line.includes('manifests of takes could not be written')))
  assert.equal((await k.as('admin').get('/recordings/rec_a')).json.data.name, 'Algebra')
  fs.rmdirSync(sidecar(k, path))
  await k.tick('take-manifests')
  assert.equal(queued(k), 1, 'not before its time')
  k.advance('11s')
  await k.tick('take-manifests')
  assert.equal(told(k, path).recording.name, 'Algebra')
  await k.close()
})
