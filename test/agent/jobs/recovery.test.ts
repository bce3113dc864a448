import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { LinkError } from '../../../src/agent/link/link.ts'
import { smallDisk } from '../../kit/disk.ts'
import { age, framesOnDisk } from '../../kit/take.ts'
import { job, status, tempDir, tones, until, wav, world } from './kit.ts'

const RATE = 48_000
const CHILD = path.join(import.meta.dirname, 'child.ts')
const real = { captureDevice: 'test:', durationSeconds: 600 }

interface Crash {
  command: Record<string, object>
  hang?: string
  settings?: object
  /** When to kill. */
  when: (workDir: string) => boolean
}

/** Runs jobs in a process of their own until something is the case, and kills it. */
async function crash(t: TestContext, { command, hang = '', settings = {}, when }: Crash): Promise<string> {
  const workDir = tempDir(t)
  const args = [CHILD, workDir, JSON.stringify(command), JSON.stringify(settings), hang]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  try {
    await until(() => when(workDir) || child.exitCode !== null)
  } finally {
    child.kill('SIGKILL')
    await gone
  }
  return workDir
}

const takeSize = (dir: string, id = 'a'): number => {
  const file = path.join(dir, 'takes', id, 'take.wav')
  return fs.existsSync(file) ? fs.statSync(file).size : 0
}

const empty = (dir: string) => assert.deepEqual(fs.readdirSync(path.join(dir, 'takes')), [])

const take = (dir: string): string => path.join(dir, 'takes', 'a', 'take.wav')

const frameCount = (dir: string): number => framesOnDisk(take(dir), 4)

/** A take of `a` that was captured and that no program can open for writing. */
function harm(dir: string): void {
  const file = path.join(dir, 'takes/a/state.json')
  const state = JSON.parse(fs.readFileSync(file, 'utf8'))
  fs.writeFileSync(file, JSON.stringify({ ...state, status: 'captured' }))
  fs.rmSync(take(dir))
  fs.mkdirSync(take(dir))
}

/** As if the agent had been away for that long. */
const aged = (dir: string, seconds: number): void => age(take(dir), seconds)

for (const least of [1, 40_000])
  test(`killed while capturing, after ${least} frames, and away past the end: the take is complete up to there`, async (t) => {
    const dir = await crash(t, { command: { a: real }, when: (d) => frameCount(d) >= least })
    const frames = frameCount(dir)
    aged(dir, 600)
    const w = world(t, {}, dir)
    w.link.add(job('a', real))
    await w.runner.recover()
    assert.deepEqual(w.runner.holding(), ['a'])
    await w.runner.idle()
    const { pcm } = wav(w.link.uploads[0]!.bytes)
    assert.ok(pcm.equals(tones(frames)))
    assert.deepEqual(w.names(), ['recovered_after_restart'])
    empty(dir)
  })

test('killed while capturing, with time left: the take goes on, the gap is silence of its true length', async (t) => {
  const command = { ...real, durationSeconds: 4 }
  const dir = await crash(t, { command: { a: command }, when: (d) => takeSize(d) > 150_000 })
  const before = frameCount(dir)
  aged(dir, 1)
  const w = world(t, {}, dir)
  w.link.add(job('a', command))
  await w.runner.recover()
  await w.runner.idle()
  const { pcm } = wav(w.link.uploads[0]!.bytes)
  assert.equal(pcm.length, 4 * RATE * 4)
  assert.ok(pcm.subarray(0, before * 4).equals(tones(before)))
  const { atFrame, seconds } = w.events.find((e) => e.type.endsWith('capture_device_recovered'))!.details as Record<
    string,
    number
  >
  const gap = Math.round(seconds! * RATE)
  assert.equal(atFrame, before)
  assert.ok(gap >= RATE && gap < 3 * RATE, `gap of ${gap} frames`)
  assert.ok(pcm.subarray(before * 4, (before + gap) * 4).equals(Buffer.alloc(gap * 4)))
  assert.ok(pcm.subarray((before + gap) * 4).equals(tones(4 * RATE - before - gap)))
  assert.deepEqual(w.names(), ['recovered_after_restart', 'capture_device_recovered', 'capture_runtime_restarted'])
  empty(dir)
})

test('killed while capturing, and stopped by the operator meanwhile: it ends with what is there', async (t) => {
  const dir = await crash(t, { command: { a: real }, when: (d) => takeSize(d) > 150_000 })
  const before = frameCount(dir)
  const w = world(t, {}, dir)
  w.link.add(job('a', real))
  w.link.set('a', { status: 'stop_requested' })
  await w.runner.recover()
  await w.runner.idle()
  const { pcm } = wav(w.link.uploads[0]!.bytes)
  assert.ok(pcm.subarray(0, before * 4).equals(tones(before)))
  empty(dir)
})

