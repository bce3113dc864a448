import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { createEnhancer } from '../../../src/agent/enhance/enhance.ts'
import { EMBEDDED_MODEL, modelOf } from '../../../src/agent/enhance/model.rules.ts'
import { ModelProbe } from '../../../src/agent/enhance/probe.ts'
import type { Happening } from '../../../src/agent/health/report.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { quiet, tempDir } from '../jobs/kit.ts'
import { type Bench, bench, never, only } from './kit.ts'
import { noisy, SPEECH } from './material.ts'
import { RATE, type Samples } from './measures.ts'

const speech = (): Samples => noisy(SPEECH.flite!(), 'pink', 10)
const all = Enhancement.parse({})

/** Whatever happened, nothing is left, and nothing pretends to be the rendition. */
function assertNothingLeft(b: Bench): void {
  assert.deepEqual(b.leftovers(), [])
  assert.equal(fs.existsSync(path.join(b.dir, 'enhanced.wav')), false)
}

/** A program in the place of ffmpeg: shell script, `"$@"` its arguments. */
function standIn(dir: string, script: string): string {
  const file = path.join(dir, 'stand-in')
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return file
}

test('an unusable model: the recurrent engine takes over, a health event and the details tell it', async (t) => {
  const model = modelOf('/nowhere/model.onnx', undefined)
  const b = bench(t, [speech()], { model })
  const { details } = await b.run(all)
  assert.equal(details.denoiser?.engine, 'rnnoise')
  assert.match(details.enhancementFailure ?? '', /^denoised by rnnoise: .*\/nowhere\/model\.onnx does not exist/)
  assert.deepEqual(
    b.happened.map(({ severity, type }) => `${severity} ${type}`),
    ['warning agent.enhancement.model_unusable'],
  )
})

test('a given model is tried at the start of the agent; one that works is no event', async (t) => {
  const file = path.join(tempDir(t), 'given.onnx')
  fs.copyFileSync(path.resolve(import.meta.dirname, '../../../models/small-deep-denoiser.onnx'), file)
  const told = async (model: string): Promise<[string[], string | undefined]> => {
    const happened: Happening[] = []
    const heard = Promise.withResolvers<void>()
    const log = { ...quiet, error: () => heard.resolve(), info: () => heard.resolve() }
    const report = (happening: Happening) => void happened.push(happening)
    const probe = new ModelProbe({ log, model: modelOf(model, undefined), report })
    probe.start()
    await heard.promise
    await probe.stop()
    return [happened.map(({ type }) => type), probe.about?.sha256]
  }
  assert.deepEqual(await told(file), [[], EMBEDDED_MODEL.sha256])
  assert.deepEqual(await told('/nowhere/model.onnx'), [['agent.enhancement.model_unusable'], undefined])
})

test('a probe that is stopped while it loads ends', async () => {
  const model = modelOf(path.resolve(import.meta.dirname, '../../../models/small-deep-denoiser.onnx'), undefined)
  const report = () => assert.fail('nothing is wrong')
  const probe = new ModelProbe({ log: quiet, model, report })
  probe.start()
  await probe.stop()
})

const FAULTS: [string, string, RegExp][] = [
  ['is not there', '', /absent could not be started: install it/],
  ['is killed', 'kill -9 $$', /failed with SIGKILL/],
  ['fails in the middle', 'head -c 100000 /dev/zero; echo no more of it >&2; exit 3', /failed with 3: no more of it/],
  ['writes nothing and says all is well', 'cat > /dev/null', /no loudness|shaped sound|no such file/i],
]

for (const words of ['No space left on device', 'Disk quota exceeded'])
  test(`a disk that is full for ffmpeg (${words}) is known as one: it is waited for`, async (t) => {
    const command = standIn(tempDir(t), `echo "av_interleaved_write_frame(): ${words}" >&2; exit 1`)
    const b = bench(t, [speech()], { command })
    await assert.rejects(b.run(only({ highpass: { enabled: true } })), { code: 'ENOSPC' })
    assertNothingLeft(b)
  })

for (const [what, script, words] of FAULTS)
  for (const chain of [all, only({ highpass: { enabled: true } })])
    test(`an ffmpeg that ${what}${chain.denoise.enabled ? ', with the denoiser' : ''}: a sentence, and nothing left`, async (t) => {
      const dir = tempDir(t)
      const b = bench(t, [speech().subarray(0, RATE)], {
        command: script ? standIn(dir, script) : path.join(dir, 'absent'),
      })
      await assert.rejects(b.run(chain), words)
      assertNothingLeft(b)
    })

