import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Kit, kit } from '../../kit/kit.ts'
import { chunked, counted, wav } from '../recordings/chunks/world.ts'

const hex = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const sound = (n: number, frames = 2000) => wav(counted(n * 5000, frames))

const ENHANCING = { codec: 'wav', enhancement: { loudnorm: { enabled: true } } }

/** Past every grace, what is due is joined. */
async function joinedLater(k: Kit): Promise<void> {
  k.advance('2m')
  await k.tick('chunk-join')
}

interface Row {
  checksum: string
  path: string
}

/** What is stored, by the database and by the disk: they agree, and nothing else lies there. */
function assertStored(k: Kit, files: string[], told: Buffer[]): void {
  const rows = k.rows<Row>(
    'SELECT path, checksum FROM recording_files UNION ALL SELECT path, checksum FROM recording_chunk_files',
  )
  for (const row of rows) assert.equal(hex(readFileSync(join(k.takes, row.path))), row.checksum, row.path)
  assert.equal(files.length, rows.length, `${files.join(', ')} for ${rows.length} rows`)
  const kept = new Set(rows.map(({ checksum }) => checksum))
  for (const bytes of told) assert.ok(kept.has(hex(bytes)), 'what was told stored is there')
}

test('of uploads that come at once each one that is told stored has its own bytes', async () => {
  for (let round = 0; round < 12; round++) {
    const k = kit()
    const t = await chunked(k, ENHANCING)
    const shots: [string, Buffer][] = [
      ['?chunk=0', sound(1)],
      ['?chunk=0&rendition=enhanced', sound(2)],
      ['', sound(3)],
      ['?rendition=enhanced', sound(4)],
      ['?rendition=raw', sound(5)],
    ]
    const path = t.path.replace(/\?.*/, '')
    const answers = await Promise.all(shots.map(([query, bytes]) => t.agent.put(path + query, bytes, t.headers)))
    const told = shots.filter((_, n) => answers[n]?.status === 201).map(([, bytes]) => bytes)
    assert.ok(told.length > 0)
    assertStored(k, t.files(), told)
    await k.close()
  }
})

test('the same bytes at once from two senders are stored once', async () => {
  const k = kit()
  const t = await chunked(k)
  const answers = await Promise.all([1, 2, 3].map(() => t.agent.put(t.path, sound(1), t.headers)))
  assert.ok(answers.some(({ status }) => status === 201))
  assertStored(k, t.files(), [sound(1)])
  await k.close()
})

test('a whole take that comes while its chunks are joined is the one that is kept', async () => {
  for (let round = 0; round < 8; round++) {
    const k = kit()
    const t = await chunked(k)
    await t.put(0, sound(1))
    const whole = sound(2, 9000)
    const both = [t.put(1, sound(2), '&chunkTotal=2'), k.tick('chunk-join'), t.agent.put(t.path, whole, t.headers)]
    const [, , answer] = (await Promise.all(both)) as { status: number }[]
    await k.tick('chunk-join')
    const file = readFileSync(join(k.takes, (await t.recording()).cachePath))
    assert.equal(hex(file), (await t.recording()).checksum)
    if (answer?.status === 201) assert.ok(file.equals(whole))
    await k.close()
  }
})

test('chunks never take the place of a take that came whole', async () => {
  const k = kit()
  const t = await chunked(k, ENHANCING)
  const [enhanced, master] = [sound(1, 9000), sound(2, 9000)]
  assert.equal((await t.agent.put(`${t.path}?rendition=enhanced`, enhanced, t.headers)).status, 201)
  assert.equal((await t.agent.put(`${t.path}?rendition=raw`, master, t.headers)).status, 201)
  await t.put(0, sound(3), '&rendition=enhanced&chunkTotal=1')
  await t.put(0, sound(4), '&rendition=raw&chunkTotal=1')
  k.advance('2m')
  await k.tick('chunk-join')
  const { enhancedCachePath, rawCachePath } = await t.recording()
  assert.ok(t.read(enhancedCachePath).equals(enhanced))
  assert.ok(t.read(rawCachePath).equals(master))
  await k.close()
})

