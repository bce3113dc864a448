import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import { DENOISE_FRAME, type DenoiserName } from '../../../src/agent/enhance/denoiser.rules.ts'
import { type DeepModel, EMBEDDED_MODEL, ModelUnusable, modelOf } from '../../../src/agent/enhance/model.rules.ts'
import { BLOCK, type DenoiseThread, openDenoiser } from '../../../src/agent/enhance/thread.ts'
import { tempDir } from '../jobs/kit.ts'
import { noisy, SPEECH } from './material.ts'
import { lagOf, pauseReduction, RATE, type Samples, stoi } from './measures.ts'

const ENGINES: DenoiserName[] = ['rnnoise', 'deepfilternet3']
const never = new AbortController().signal

async function through(thread: DenoiseThread, sound: Samples, blocks: number[]): Promise<Samples> {
  const out: number[] = []
  for (let at = 0, i = 0; at < sound.length; i++) {
    const size = blocks[i % blocks.length]!
    out.push(...(await thread.denoise(sound.subarray(at, at + size))))
    at += size
  }
  out.push(...(await thread.denoise(undefined)))
  return Float32Array.from(out)
}

async function denoised(engine: DenoiserName, sound: Samples, blocks = [BLOCK]): Promise<Samples> {
  const thread = await openDenoiser({ engine, model: EMBEDDED_MODEL }, never)
  try {
    return await through(thread, sound, blocks)
  } finally {
    await thread.close()
  }
}

for (const engine of ENGINES) {
  test(`${engine}: stationary noise is at least 15 dB quieter in pauses, and speech is understood as well`, async () => {
    const gains: number[] = []
    for (const [voice, speak] of Object.entries(SPEECH))
      for (const kind of ['pink', 'fan']) {
        const clean = speak()
        const given = noisy(clean, kind, 5)
        const got = await denoised(engine, given)
        assert.equal(got.length, given.length)
        const quieter = pauseReduction(clean, given, got)
        assert.ok(quieter >= 15, `${voice} in ${kind}: ${quieter.toFixed(1)} dB`)
        const gain = stoi(clean, got) - stoi(clean, given)
        assert.ok(gain > -0.01, `${voice} in ${kind}: STOI ${gain.toFixed(3)}`)
        gains.push(gain)
      }
    assert.ok(gains.reduce((sum, gain) => sum + gain, 0) > 0, `${gains}`)
  })

  test(`${engine}: what comes out is in time with what went in`, async () => {
    const clean = SPEECH.flite!()
    const lag = lagOf(clean, await denoised(engine, noisy(clean, 'pink', 20)), 1000)
    assert.ok(Math.abs(lag) < DENOISE_FRAME, `${lag} samples`)
  })

  test(`${engine}: the size of the blocks changes nothing, and no sample is lost or added`, async () => {
    const sound = noisy(SPEECH.flite!(), 'pink', 10).subarray(RATE / 2, RATE / 2 + 70_123)
    const whole = await denoised(engine, sound)
    assert.equal(whole.length, sound.length)
    assert.deepEqual(await denoised(engine, sound, [1, 479, 480, 481, 7000]), whole)
  })

  test(`${engine}: less than a frame, or nothing, comes out as long as it was`, async () => {
    assert.equal((await denoised(engine, new Float32Array(17).fill(0.1))).length, 17)
    assert.equal((await denoised(engine, new Float32Array(0))).length, 0)
  })

  test(`${engine}: silence and full scale give numbers`, async () => {
    const loud = Float32Array.from({ length: RATE }, (_, i) => (i < RATE / 2 ? 0 : i % 200 < 100 ? 1 : -1))
    assert.ok((await denoised(engine, loud)).every(Number.isFinite))
  })
}

test('the thread has a lower priority than the program', async () => {
  const before = os.getPriority(process.pid)
  const thread = await openDenoiser({ engine: 'rnnoise', model: EMBEDDED_MODEL }, never)
  const nice = fs.readdirSync('/proc/self/task').map((tid) => os.getPriority(Number(tid)))
  assert.ok(nice.includes(os.constants.priority.PRIORITY_BELOW_NORMAL))
  assert.equal(os.getPriority(process.pid), before)
  await thread.close()
})

const BAD: [string, (dir: string) => DeepModel, RegExp][] = [
  ['absent', (dir) => modelOf(path.join(dir, 'none.onnx'), undefined), /none\.onnx does not exist/],
  ['no model', (dir) => modelOf(written(dir, Buffer.from('hello, world')), undefined), /given\.onnx: not an ONNX file/],
  ['cut off', (dir) => modelOf(written(dir, embedded().subarray(0, 1_000_000)), undefined), /given\.onnx: /],
  ['another than pinned', (dir) => modelOf(written(dir, embedded()), '0'.repeat(64)), /SHA-256 f6d0b0/],
  ['of another rate', (dir) => modelOf(written(dir, otherRate()), undefined), /sample_rate is 44100, expected 48000/],
]

const embedded = (): Buffer =>
  fs.readFileSync(path.resolve(import.meta.dirname, '../../../models/small-deep-denoiser.onnx'))

function otherRate(): Buffer {
  const bytes = embedded()
  bytes.write('44100', bytes.indexOf('48000', bytes.indexOf('sample_rate')), 'latin1')
  return bytes
}

function written(dir: string, bytes: Buffer): string {
  const file = path.join(dir, 'given.onnx')
  fs.writeFileSync(file, bytes)
  return file
}

for (const [what, model, words] of BAD)
  test(`a model that is ${what} is refused in words`, async (t) => {
    const task = { engine: 'deepfilternet3', model: model(tempDir(t)) } as const
    await assert.rejects(openDenoiser(task, never), (e) => e instanceof ModelUnusable && words.test(e.message))
  })

test('an abort ends the thread, while it loads and while it works', async () => {
  const early = new AbortController()
  const opening = openDenoiser({ engine: 'deepfilternet3', model: EMBEDDED_MODEL }, early.signal)
  early.abort(new Error('no more'))
  await assert.rejects(opening, /no more/)
  const late = new AbortController()
  const thread = await openDenoiser({ engine: 'rnnoise', model: EMBEDDED_MODEL }, late.signal)
  const working = through(thread, new Float32Array(600 * RATE), [BLOCK])
  late.abort(new Error('enough'))
  await assert.rejects(working, /enough/)
  await assert.rejects(thread.denoise(new Float32Array(1)), /enough/)
})
