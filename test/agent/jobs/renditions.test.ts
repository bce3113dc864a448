import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { LinkError } from '../../../src/agent/link/link.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { job, plainEnhancer, status, tones, until, wav, world } from './kit.ts'

const RATE = 48_000
const chain = (more: object = {}) => ({ enhancement: Enhancement.parse(more) })
const enhancer = plainEnhancer()
const hung = (signal: AbortSignal) =>
  new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(new LinkError('stopped'))))
const takes = (dir: string) => fs.readdirSync(path.join(dir, 'takes'))

test('the enhanced rendition goes first and completes the job, the raw master follows', async (t) => {
  const w = world(t, {}, undefined, { enhancer })
  w.runner.accept(w.link.add(job('a', chain())))
  await w.runner.idle()
  const [fine, raw] = w.link.uploads
  assert.deepEqual([fine!.rendition, fine!.fileName], ['enhanced', 'rec_a.wav'])
  assert.equal(wav(fine!.bytes).channels, 1)
  assert.equal(fine!.details!.denoiser!.engine, 'rnnoise')
  assert.deepEqual([raw!.rendition, raw!.fileName], ['raw', 'rec_a.raw.wav'])
  assert.ok(wav(raw!.bytes).pcm.equals(tones(2 * RATE)))
  assert.deepEqual(raw!.details!.capture, { channels: 2, format: 'S16_LE', sampleRate: RATE })
  assert.equal(w.link.uploads.length, 2)
  assert.deepEqual(w.names(), [])
  assert.deepEqual(takes(w.workDir), [])
})

test('without keepRaw only the enhanced rendition goes; with all stages off only the raw one, without a name', async (t) => {
  const w = world(t, { maxConcurrentRecordings: 2 }, undefined, { enhancer })
  const off = { enabled: false }
  w.runner.accept(w.link.add(job('a', chain({ keepRaw: false }))))
  w.runner.accept(w.link.add(job('b', chain({ denoise: off, highpass: off, loudnorm: off }))))
  await w.runner.idle()
  const sent = w.link.uploads.map((u) => [u.jobId, u.rendition]).sort()
  assert.deepEqual(sent, [
    ['a', 'enhanced'],
    ['b', undefined],
  ])
})

for (const keepRaw of [true, false])
  test(`an enhancement that fails costs nothing: the raw take is the recording, and says why (keepRaw ${keepRaw})`, async (t) => {
    const w = world(t, {}, undefined, { enhancer: plainEnhancer(() => new Error('the model is damaged')) })
    const command = { ...chain({ keepRaw }), outputCodec: 'flac' as const, outputFileName: 'rec_a.flac' }
    w.runner.accept(w.link.add(job('a', command)))
    await w.runner.idle()
    const [only, ...more] = w.link.uploads
    assert.deepEqual(more, [])
    assert.deepEqual([only!.rendition, only!.fileName, only!.contentType], [undefined, 'rec_a.flac', 'audio/flac'])
    assert.equal(only!.details!.enhancementFailure, 'the model is damaged')
    assert.equal(only!.details!.capture!.channels, 2)
    assert.deepEqual(w.names().sort(), ['enhancement_failed', 'output_rendered'])
    assert.equal(w.link.jobs.get('a')!.status, 'completed')
  })

test('a disk that is full during the enhancement is waited for', async (t) => {
  let left = 2
  const full = () => (left-- > 0 ? Object.assign(new Error('no space'), { code: 'ENOSPC' }) : undefined)
  const w = world(t, {}, undefined, { enhancer: plainEnhancer(full) })
  w.runner.accept(w.link.add(job('a', chain())))
  await w.runner.idle()
  assert.deepEqual(
    w.link.uploads.map((u) => u.rendition),
    ['enhanced', 'raw'],
  )
  assert.deepEqual(w.names(), [])
})

test('a raw upload that fails is tried on after the job is completed; nothing is deleted before both are accepted', async (t) => {
  const w = world(t, {}, undefined, { enhancer })
  w.link.refusals = [undefined, ...Array(4).fill(new LinkError('down', 503))]
  const seen: string[][] = []
  w.link.onUpload = async () => void seen.push(fs.readdirSync(path.join(w.workDir, 'takes/a')).sort())
  w.runner.accept(w.link.add(job('a', chain())))
  await w.runner.idle()
  assert.deepEqual(
    w.link.uploads.map((u) => u.rendition),
    ['enhanced', 'raw'],
  )
  assert.equal(seen.length, 6)
  assert.ok(seen.every((files) => files.includes('take.wav') && files.includes('enhanced.wav')))
  assert.deepEqual(w.names(), ['raw_rendition_upload_failed', 'control_plane_recovered'])
  assert.deepEqual(takes(w.workDir), [])
})