test('a take that has all of its chunks takes no further one', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, sound(1))
  await t.put(1, sound(2), '&chunkTotal=2')
  await k.tick('chunk-join')
  const before = await t.recording()
  const beyond = await t.put(2, sound(3))
  assert.deepEqual([beyond.status, beyond.json.reason], [409, 'chunk_set_closed'])
  await k.tick('chunk-join')
  assert.deepEqual(await t.recording(), before)
  await k.close()
})

test('a master that came whole stays, and the chunks of what is played are joined beside it', async () => {
  for (const first of ['master', 'chunk']) {
    const k = kit()
    const t = await chunked(k, ENHANCING)
    const master = sound(1, 9000)
    const sent = {
      chunk: () => t.put(0, sound(2), '&rendition=enhanced'),
      master: () => t.agent.put(`${t.path}?rendition=raw`, master, t.headers),
    }
    for (const one of first === 'chunk' ? [sent.chunk, sent.master] : [sent.master, sent.chunk])
      assert.equal((await one()).status, 201)
    await t.put(0, sound(4), '&rendition=raw')
    await t.put(1, sound(3), '&rendition=enhanced&chunkTotal=2')
    k.advance('2m')
    await k.tick('chunk-join')
    await k.tick('chunk-join')
    const { enhancedCachePath, rawCachePath } = await t.recording()
    assert.ok(t.read(enhancedCachePath).equals(wav(Int16Array.of(...counted(10_000, 2000), ...counted(15_000, 2000)))))
    assert.ok(t.read(rawCachePath).equals(master))
    await k.close()
  }
})

test('a master that came whole after its chunks were joined stays, whatever chunk follows', async () => {
  const k = kit()
  const t = await chunked(k, ENHANCING)
  await t.put(0, sound(1), '&rendition=raw')
  await t.put(0, sound(2), '&rendition=enhanced&chunkTotal=2')
  await joinedLater(k)
  const master = sound(3, 9000)
  assert.equal((await t.agent.put(`${t.path}?rendition=raw`, master, t.headers)).status, 201)
  for (const index of [1, 0]) {
    await t.put(index, sound(4 + index), '&rendition=raw')
    await joinedLater(k)
    assert.ok(t.read((await t.recording()).rawCachePath).equals(master))
  }
  await k.close()
})

test('a take that has all of its chunks does not become longer by what is said of their number', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, sound(1))
  await t.put(1, sound(2), '&chunkTotal=2')
  await joinedLater(k)
  const before = await t.recording()
  const again = await t.put(0, sound(1), '&chunkTotal=3')
  assert.deepEqual([again.status, again.json.reason], [409, 'chunk_set_closed'])
  assert.equal((await t.put(2, sound(3))).status, 409)
  await joinedLater(k)
  assert.deepEqual(await t.recording(), before)
  await k.close()
})

test('a short file does not take the place of the chunks that are there', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, sound(1, 40_000))
  await t.put(1, sound(2, 40_000))
  const short = await t.agent.put(t.path, sound(3, 8000), t.headers)
  assert.deepEqual([short.status, short.json.reason], [409, 'take_already_stored'])
  await t.put(2, sound(4, 40_000), '&chunkTotal=3')
  await joinedLater(k)
  const { cachePath, durationSeconds } = await t.recording()
  assert.equal(t.read(cachePath).length, sound(1, 120_000).length)
  assert.equal(durationSeconds, 15)
  await k.close()
})

test('a take that is finished is not played from another rendition that comes later', async () => {
  const k = kit()
  const t = await chunked(k, ENHANCING)
  const enhanced = sound(1, 9000)
  assert.equal((await t.agent.put(`${t.path}?rendition=enhanced`, enhanced, t.headers)).status, 201)
  const before = await t.recording()
  const other = await t.agent.put(t.path, sound(2, 9000), t.headers)
  assert.deepEqual([other.status, other.json.reason], [409, 'take_already_stored'])
  assert.deepEqual(await t.recording(), before)
  await k.close()
})

test('a join that takes the place of a file says which', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, sound(1))
  await t.put(2, sound(3), '&chunkTotal=3')
  await joinedLater(k)
  const first = await t.recording()
  await t.put(1, sound(2))
  await joinedLater(k)
  const { data } = (await k.as('owner').get('/audit-events?action=recordings.chunks.join.succeeded')).json
  assert.deepEqual([data.length, data[0].before.checksum, data[1].before ?? null], [2, first.checksum, null])
  await k.close()
})
