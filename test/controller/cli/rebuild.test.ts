import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { fmtOf, PCM, wavHeader } from '../../../src/kernel/wav.rules.ts'
import type { TakeManifest } from '../../../src/wire/manifests.ts'
import { ROOT } from '../../kit/executable.ts'
import { kit } from '../../kit/kit.ts'
import { scratchDir } from '../../kit/scratch.ts'
import { pattern, takes } from '../recordings/library/takes.ts'

const SUFFIX = '.roomtone.json'

function rebuild(on: string, ...args: string[]) {
  const env = { ...process.env, SVC_DATA_DIR: on }
  return spawnSync(process.execPath, [path.join(ROOT, 'src/main.ts'), 'rebuild', ...args], { encoding: 'utf8', env })
}

function dataDir(t: TestContext): string {
  const dir = scratchDir('roomtone-rebuild-')
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** The takes of a controller with their manifests, and no database. */
async function lostDatabase(t: TestContext): Promise<string> {
  const on = dataDir(t)
  const k = kit()
  const made = takes(k)
  made.node('n1', 'North', 'hall')
  k.sql(`INSERT INTO schedules (id, name, created_at, updated_at) VALUES ('s1', 'Mondays', ?, ?)`, k.now(), k.now())
  for (const id of ['rec_a', 'rec_b'])
    made.recording(id, { name: `Take ${id}`, roomId: 'hall', tags: ['maths', 'First'] })
  made.file('rec_a', 'primary', pattern(4000), 'mp3')
  made.file('rec_a', 'raw', pattern(8000))
  made.file('rec_b', 'primary', pattern(1200), 'flac')
  k.sql(
    `UPDATE recordings SET status = 'uploaded', notes = 'Quorum', schedule_id = 's1', source = 'schedule' WHERE id = 'rec_a'`,
  )
  k.sql(`UPDATE recordings SET status = 'cached' WHERE id = 'rec_b'`)
  k.sql(
    `UPDATE recording_files SET details = '{"gapCount":1,"gaps":[{"atSeconds":1,"seconds":2}]}' WHERE path LIKE '%mp3'`,
  )
  await k.tick('take-manifests')
  fs.cpSync(k.takes, path.join(on, 'recordings'), { recursive: true })
  await k.close()
  return on
}

const opened = (on: string) =>
  kit({ file: path.join(on, 'roomtone.db'), env: { SVC_RECORDING_CACHE_DIR: path.join(on, 'recordings') } })
const recordings = (on: string, ...more: string[]) => path.join(on, 'recordings', ...more)
const bytesOf = (on: string) =>
  (fs.readdirSync(on, { recursive: true }) as string[])
    .filter((name) => fs.statSync(path.join(on, name)).isFile())
    .map((name) => [
      name,
      createHash('sha256')
        .update(fs.readFileSync(path.join(on, name)))
        .digest('hex'),
    ])

test('library, rooms and nodes come back from what lies beside the takes, and nothing else does', async (t) => {
  const on = await lostDatabase(t)
  const { status, stderr, stdout } = rebuild(on)
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^2 takes found; 0 manifests damaged; 0 files without manifest\.$/m)
  const k = opened(on)
  const admin = k.as('admin')
  const { data } = (await admin.get('/recordings/rec_a')).json
  assert.deepEqual(
    [data.name, data.notes, data.tags, data.nodeId, data.roomId, data.scheduleId, data.source],
    ['Take rec_a', 'Quorum', ['maths', 'First'], 'n1', 'hall', undefined, 'schedule'],
  )
  // Whether it is at a destination nobody here can say.
  assert.deepEqual([data.status, data.cached, data.rawCachePath], ['cached', true, 'ad-hoc/rec_a.raw.wav'])
  assert.deepEqual(data.renditions.primary.gaps, [{ atSeconds: 1, seconds: 2 }])
  const [node] = (await admin.get('/nodes')).json.data
  assert.deepEqual([node.id, node.alias, node.status], ['n1', 'n1', 'provisioning'])
  assert.deepEqual(k.rows('SELECT id, site, name FROM rooms'), [{ id: 'hall', site: 'North', name: 'hall' }])
  assert.deepEqual(
    k.rows(`SELECT 1 FROM schedules UNION ALL SELECT 1 FROM users WHERE id <> 'admin' AND id NOT LIKE 'role%'`),
    [],
  )
  const played = await k.app.request('/api/v1/recordings/rec_a/file', {
    headers: { authorization: `Bearer ${admin.token}` },
  })
  assert.deepEqual(Buffer.from(await played.arrayBuffer()), pattern(4000))
  const found = (await admin.get('/recordings?search=quorum')).json
  assert.deepEqual([found.data.length, found.meta.total], [1, 1])
  assert.equal((await admin.get('/recordings?tag=first&nodeId=n1')).json.meta.total, 2)
  await k.close()
})

