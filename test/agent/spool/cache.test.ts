import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { smallDisk } from '../../kit/disk.ts'
import { cacheWorld, NOW, policy } from './kit.ts'

const types = (events: { type: string }[]) => events.map((e) => e.type.split('.').slice(1).join('.'))

test('without a policy an accepted take is deleted; with "delete after upload" that is told', async (t) => {
  const w = cacheWorld(t)
  await w.released('a')
  assert.deepEqual([fs.readdirSync(path.join(w.workDir, 'takes')), w.copies(), w.events], [[], [], []])
  await w.released('b', { policy: policy({ deleteAfterUpload: true }) })
  assert.deepEqual(fs.readdirSync(path.join(w.workDir, 'takes')), [])
  assert.deepEqual(types(w.events), ['recording_job.recorder_cache_deleted'])
  assert.deepEqual([w.events[0]?.recordingId, w.events[0]?.details?.policyId], ['rec_b', 'keep'])
})

test('a take under limits is kept as a copy, and the manifest says what it is', async (t) => {
  const w = cacheWorld(t)
  await w.released('a', { daysAgo: 1, policy: policy({ maxAgeDays: 7 }) })
  const take = path.join(w.workDir, 'cache/a/take.wav')
  assert.equal(fs.statSync(take).size, 1000)
  assert.ok(!fs.existsSync(path.join(w.workDir, 'cache/a/ballast')))
  const { entries, version } = JSON.parse(fs.readFileSync(w.manifest, 'utf8'))
  assert.equal(version, 1)
  const { bytes: _, ...entry } = entries[0]
  assert.deepEqual(entry, {
    jobId: 'a',
    outputPath: take,
    policy: policy({ maxAgeDays: 7 }),
    recordedAt: NOW - 86_400_000,
    recordingId: 'rec_a',
  })
  assert.deepEqual(types(w.events), ['recording_job.recorder_cache_tracked'])
})

test('a sweep goes by age, then by size from the oldest, and tells what went and why', async (t) => {
  const w = cacheWorld(t)
  const limits = policy({ maxAgeDays: 7, maxBytes: 25_000 })
  for (const [id, daysAgo] of [
    ['old', 7],
    ['a', 3],
    ['b', 2],
    ['c', 1],
  ] as const)
    await w.released(id, { bytes: 10_000, daysAgo, policy: limits })
  w.events.length = 0
  await w.cache.sweep()
  assert.deepEqual(w.copies(), ['b', 'c'])
  const [{ details, severity, type } = assert.fail()] = w.events
  assert.deepEqual([type, severity], ['agent.recorder_cache.sweep_completed', 'info'])
  const item = (recordingId: string, reason: string) => ({
    errors: [],
    policyId: 'keep',
    reason,
    recordingId,
    status: 'deleted',
  })
  assert.deepEqual(details, {
    deleted: 2,
    errors: 0,
    items: [item('rec_old', 'max_age'), item('rec_a', 'max_bytes')],
    scanned: 4,
  })
  await w.cache.sweep()
  assert.equal(w.events.length, 1)
})

test('while nobody can tell the time nothing is too old, but too much is', async (t) => {
  const w = cacheWorld(t, { surely: () => undefined })
  for (const id of ['a', 'b']) await w.released(id, { daysAgo: 300, policy: policy({ maxAgeDays: 7, maxBytes: 1800 }) })
  await w.cache.sweep()
  assert.equal(w.copies().length, 1)
  const { items } = w.events.at(-1)!.details as { items: { reason: string }[] }
  assert.deepEqual(
    items.map(({ reason }) => reason),
    ['max_bytes'],
  )
})

test('the policy counts as the controller has it now, and a policy it no longer has as the job brought it', async (t) => {
  const w = cacheWorld(t)
  await w.released('a', { daysAgo: 3, policy: policy({ maxAgeDays: 7 }) })
  await w.released('b', { daysAgo: 3, policy: policy({ maxAgeDays: 7, policyId: 'gone' }) })
  w.cache.setPolicies([policy({ maxAgeDays: 2 })])
  await w.cache.sweep()
  assert.deepEqual(w.copies(), ['b'])
  w.cache.setPolicies([policy({ deleteAfterUpload: true, policyId: 'gone' })])
  await w.cache.sweep()
  assert.deepEqual(w.copies(), [])
})

test('copies kept by the agent\'s own setting follow the limits of every policy, but not "delete at once"', async (t) => {
  const w = cacheWorld(t, { keepUploaded: true })
  for (const [id, daysAgo] of [
    ['a', 9],
    ['b', 1],
  ] as const)
    await w.released(id, { daysAgo })
  w.cache.setPolicies([policy({ deleteAfterUpload: true, policyId: 'other' }), policy({ maxAgeDays: 7 })])
  await w.cache.sweep()
  assert.deepEqual(w.copies(), ['b'])
})

test('a share of the disk is kept free at the cost of the oldest copies', async (t) => {
  const dir = smallDisk(t, 4_000_000)
  if (!dir) return
  const w = cacheWorld(t, {}, dir)
  for (const [id, daysAgo] of [
    ['a', 3],
    ['b', 2],
    ['c', 1],
  ] as const)
    await w.released(id, { bytes: 1_000_000, daysAgo, policy: policy({ minFreeDiskPercent: 40 }) })
  await w.cache.sweep()
  assert.deepEqual(w.copies(), ['b', 'c'])
})

