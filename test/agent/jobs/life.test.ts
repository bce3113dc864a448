import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { MARKED_HEADER } from '../../../src/agent/audio/marks.rules.ts'
import { LinkError } from '../../../src/agent/link/link.ts'
import { job, status, tempDir, until, wav, world } from './kit.ts'

const REAL = { captureDevice: 'test:' }
const takes = (workDir: string) => fs.readdirSync(path.join(workDir, 'takes'))

test('a stop keeps the take: it is finalized, rendered and uploaded', async (t) => {
  const w = world(t)
  w.runner.accept(
    w.link.add(job('a', { ...REAL, durationSeconds: 600, outputCodec: 'flac', outputFileName: 'x.flac' })),
  )
  await until(() => fs.existsSync(path.join(w.workDir, 'takes/a/take.wav')))
  await until(() => fs.statSync(path.join(w.workDir, 'takes/a/take.wav')).size > MARKED_HEADER + 40_000)
  w.link.set('a', { status: 'stop_requested' })
  await w.runner.idle()
  const [sent] = w.link.uploads
  assert.equal(sent!.contentType, 'audio/flac')
  assert.equal(sent!.bytes.toString('latin1', 0, 4), 'fLaC')
  assert.ok(sent!.durationSeconds > 0.2 && sent!.durationSeconds < 60)
  assert.deepEqual(w.link.cancelled, [])
  assert.deepEqual(takes(w.workDir), [])
})

test('a stop before any audio is reported as cancelled', async (t) => {
  const w = world(t)
  w.runner.accept(w.link.add({ ...job('b', { captureDevice: 'test:stall-after=0.00001' }), status: 'stop_requested' }))
  await w.runner.idle()
  assert.deepEqual(w.link.cancelled, [['b', 'controller_stop_requested']])
  assert.equal(w.runner.holding().length, 0)
})

test('the state is on disk before the first heartbeat, and the lease is renewed until the upload is accepted', async (t) => {
  const w = world(t)
  const beat = w.link.jobHeartbeat.bind(w.link)
  let first: string | undefined
  w.link.jobHeartbeat = (id) => {
    first ??= status(w.workDir, id)
    return beat(id)
  }
  let during = 0
  w.link.onUpload = async () => {
    const before = w.link.heartbeats.length
    await until(() => w.link.heartbeats.length >= before + 3)
    during = w.link.heartbeats.length
  }
  w.runner.accept(w.link.add(job('a')))
  await w.runner.idle()
  assert.equal(first, 'claimed')
  assert.ok(during >= 3)
})

test('a controller that cannot be reached stops no capture: one event when it goes, one when it is back', async (t) => {
  const w = world(t)
  w.link.outage = new LinkError('no answer')
  w.runner.accept(w.link.add(job('a', { captureDevice: 'test:speed=4' })))
  await until(() => w.link.heartbeats.length > 4)
  w.link.outage = undefined
  await w.runner.idle()
  assert.equal(wav(w.link.uploads[0]!.bytes).dataBytes, 2 * 48_000 * 4)
  assert.deepEqual(w.names(), ['control_plane_failed', 'control_plane_recovered'])
})

test('a lease that ran out while the agent was cut off does not end the take', async (t) => {
  const w = world(t)
  w.runner.accept(w.link.add({ ...job('a'), failureReason: 'lease_expired', status: 'failed' }))
  await w.runner.idle()
  assert.equal(wav(w.link.uploads[0]!.bytes).dataBytes, 2 * 48_000 * 4)
})

test('a take whose lease ran out can be stopped', async (t) => {
  const w = world(t)
  w.runner.accept(
    w.link.add({ ...job('a', { ...REAL, durationSeconds: 600 }), failureReason: 'lease_expired', status: 'failed' }),
  )
  await until(() => w.link.heartbeats.length > 0 && status(w.workDir) === 'capturing')
  w.link.set('a', { failureReason: 'lease_expired', status: 'stop_requested' })
  await w.runner.idle()
  assert.ok(wav(w.link.uploads[0]!.bytes).dataBytes > 0)
})

test('a deleted job ends the capture and its audio is kept', async (t) => {
  const w = world(t)
  w.runner.accept(w.link.add(job('a', { ...REAL, durationSeconds: 600 })))
  await until(() => status(w.workDir) === 'capturing')
  w.link.jobs.delete('a')
  w.link.refusals = [new LinkError('gone', 404, 'recording_not_found')]
  await w.runner.idle()
  const { details, severity, type } = w.events.at(-1)!
  assert.deepEqual([type, severity], ['agent.recording_job.cache_upload_failed', 'critical'])
  assert.equal(details!.path, path.join(w.workDir, 'kept/a'))
  assert.ok(wav(fs.readFileSync(path.join(w.workDir, 'kept/a/take.wav'))).dataBytes > 0)
  assert.deepEqual(w.runner.holding(), [])
})