test('a raw master that is finally refused is kept on the recorder', async (t) => {
  const w = world(t, {}, undefined, { enhancer })
  w.link.refusals = [undefined, new LinkError('too large', 413, 'file_too_large')]
  w.runner.accept(w.link.add(job('a', chain())))
  await w.runner.idle()
  assert.ok(wav(fs.readFileSync(path.join(w.workDir, 'kept/a/take.wav'))).pcm.equals(tones(2 * RATE)))
  assert.deepEqual(w.names(), ['cache_upload_failed'])
})

test('a recording that is deleted after its audio was accepted is let go, with the master that was still to come', async (t) => {
  const w = world(t, {}, undefined, { enhancer })
  w.link.refusals = [undefined, new LinkError('Recording not found', 404)]
  w.runner.accept(w.link.add(job('a', chain())))
  await w.runner.idle()
  assert.deepEqual(
    w.events.map((e) => [e.type, e.severity]),
    [['agent.recording_job.recording_deleted', 'info']],
  )
  assert.deepEqual([takes(w.workDir), fs.existsSync(path.join(w.workDir, 'kept/a'))], [[], false])
})

test('a recording that is gone before anything was accepted is kept on the recorder', async (t) => {
  const w = world(t, {}, undefined, { enhancer })
  w.link.refusals = [new LinkError('Recording not found', 404), new LinkError('Recording not found', 404)]
  w.runner.accept(w.link.add(job('a', chain())))
  await w.runner.idle()
  assert.ok(wav(fs.readFileSync(path.join(w.workDir, 'kept/a/take.wav'))).pcm.equals(tones(2 * RATE)))
  assert.deepEqual(w.names(), ['cache_upload_failed'])
})

test('a stop of the agent between the two: the next start sends what is missing, and nothing twice', async (t) => {
  const w = world(t, { stopGraceSeconds: 0.2 }, undefined, { enhancer })
  const send = w.link.upload.bind(w.link)
  w.link.upload = (upload, signal) => (upload.rendition === 'raw' ? hung(signal) : send(upload, signal))
  w.runner.accept(w.link.add(job('a', chain())))
  await until(() => w.link.uploads.length === 1 && status(w.workDir) === 'uploading')
  await w.runner.stop()
  const next = world(t, {}, w.workDir, { enhancer: plainEnhancer(() => new Error('not again')) })
  next.link.add({ ...job('a', chain()), status: 'completed' })
  await next.runner.recover()
  await next.runner.idle()
  assert.deepEqual(
    next.link.uploads.map((u) => u.rendition),
    ['raw'],
  )
  assert.ok(wav(next.link.uploads[0]!.bytes).pcm.equals(tones(2 * RATE)))
  assert.deepEqual(takes(w.workDir), [])
})

test('refused, and ended before it was put aside: the next start deletes nothing', async (t) => {
  const w = world(t, { stopGraceSeconds: 0.2 }, undefined, { enhancer })
  const send = w.link.upload.bind(w.link)
  w.link.upload = (upload, signal) => (upload.rendition === 'raw' ? hung(signal) : send(upload, signal))
  w.runner.accept(w.link.add(job('a', chain())))
  const file = path.join(w.workDir, 'takes/a/state.json')
  const read = () => JSON.parse(fs.readFileSync(file, 'utf8'))
  await until(() => status(w.workDir) === 'uploading' && read().outputs[0].uploaded)
  await w.runner.stop()
  const state = read()
  state.outputs[1].refused = 'file_too_large'
  fs.writeFileSync(file, JSON.stringify(state))
  const next = world(t, {}, w.workDir)
  next.link.add({ ...job('a', chain()), status: 'completed' })
  await next.runner.recover()
  await next.runner.idle()
  assert.ok(wav(fs.readFileSync(path.join(w.workDir, 'kept/a/take.wav'))).pcm.equals(tones(2 * RATE)))
})

test('the heartbeats tell the stage and how far it is, never going back', async (t) => {
  let go = () => {}
  const slow = plainEnhancer()
  const waiting = new Promise<void>((resolve) => {
    go = resolve
  })
  const enhance: typeof slow.enhance = async (request, options) => {
    options.onProgress?.(40)
    await waiting
    return slow.enhance(request, options)
  }
  const w = world(t, {}, undefined, { enhancer: { enhance } })
  const stages = () => w.link.progress.map(([, p]) => p.stage)
  w.link.onUpload = async () => until(() => stages().includes('uploading') || w.link.uploads.length > 0)
  const command = { captureDevice: 'test:speed=5', outputCodec: 'flac' as const, outputFileName: 'rec_a.flac' }
  w.runner.accept(w.link.add(job('a', { ...chain(), ...command })))
  await until(() => w.link.progress.some(([, p]) => p.stage === 'enhancing' && p.percent === 40))
  go()
  await w.runner.idle()
  const order = ['capturing', 'rendering', 'enhancing', 'uploading']
  const told = w.link.progress.map(([, p]) => order.indexOf(p.stage) * 1000 + p.percent)
  assert.deepEqual(
    told,
    [...told].sort((a, b) => a - b),
  )
  assert.ok(told.some((n) => n > 0 && n < 100))
  assert.ok(stages().includes('uploading'))
})