test('room is made from the oldest copies, as much as is needed and no more', async (t) => {
  const w = cacheWorld(t)
  for (const [id, daysAgo] of [
    ['a', 3],
    ['b', 2],
    ['c', 1],
  ] as const)
    await w.released(id, { bytes: 50_000, daysAgo, policy: policy({ maxAgeDays: 30 }) })
  const { deleted, errors, freedBytes } = await w.cache.makeRoom(60_000)
  assert.deepEqual([deleted, errors, w.copies()], [2, 0, ['c']])
  assert.ok(freedBytes >= 100_000, `${freedBytes}`)
})

test('a copy that cannot be deleted makes no room: the next one goes for it', async (t) => {
  const w = cacheWorld(t)
  for (const [id, daysAgo] of [
    ['a', 2],
    ['b', 1],
  ] as const)
    await w.released(id, { bytes: 50_000, daysAgo, policy: policy({ maxAgeDays: 30 }) })
  fs.rmSync(path.join(w.workDir, 'cache/a'), { recursive: true })
  fs.writeFileSync(path.join(w.workDir, 'cache/a'), 'no directory')
  const { deleted, errors, freedBytes } = await w.cache.makeRoom(40_000)
  assert.deepEqual([deleted, errors, w.copies()], [1, 1, ['a']])
  assert.ok(freedBytes >= 50_000 && freedBytes < 60_000, `${freedBytes}`)
})

test('a manifest that is damaged or lost is made anew from the directory', async (t) => {
  const w = cacheWorld(t)
  for (const id of ['a', 'b']) await w.released(id, { daysAgo: 9, policy: policy({ maxAgeDays: 30 }) })
  const before = JSON.parse(fs.readFileSync(w.manifest, 'utf8'))
  for (const harm of [() => fs.writeFileSync(w.manifest, '{"entries":[{'), () => fs.rmSync(w.manifest)]) {
    harm()
    await w.reopen().sweep()
    assert.deepEqual(JSON.parse(fs.readFileSync(w.manifest, 'utf8')), before)
  }
})

test('what is in the directory counts: a copy that is gone is dropped, a riddle is left alone', async (t) => {
  const w = cacheWorld(t)
  for (const id of ['a', 'b']) await w.released(id, { daysAgo: 9, policy: policy({ maxAgeDays: 1 }) })
  fs.rmSync(path.join(w.workDir, 'cache/a'), { recursive: true })
  fs.mkdirSync(path.join(w.workDir, 'cache/riddle'))
  fs.writeFileSync(path.join(w.workDir, 'cache/riddle/take.wav'), 'audio')
  w.events.length = 0
  await w.reopen().sweep()
  assert.deepEqual(w.copies(), ['riddle'])
  assert.deepEqual(w.events[0]?.details?.scanned, 1)
})

test('a file that a take still owned has its own name for stays whole when the copy goes', async (t) => {
  const w = cacheWorld(t)
  const size = 40 * 1024 * 1024
  await w.released('a', { bytes: size, daysAgo: 9, policy: policy({ maxAgeDays: 1 }) })
  const owned = path.join(w.workDir, 'takes', 'sibling.wav')
  fs.linkSync(path.join(w.workDir, 'cache/a/take.wav'), owned)
  await w.cache.sweep()
  assert.deepEqual([w.copies(), fs.statSync(owned).size], [[], size])
})

test('a copy that cannot be deleted is told, stays known, and goes with a later sweep', async (t) => {
  const dir = smallDisk(t, 4_000_000)
  if (!dir) return
  const w = cacheWorld(t, {}, dir)
  await w.released('a', { daysAgo: 9, policy: policy({ maxAgeDays: 1 }) })
  const { execFileSync } = await import('node:child_process')
  w.events.length = 0
  execFileSync('mount', ['-o', 'remount,ro', dir])
  await w.cache.sweep()
  execFileSync('mount', ['-o', 'remount,rw', dir])
  assert.deepEqual([w.events[0]?.severity, w.events[0]?.details?.errors, w.copies()], ['warning', 1, ['a']])
  await w.cache.sweep()
  assert.deepEqual(w.copies(), [])
})

test('a take that is held is not swept, and makes way last, with an event that says so', async (t) => {
  const w = cacheWorld(t)
  await w.released('held', { daysAgo: 9, held: true, policy: policy({ maxAgeDays: 1 }) })
  await w.released('old', { daysAgo: 8, policy: policy({ maxAgeDays: 30 }) })
  await w.released('new', { daysAgo: 7, policy: policy({ maxAgeDays: 30 }) })
  await w.cache.sweep()
  assert.deepEqual(w.copies(), ['held', 'new', 'old'])
  await w.cache.makeRoom(1)
  await w.cache.makeRoom(1)
  assert.deepEqual(w.copies(), ['held'])
  assert.equal(types(w.events).includes('recording_job.held_copy_given_up'), false)
  await w.cache.makeRoom(1)
  assert.deepEqual([w.copies(), w.cache.held()], [[], []])
  const told = w.events.find(({ type }) => type.endsWith('held_copy_given_up'))
  assert.deepEqual([told?.recordingId, told?.severity], ['rec_held', 'warning'])
})

test('a take that was let go of is an ordinary copy where its policy says so, and stays one over a restart', async (t) => {
  const w = cacheWorld(t)
  await w.released('a', { daysAgo: 2, held: true, policy: policy({ maxAgeDays: 1 }) })
  await w.released('b', { held: true, policy: policy({ maxAgeDays: 1 }) })
  await w.released('c', { held: true, policy: policy({ deleteAfterUpload: true }) })
  for (const id of ['rec_a', 'rec_b', 'rec_c']) await w.cache.letGo(id)
  assert.deepEqual([w.copies(), w.cache.held()], [['a', 'b'], []])
  const later = w.reopen()
  await later.sweep()
  assert.deepEqual([w.copies(), later.held()], [['b'], []])
})