test('an upload is tried until it is accepted, also through an invalid credential', async (t) => {
  const w = world(t)
  const [down, busy, denied] = [new LinkError('x'), new LinkError('x', 503), new LinkError('x', 401)]
  w.link.refusals = [down, busy, denied, new LinkError('x', 409, 'upload_in_progress')]
  w.runner.accept(w.link.add(job('a')))
  await w.runner.idle()
  assert.equal(w.link.uploads.length, 1)
  assert.deepEqual(w.names(), ['cache_upload_failed', 'control_plane_recovered'])
})

test('a refused upload deletes nothing', async (t) => {
  const w = world(t)
  w.link.refusals = [new LinkError('too large', 413, 'file_too_large')]
  w.runner.accept(w.link.add(job('a')))
  await w.runner.idle()
  assert.equal(w.link.uploads.length, 0)
  assert.equal(wav(fs.readFileSync(path.join(w.workDir, 'kept/a/take.wav'))).dataBytes, 2 * 48_000 * 4)
})

test('a failing renderer costs no audio: the take goes up as WAV', async (t) => {
  const w = world(t, { renderCommand: 'false' })
  w.runner.accept(w.link.add(job('a', { outputCodec: 'mp3', outputFileName: 'rec_a.mp3' })))
  await w.runner.idle()
  const [sent] = w.link.uploads
  assert.deepEqual([sent!.contentType, sent!.fileName], ['audio/wav', 'rec_a.wav'])
  assert.equal(wav(sent!.bytes).dataBytes, 2 * 48_000 * 4)
  assert.deepEqual(w.names(), ['output_render_failed'])
})

test('a stop of the agent finalizes the take and leaves what it cannot send to the next start', async (t) => {
  const w = world(t, { stopGraceSeconds: 0.3 })
  w.runner.accept(w.link.add(job('a', { ...REAL, durationSeconds: 600 })))
  await until(() => status(w.workDir) === 'capturing')
  w.link.upload = (_file, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new LinkError('aborted'))))
  await w.runner.stop()
  assert.equal(status(w.workDir), 'uploading')
  const next = world(t, {}, w.workDir)
  next.link.add(job('a'))
  await next.runner.recover()
  assert.deepEqual(next.runner.holding(), ['a'])
  await next.runner.idle()
  assert.equal(next.link.uploads.length, 1)
  assert.deepEqual(takes(w.workDir), [])
})

test('capacity counts captures, not uploads', async (t) => {
  const w = world(t)
  let letGo: (() => void) | undefined
  w.link.onUpload = () =>
    new Promise((resolve) => {
      letGo = resolve
    })
  w.runner.accept(w.link.add(job('a')))
  assert.equal(w.runner.freeCapacity(), 0)
  await until(() => w.runner.freeCapacity() === 1)
  assert.deepEqual(w.runner.holding(), ['a'])
  w.runner.accept(w.link.add(job('a')))
  await until(() => letGo !== undefined)
  letGo?.()
  await w.runner.idle()
  assert.equal(w.link.uploads.length, 1)
})

test('keepUploaded keeps the files of an accepted upload', async (t) => {
  const w = world(t, { keepUploaded: true })
  w.runner.accept(w.link.add(job('a')))
  await w.runner.idle()
  assert.ok(fs.existsSync(path.join(w.workDir, 'cache/a/take.wav')))
})

test('a stop ends a recorder that does not listen, and leaves no child behind', async (t) => {
  const dir = tempDir(t)
  const script = `echo $$ > ${dir}/pid; trap "" TERM; while :; do head -c 9600 /dev/zero; sleep 0.05; done`
  const stubborn = { captureArgsTemplate: `-c '${script}'`, captureCommand: 'bash' }
  const v = world(t, stubborn, dir)
  v.runner.accept(v.link.add(job('a', { captureDevice: 'hw:1', durationSeconds: 600 })))
  await until(() => status(dir) === 'capturing')
  await v.runner.stop()
  assert.throws(() => process.kill(Number(fs.readFileSync(path.join(dir, 'pid'), 'utf8')), 0), /ESRCH/)
  assert.equal(v.link.uploads.length, 1)
})