test('killed while rendering: rendered again and uploaded', async (t) => {
  const dir = tempDir(t)
  const slow = path.join(dir, 'slow')
  fs.writeFileSync(slow, '#!/bin/sh\ncat >/dev/null\ntouch "$0.full"\nexec sleep 3\n', { mode: 0o755 })
  const command = { a: { outputCodec: 'mp3', outputFileName: 'rec_a.mp3' } }
  const rendering = (d: string) => fs.existsSync(`${slow}.full`) && status(d) === 'captured'
  const workDir = await crash(t, { command, settings: { renderCommand: slow }, when: rendering })
  assert.equal(status(workDir), 'captured')
  const w = world(t, {}, workDir)
  w.link.add(job('a'))
  await w.runner.recover()
  await w.runner.idle()
  assert.deepEqual([w.link.uploads[0]!.contentType, w.link.uploads[0]!.durationSeconds], ['audio/mpeg', 2])
  empty(workDir)
})

test('killed while uploading: uploaded, even when the lease has run out meanwhile', async (t) => {
  const dir = await crash(t, { command: { a: {} }, hang: 'upload', when: (d) => status(d) === 'uploading' })
  const w = world(t, {}, dir)
  w.link.add({ ...job('a'), failureReason: 'lease_expired', status: 'failed' })
  await w.runner.recover()
  await w.runner.idle()
  assert.equal(wav(w.link.uploads[0]!.bytes).dataBytes, 2 * RATE * 4)
  empty(dir)
})

test('killed after the claim: the capture begins if the job still runs', async (t) => {
  const command = { a: { captureDevice: 'test:stall-after=0.00001' } }
  const dir = await crash(t, { command, settings: { growthGraceSeconds: 100 }, when: (d) => status(d) === 'claimed' })
  const file = path.join(dir, 'takes/a/state.json')
  const state = JSON.parse(fs.readFileSync(file, 'utf8'))
  state.job.command.captureDevice = 'test:speed=20'
  fs.writeFileSync(file, JSON.stringify(state))
  const w = world(t, {}, dir)
  w.link.add(job('a'))
  await w.runner.recover()
  await w.runner.idle()
  assert.equal(wav(w.link.uploads[0]!.bytes).dataBytes, 2 * RATE * 4)
  empty(dir)
})

test('killed after the claim, and the lease ran out meanwhile: captured while the take has time left, not after', async (t) => {
  const command = { a: { captureDevice: 'test:stall-after=0.00001' } }
  for (const claimedAt of [Date.now(), Date.now() - 3_600_000]) {
    const dir = await crash(t, { command, settings: { growthGraceSeconds: 100 }, when: (d) => status(d) === 'claimed' })
    const file = path.join(dir, 'takes/a/state.json')
    const state = JSON.parse(fs.readFileSync(file, 'utf8'))
    state.job.command = { ...state.job.command, captureDevice: 'test:speed=200', durationSeconds: 60 }
    state.claimed.upMs -= Date.now() - claimedAt
    fs.writeFileSync(file, JSON.stringify({ ...state, claimedAt }))
    const w = world(t, {}, dir)
    w.link.add({ ...job('a'), failureReason: 'lease_expired', status: 'failed' })
    await w.runner.recover()
    await w.runner.idle()
    const late = claimedAt < Date.now() - 60_000
    assert.deepEqual(
      w.link.uploads.map((u) => wav(u.bytes).dataBytes),
      late ? [] : [60 * RATE * 4],
    )
    empty(dir)
  }
})

for (const [remote, cancelled] of [
  ['stop_requested', 1],
  ['failed', 0],
] as const)
  test(`killed after the claim, and the job is ${remote} now: nothing is captured`, async (t) => {
    const command = { a: { captureDevice: 'test:stall-after=0.00001' } }
    const dir = await crash(t, { command, settings: { growthGraceSeconds: 100 }, when: (d) => status(d) === 'claimed' })
    const w = world(t, {}, dir)
    w.link.add({ ...job('a'), status: remote })
    await w.runner.recover()
    await w.runner.idle()
    assert.equal(w.link.cancelled.length, cancelled)
    assert.equal(w.link.uploads.length, 0)
    empty(dir)
  })

test('a group that was killed goes on: each member gets its part', async (t) => {
  const group = { ...real, captureGroupId: 'cap_1', durationSeconds: 3 }
  const command = { a: { ...group, captureChannelSelection: [1] }, b: { ...group, captureChannelSelection: [2] } }
  const dir = await crash(t, { command, when: (d) => takeSize(d, 'b') > 50_000 })
  const w = world(t, {}, dir)
  w.link.add(job('a', command.a), job('b', command.b))
  await w.runner.recover()
  await w.runner.idle()
  assert.deepEqual(
    w.link.uploads.map((u) => wav(u.bytes).dataBytes),
    [3 * RATE * 2, 3 * RATE * 2],
  )
  empty(dir)
})