test('an ffmpeg that is killed while it writes is told by its own end', async (t) => {
  // The second of the two processes is the one that reads from a pipe.
  const b = bench(t, [speech()], {
    command: standIn(
      tempDir(t),
      'case "$*" in *"-i pipe:0"*) head -c 200000 >/dev/null; kill -9 $$;; *) exec ffmpeg "$@";; esac',
    ),
  })
  await assert.rejects(b.run(all), /failed with SIGKILL/)
  assertNothingLeft(b)
})

test('a take that does not hold what is asked for is refused', async (t) => {
  const b = bench(t, [speech()])
  const { take } = b.request(all)
  await assert.rejects(
    b.run(all, { take: { ...take, toFrame: take.toFrame + 1 } }),
    /the take has \d+ frames, expected/,
  )
  await assert.rejects(b.run(all, { take: { ...take, file: path.join(b.dir, 'none.wav') } }), /ENOENT/)
  fs.writeFileSync(path.join(b.dir, 'text.wav'), 'no sound')
  await assert.rejects(b.run(all, { take: { ...take, file: path.join(b.dir, 'text.wav') } }), /not readable/)
  assertNothingLeft(b)
})

/** The processes of this one that are ffmpeg. */
const children = (): string[] =>
  execFileSync('ps', ['--ppid', String(process.pid), '-o', 'comm='], { encoding: 'utf8' })
    .split('\n')
    .filter((name) => name.startsWith('ffmpeg'))

test('an abort ends everything at once, wherever it is', async (t) => {
  const long = new Float32Array(60 * RATE).fill(0.01)
  const b = bench(t, [long])
  const enhancer = createEnhancer({
    command: 'ffmpeg',
    env: { PATH: process.env.PATH },
    model: modelOf(undefined, undefined),
    report: () => {},
  })
  for (const percent of [0, 5, 60]) {
    const stop = new AbortController()
    const onProgress = (at: number) => {
      if (at >= percent) stop.abort(new Error('no longer wanted'))
    }
    const fast = Enhancement.parse({ denoise: { engine: 'rnnoise', enabled: percent < 50 } })
    await assert.rejects(
      enhancer.enhance(b.request(fast), { onProgress, signal: stop.signal }),
      /no longer wanted/,
      `at ${percent}`,
    )
    assertNothingLeft(b)
    assert.deepEqual(children(), [])
  }
})

test('one at a time: the second waits, and may go away while it waits', async (t) => {
  const b = bench(t, [speech()])
  const enhancer = createEnhancer({
    command: 'ffmpeg',
    env: { PATH: process.env.PATH },
    model: modelOf(undefined, undefined),
    report: () => {},
  })
  const chain = only({ highpass: { enabled: true } })
  const order: string[] = []
  const start = (name: string, signal = never) => {
    const request = b.request(chain, { output: path.join(b.dir, `${name}.wav`) })
    const onProgress = (percent: number) => order.push(`${name} ${percent}`)
    return enhancer.enhance(request, { onProgress, signal })
  }
  const gone = new AbortController()
  const [first, second, third] = [start('a'), start('b', gone.signal), start('c')]
  gone.abort(new Error('gone'))
  await assert.rejects(second, /gone/)
  await Promise.all([first, third])
  assert.ok(order.indexOf('a 100') < order.indexOf('c 0'), `${order}`)
  assert.equal(
    order.some((step) => step.startsWith('b')),
    false,
  )
})

test('progress goes from 0 to 100 and never back', async (t) => {
  const b = bench(t, [speech()])
  const enhancer = createEnhancer({
    command: 'ffmpeg',
    env: { PATH: process.env.PATH },
    model: modelOf(undefined, undefined),
    report: () => {},
  })
  const steps: number[] = []
  const onProgress = (percent: number) => void steps.push(percent)
  await enhancer.enhance(b.request(all), { onProgress, signal: never })
  assert.equal(steps[0], 0)
  assert.equal(steps.at(-1), 100)
  assert.deepEqual(
    steps,
    [...new Set(steps)].sort((x, y) => x - y),
  )
})

const mayMount = process.getuid?.() === 0

test('a full disk is told as one, and leaves nothing', {
  skip: mayMount ? false : 'only root mounts disks',
}, async (t) => {
  const b = bench(t, [speech()])
  const small = path.join(b.dir, 'small')
  fs.mkdirSync(small)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', small], { stdio: 'ignore' })
  } catch {
    return t.skip('this machine lets nobody mount')
  }
  try {
    for (const where of [{ workDir: small }, { output: path.join(small, 'enhanced.wav') }])
      await assert.rejects(b.run(all, where), (e: NodeJS.ErrnoException) => e.code === 'ENOSPC')
    assert.deepEqual(fs.readdirSync(small), [])
    assertNothingLeft(b)
  } finally {
    execFileSync('umount', ['-l', small])
  }
})