test('what is rebuilt is as a controller would have kept it: schema, counts, references', async (t) => {
  const on = await lostDatabase(t)
  assert.equal(rebuild(on).status, 0)
  const k = opened(on)
  const objects = `SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'recording_grams_%' ORDER BY 1, 2`
  const fresh = kit()
  assert.deepEqual(k.rows(objects), fresh.rows(objects))
  await fresh.close()
  assert.deepEqual(k.db.raw.pragma('integrity_check', { simple: true }), 'ok')
  assert.deepEqual(k.db.raw.pragma('foreign_key_check'), [])
  const cells = `SELECT c.source, c.status, c.cached, c.n, s.node_id, s.room_id FROM recording_cells c
    JOIN recording_scopes s ON s.id = c.scope_id ORDER BY 1`
  const cell = { status: 'cached', cached: 1, n: 1, node_id: 'n1', room_id: 'hall' }
  assert.deepEqual(k.rows(cells), [
    { source: 'ad_hoc', ...cell },
    { source: 'schedule', ...cell },
  ])
  assert.deepEqual(k.rows(`SELECT value, n FROM recording_facet_totals WHERE facet = 'tag' ORDER BY value`), [
    { value: 'First', n: 2 },
    { value: 'maths', n: 2 },
  ])
  // They count on: the triggers are back.
  assert.equal((await k.as('admin').delete('/recordings/rec_b')).status, 204)
  assert.equal(k.rows<{ n: number }>('SELECT sum(n) AS n FROM recording_cells')[0]?.n, 1)
  assert.equal(fs.existsSync(recordings(on, 'ad-hoc/rec_b.flac')), false)
  await k.close()
})

test('a database that is there is refused, and nothing is changed', async (t) => {
  const on = await lostDatabase(t)
  for (const name of ['roomtone.db', 'roomtone.db-wal']) {
    fs.writeFileSync(path.join(on, name), 'whatever it holds')
    const before = bytesOf(on)
    const { status, stderr } = rebuild(on)
    assert.equal(status, 1)
    assert.match(stderr, /There is a database already/)
    assert.deepEqual(bytesOf(on), before)
    fs.rmSync(path.join(on, name))
  }
  assert.equal(rebuild(on, 'somewhere').status, 2)
})

test('damaged and hostile manifests are told, and their takes are listed under the names of their files', async (t) => {
  const on = await lostDatabase(t)
  const beside = (name: string) => recordings(on, 'ad-hoc', `${name}${SUFFIX}`)
  const good = JSON.parse(fs.readFileSync(beside('rec_b.flac'), 'utf8')) as TakeManifest
  const put = (name: string, text: string) => {
    fs.writeFileSync(recordings(on, 'ad-hoc', name), pattern(100))
    fs.writeFileSync(beside(name), text)
  }
  const changed = (change: (manifest: TakeManifest) => void): string => {
    const copy = structuredClone(good)
    change(copy)
    return JSON.stringify(copy)
  }
  put('cut.wav', JSON.stringify(good).slice(0, 200))
  put('empty.wav', '')
  put('version.wav', JSON.stringify({ ...good, version: 2 }))
  put(
    'ids.wav',
    changed((m) => (m.recording.id = '../../etc/passwd')),
  )
  put(
    'outside.wav',
    changed((m) => (m.renditions[0]!.path = '../../secret.mp3')),
  )
  put('huge.wav', 'x'.repeat(9 * 1024 * 1024))
  put(
    'nameless.wav',
    changed((m) => (m.file.checksum = 'sha256:0')),
  )
  put(
    'lines.wav',
    changed((m) => (m.recording.name = 'two\nlines')),
  )
  fs.writeFileSync(beside('gone.wav'), JSON.stringify(good))
  const target = path.join(on, 'elsewhere.json')
  fs.writeFileSync(target, JSON.stringify(good))
  fs.writeFileSync(recordings(on, 'ad-hoc', 'linked.wav'), pattern(100))
  fs.symlinkSync(target, beside('linked.wav'))
  const { status, stderr, stdout } = rebuild(on)
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^11 takes found; 9 manifests damaged; 9 files without manifest\.$/m)
  for (const name of ['cut', 'empty', 'version', 'ids', 'outside', 'huge', 'nameless', 'lines', 'gone'])
    assert.match(stdout, new RegExp(`^damaged manifest: ad-hoc/${name}\\.wav \\(.+\\)$`, 'm'))
  assert.match(stdout, /damaged manifest: ad-hoc\/gone\.wav \(its audio file is missing\)/)
  const k = opened(on)
  assert.deepEqual(
    k.rows<{ name: string }>(`SELECT name FROM recordings WHERE folder = 'Rebuilt' ORDER BY 1`).map(({ name }) => name),
    [
      'cut.wav',
      'empty.wav',
      'huge.wav',
      'ids.wav',
      'lines.wav',
      'linked.wav',
      'nameless.wav',
      'outside.wav',
      'version.wav',
    ],
  )
  await k.close()
})