test('an accepted upload is not repeated after a restart', async (t) => {
  const dir = await crash(t, { command: { a: {} }, hang: 'upload', when: (d) => status(d) === 'uploading' })
  const file = path.join(dir, 'takes/a/state.json')
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), status: 'uploaded' }))
  const w = world(t, {}, dir)
  await w.runner.recover()
  await w.runner.idle()
  assert.equal(w.link.uploads.length, 0)
  empty(dir)
})

test('killed while a refused take was put aside: it is put aside, not deleted', async (t) => {
  const dir = await crash(t, { command: { a: {} }, hang: 'upload', when: (d) => status(d) === 'uploading' })
  const file = path.join(dir, 'takes/a/state.json')
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), status: 'failed' }))
  const w = world(t, {}, dir)
  await w.runner.recover()
  await w.runner.idle()
  assert.equal(wav(fs.readFileSync(path.join(dir, 'kept/a/take.wav'))).dataBytes, 2 * RATE * 4)
  assert.deepEqual([w.names(), w.link.failed, w.runner.holding()], [['capture_segments_unrecoverable'], [], []])
})

test('a state that cannot be read is kept with its audio and said aloud', async (t) => {
  const dir = tempDir(t)
  fs.mkdirSync(path.join(dir, 'takes/a'), { recursive: true })
  fs.writeFileSync(path.join(dir, 'takes/a/state.json'), '{"version":1')
  fs.writeFileSync(path.join(dir, 'takes/a/take.wav'), 'audio')
  const w = world(t, {}, dir)
  await w.runner.recover()
  await w.runner.idle()
  assert.equal(fs.readFileSync(path.join(dir, 'kept/a/take.wav'), 'utf8'), 'audio')
  assert.deepEqual(w.names(), ['state_unreadable'])
  assert.deepEqual(w.runner.holding(), [])
})

test('a take that cannot be examined is put aside and said aloud; the others go on', async (t) => {
  const command = { a: {}, b: {} }
  const both = (d: string) => ['a', 'b'].every((id) => status(d, id) === 'uploading')
  const dir = await crash(t, { command, hang: 'upload', when: both })
  harm(dir)
  const w = world(t, {}, dir)
  w.link.add(job('a'), job('b'))
  await w.runner.recover()
  assert.deepEqual(w.runner.holding(), ['b'])
  await w.runner.idle()
  assert.deepEqual(
    w.link.uploads.map((upload) => upload.recordingId),
    ['rec_b'],
  )
  assert.deepEqual(fs.readdirSync(path.join(dir, 'kept')), ['a'])
  assert.equal(w.events[0]?.severity, 'critical')
  assert.deepEqual(w.names(), ['capture_segments_unrecoverable', 'recovered_after_restart'])
  empty(dir)
})

test('what cannot even be put aside stays as it is, is not begun again, and keeps no other from recording', async (t) => {
  const other = smallDisk(t, 1_000_000)
  if (!other) return
  const command = { a: {}, b: {} }
  const both = (d: string) => ['a', 'b'].every((id) => status(d, id) === 'uploading')
  const dir = await crash(t, { command, hang: 'upload', when: both })
  harm(dir)
  fs.writeFileSync(path.join(dir, 'takes/b/state.json'), '{"version":1')
  fs.rmdirSync(path.join(dir, 'kept'))
  fs.symlinkSync(other, path.join(dir, 'kept'))
  const w = world(t, {}, dir)
  await w.runner.recover()
  assert.deepEqual(w.runner.holding().sort(), ['a', 'b'])
  assert.deepEqual(w.names(), ['state_unreadable', 'capture_segments_unrecoverable'])
  await w.runner.accept(w.link.add(job('a'), job('b'), job('c')))
  await w.runner.idle()
  assert.deepEqual(
    w.link.uploads.map((upload) => upload.recordingId),
    ['rec_c'],
  )
  assert.ok(fs.existsSync(path.join(dir, 'takes/a/take.wav')))
  assert.ok(fs.statSync(path.join(dir, 'takes/b/take.wav')).size > 2 * RATE * 4)
})

test('a terminal report that did not get through is repeated', async (t) => {
  const dir = tempDir(t)
  const first = world(t, { captureCommand: 'false', stopGraceSeconds: 0.1 }, dir)
  first.link.reportFailed = async () => {
    throw new LinkError('no answer')
  }
  first.runner.accept(first.link.add(job('a', { captureDevice: 'hw:1' })))
  await until(() => status(dir) === 'failed')
  await first.runner.stop()
  const w = world(t, {}, dir)
  w.link.add(job('a'))
  await w.runner.recover()
  await w.runner.idle()
  assert.equal(w.link.failed.length, 1)
  empty(dir)
})