test('a take without manifest is listed under the name of its file, with its own checksum and length', async (t) => {
  const on = dataDir(t)
  const id = 'rec_01234567-89ab-4cde-8f01-23456789abcd'
  const fmt = fmtOf({ bits: 16, channels: 1, rate: 8000, tag: PCM })
  const wav = Buffer.concat([wavHeader(fmt, 48_000), Buffer.alloc(48_000)])
  fs.mkdirSync(recordings(on, 'ad-hoc'), { recursive: true })
  fs.writeFileSync(recordings(on, 'ad-hoc', `${id}.wav`), wav)
  fs.writeFileSync(recordings(on, 'ad-hoc', `${id}.raw.wav`), wav)
  fs.writeFileSync(recordings(on, 'notes.txt'), 'no take')
  fs.mkdirSync(recordings(on, '.incoming'))
  fs.writeFileSync(recordings(on, '.incoming', 'part.wav'), wav)
  assert.match(rebuild(on).stdout, /^2 takes found; 0 manifests damaged; 2 files without manifest\.$/m)
  const k = opened(on)
  const all = (await k.as('admin').get('/recordings?sortBy=name&sortOrder=asc')).json.data
  assert.deepEqual(
    all.map(({ name }: { name: string }) => name),
    [`${id}.raw.wav`, `${id}.wav`],
  )
  assert.ok(all.some((one: { id: string }) => one.id === id))
  const checksum = `sha256:${createHash('sha256').update(wav).digest('hex')}`
  for (const one of all) assert.deepEqual([one.checksum, one.durationSeconds, one.cached], [checksum, 3, true])
  await k.close()
})

test('the newest word counts, and a manifest cannot claim a file that has its own', async (t) => {
  const on = await lostDatabase(t)
  const [played, master] = ['rec_a.mp3', 'rec_a.raw.wav'].map((name) => recordings(on, 'ad-hoc', name + SUFFIX))
  const manifest = JSON.parse(fs.readFileSync(master!, 'utf8')) as TakeManifest
  manifest.recording.name = 'Said later'
  manifest.node!.alias = 'Moved'
  manifest.writtenAt = '2031-01-01T00:00:00.000Z'
  fs.writeFileSync(master!, JSON.stringify(manifest))
  assert.ok(fs.existsSync(played!))
  const other = JSON.parse(fs.readFileSync(recordings(on, 'ad-hoc', `rec_b.flac${SUFFIX}`), 'utf8')) as TakeManifest
  other.recording.id = 'rec_thief'
  const own = { ...other.renditions[0]!, rendition: 'raw' as const, path: 'ad-hoc/thief.flac' }
  other.file = { checksum: own.checksum, rendition: 'raw' }
  other.renditions = [own, { ...other.renditions[0]!, path: 'ad-hoc/rec_b.flac' }]
  fs.writeFileSync(recordings(on, 'ad-hoc', 'thief.flac'), pattern(1200))
  fs.writeFileSync(recordings(on, 'ad-hoc', `thief.flac${SUFFIX}`), JSON.stringify(other))
  const { stdout } = rebuild(on)
  assert.match(stdout, /^3 takes found; 0 manifests damaged; 0 files without manifest\.$/m)
  const k = opened(on)
  assert.deepEqual(
    k.rows<{ path: string }>(
      `SELECT path FROM recording_files WHERE recording_id IN ('rec_b', 'rec_thief') ORDER BY recording_id`,
    ),
    [{ path: 'ad-hoc/rec_b.flac' }, { path: 'ad-hoc/thief.flac' }],
  )
  assert.equal(k.rows<{ name: string }>(`SELECT name FROM recordings WHERE id = 'rec_a'`)[0]?.name, 'Said later')
  assert.equal(k.rows<{ alias: string }>('SELECT alias FROM nodes')[0]?.alias, 'Moved')
  await k.close()
})

test('links lead nowhere, neither as folders nor in paths that a manifest names, and the report names them', async (t) => {
  const [on, outside] = [await lostDatabase(t), dataDir(t)]
  const place = recordings(on, 'ad-hoc', `rec_b.flac${SUFFIX}`)
  const manifest = JSON.parse(fs.readFileSync(place, 'utf8')) as TakeManifest
  fs.writeFileSync(path.join(outside, 'master.wav'), pattern(500))
  fs.symlinkSync(outside, recordings(on, 'linked'))
  fs.symlinkSync(path.join(outside, 'master.wav'), recordings(on, 'ad-hoc', 'alias.wav'))
  const master = { ...manifest.renditions[0]!, path: 'linked/master.wav', rendition: 'raw' as const, sizeBytes: 500 }
  manifest.renditions.push(master)
  fs.writeFileSync(place, JSON.stringify(manifest))
  const { status, stderr, stdout } = rebuild(on)
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^2 takes found; 0 manifests damaged; 0 files without manifest\.$/m)
  for (const name of ['linked', 'ad-hoc/alias.wav'])
    assert.match(stdout, new RegExp(`^symbolic link, skipped: ${name}$`, 'm'))
  const k = opened(on)
  assert.deepEqual(k.rows(`SELECT path FROM recording_files WHERE recording_id = 'rec_b'`), [
    { path: 'ad-hoc/rec_b.flac' },
  ])
  await k.close()
})

test('a manifest that claims the id of another take is not believed, whatever its date: both are named, and both takes stay', async (t) => {
  const on = await lostDatabase(t)
  const real = JSON.parse(fs.readFileSync(recordings(on, 'ad-hoc', `rec_a.mp3${SUFFIX}`), 'utf8')) as TakeManifest
  const forged = (name: string, rendition: 'enhanced' | 'primary', tellsOthers: boolean, bytes: Buffer): void => {
    const checksum = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    const own = { ...real.renditions[0]!, checksum, path: `ad-hoc/${name}`, rendition, sizeBytes: bytes.length }
    const manifest: TakeManifest = {
      ...real,
      file: { checksum, rendition },
      recording: { ...real.recording, name: 'Forged' },
      renditions: [own, ...(tellsOthers ? real.renditions : [])],
      writtenAt: '2031-01-01T00:00:00.000Z',
    }
    fs.writeFileSync(recordings(on, 'ad-hoc', name), bytes)
    fs.writeFileSync(recordings(on, 'ad-hoc', name + SUFFIX), JSON.stringify(manifest))
  }
  forged('Algebra.mp3', 'primary', false, pattern(100))
  forged('Botanik.mp3', 'enhanced', true, pattern(200))
  // Named as a take of the recording would be: which of the two is the real one nobody can tell.
  forged('rec_a.other.mp3', 'primary', false, pattern(300))
  const { status, stderr, stdout } = rebuild(on)
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^3 manifests ignored because another contradicts them; both are named above\.$/m)
  for (const name of ['Algebra.mp3', 'Botanik.mp3'])
    assert.match(
      stdout,
      new RegExp(`^conflicting manifests: ad-hoc/${name} and ad-hoc/rec_a\\..* describe the same recording`, 'm'),
    )
  assert.match(stdout, /^conflicting manifests: .*ad-hoc\/rec_a\.other\.mp3/m)
  const k = opened(on)
  const files = 'SELECT r.name, f.path FROM recordings r JOIN recording_files f ON f.recording_id = r.id'
  const rows = k.rows<{ name: string; path: string }>(`${files} ORDER BY f.path`)
  assert.deepEqual(
    rows.map(({ path: file }) => file),
    ['Algebra.mp3', 'Botanik.mp3', 'rec_a.mp3', 'rec_a.other.mp3', 'rec_a.raw.wav', 'rec_b.flac'].map(
      (name) => `ad-hoc/${name}`,
    ),
  )
  for (const { name, path: file } of rows.slice(0, 2)) assert.equal(`ad-hoc/${name}`, file)
  await k.close()
})

test('what a rebuild left that was killed harms neither the next one nor the takes', async (t) => {
  const on = await lostDatabase(t)
  const takesBefore = bytesOf(recordings(on))
  for (const suffix of ['', '-journal', '-wal'])
    fs.writeFileSync(path.join(on, `roomtone.db.rebuilding${suffix}`), 'half')
  assert.equal(rebuild(on).status, 0)
  assert.deepEqual(bytesOf(recordings(on)), takesBefore)
  assert.deepEqual(
    fs.readdirSync(on).filter((name) => name.includes('rebuilding')),
    [],
  )
})
