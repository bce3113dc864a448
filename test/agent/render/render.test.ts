import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { cutWav } from '../../../src/agent/audio/cut.ts'
import type { PcmFormat } from '../../../src/agent/audio/format.rules.ts'
import { WavFile } from '../../../src/agent/audio/wav.ts'
import { tonePeriod } from '../../../src/agent/capture/tones.ts'
import { codecArgs, filterOf, renderPlan } from '../../../src/agent/render/plan.rules.ts'
import { render } from '../../../src/agent/render/render.ts'
import type { AgentJob } from '../../../src/wire/recordings.ts'
import { job, tempDir, until, wav } from '../jobs/kit.ts'

const RATE = 48_000
const SECONDS = 2

/** A take of tones; returns its path and its samples. */
async function take(dir: string, format: PcmFormat): Promise<{ file: string; pcm: Buffer }> {
  const file = path.join(dir, 'take.wav')
  const period = tonePeriod(format)
  const pcm = Buffer.concat(Array.from({ length: SECONDS * 100 }, () => period))
  const out = await WavFile.create(file, { ...format, format: format.format as 'S16_LE' })
  await out.append(pcm)
  await out.finish()
  return { file, pcm }
}

async function rendered(dir: string, format: PcmFormat, command: Partial<AgentJob['command']>) {
  const { file, pcm } = await take(dir, format)
  const full = job('x', { captureChannels: format.channels, ...command }).command
  const plan = renderPlan(full, format)
  const output = path.join(dir, `out.${plan.codec}`)
  const input = { ...format, format: format.format as 'S16_LE' }
  const args = codecArgs(full, plan.codec, format.format)
  const request = { codecArgs: args, command: 'ffmpeg', env: {}, filter: filterOf(plan), input, output }
  const frames = await render(request, blocks(pcm), signal)
  assert.equal(frames, SECONDS * RATE)
  return { file, output, pcm }
}

async function* blocks(pcm: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < pcm.length; at += 100_000) yield pcm.subarray(at, at + 100_000)
}

const { signal } = new AbortController()

const decode = (file: string, format: string): Buffer =>
  execFileSync('ffmpeg', ['-nostdin', '-v', 'error', '-i', file, '-f', format, '-'], { maxBuffer: 1 << 28 })

/** Some channels (from 0) of interleaved samples. */
function pick(pcm: Buffer, bytes: number, channels: number, wanted: number[]): Buffer {
  const frames = pcm.length / bytes / channels
  const parts: Buffer[] = []
  for (let i = 0; i < frames; i++)
    for (const c of wanted) parts.push(pcm.subarray((i * channels + c) * bytes, (i * channels + c + 1) * bytes))
  return Buffer.concat(parts)
}

const entries = (...sources: number[]) =>
  sources.map((sourceChannelIndex, i) => ({
    included: true,
    label: `in ${sourceChannelIndex}`,
    outputChannelIndex: i + 1,
    sourceChannelIndex,
  }))

for (const channels of [1, 3, 4, 6, 8])
  test(`flac of ${channels} channels holds every sample of every channel`, async (t) => {
    const format = { channels, format: 'S16_LE', rate: RATE } as const
    const { output, pcm } = await rendered(tempDir(t), format, { outputCodec: 'flac' })
    assert.ok(decode(output, 's16le').equals(pcm))
  })

test('flac keeps 24 bits', async (t) => {
  const format = { channels: 2, format: 'S24_3LE', rate: RATE } as const
  const { output, pcm } = await rendered(tempDir(t), format, { outputCodec: 'flac' })
  assert.ok(decode(output, 's24le').equals(pcm))
})

for (const vbr of [true, false])
  test(`mp3 ${vbr ? 'vbr' : 'cbr'} has the length of the take within the padding of the codec`, async (t) => {
    const format = { channels: 2, format: 'S16_LE', rate: RATE } as const
    const { output } = await rendered(tempDir(t), format, { outputCodec: 'mp3', outputVbr: vbr })
    const seconds = decode(output, 's16le').length / 4 / RATE
    assert.ok(Math.abs(seconds - SECONDS) < 0.1, `${seconds}`)
    assert.ok(fs.statSync(output).size > 10_000)
  })

for (const codec of ['S16_LE', 'S24_3LE', 'S32_LE', 'FLOAT_LE'] as const)
  test(`a map of nine out of ten channels in ${codec} leaves each sample as it was`, async (t) => {
    const format = { channels: 10, format: codec, rate: RATE } as const
    const list = [10, 2, 3, 4, 5, 6, 7, 8, 9]
    const channelMap = { channelMode: 'multichannel', entries: entries(...list), sourceChannels: 10 } as const
    const { output, pcm } = await rendered(tempDir(t), format, { channelMap })
    const out = wav(fs.readFileSync(output))
    assert.deepEqual([out.channels, out.format], [9, codec])
    const bytes = codec === 'S16_LE' ? 2 : codec === 'S24_3LE' ? 3 : 4
    const wanted = list.map((n) => n - 1)
    assert.ok(out.pcm.equals(pick(pcm, bytes, 10, wanted)))
  })

for (const [codec, count] of ['wav', 'flac'].flatMap((c) => [3, 4, 8].map((n) => [c, n] as ['wav', number])))
  test(`a map to ${count} ${codec} channels leaves each sample as it was`, async (t) => {
    const format = { channels: 9, format: 'S16_LE', rate: RATE } as const
    const list = Array.from({ length: count }, (_, i) => 9 - i)
    const channelMap = { channelMode: 'multichannel', entries: entries(...list), sourceChannels: 9 } as const
    const { output, pcm } = await rendered(tempDir(t), format, { channelMap, outputCodec: codec })
    const wanted = list.map((n) => n - 1)
    assert.ok(decode(output, 's16le').equals(pick(pcm, 2, 9, wanted)))
  })

test('an output without a source is silent, the others stay in place', async (t) => {
  const format = { channels: 4, format: 'S16_LE', rate: RATE } as const
  const [one, four] = entries(4, 2)
  const placed = [one!, { ...four!, outputChannelIndex: 3 }]
  const channelMap = { channelMode: 'multichannel', entries: placed, sourceChannels: 4 } as const
  const { output, pcm } = await rendered(tempDir(t), format, { channelMap, outputCodec: 'flac' })
  const out = decode(output, 's16le')
  assert.ok(pick(out, 2, 3, [0, 2]).equals(pick(pcm, 2, 4, [3, 1])))
  assert.ok(pick(out, 2, 3, [1]).every((byte) => byte === 0))
})

test('mono is the mean of the included channels', async (t) => {
  const format = { channels: 3, format: 'S16_LE', rate: RATE } as const
  const channelMap = { channelMode: 'mono', entries: entries(1, 3), sourceChannels: 3 } as const
  const { output, pcm } = await rendered(tempDir(t), format, { channelMap })
  const out = wav(fs.readFileSync(output))
  assert.equal(out.channels, 1)
  for (let i = 0; i < 1000; i++) {
    const mean = (pcm.readInt16LE(i * 6) + pcm.readInt16LE(i * 6 + 4)) / 2
    assert.ok(Math.abs(out.pcm.readInt16LE(i * 2) - mean) <= 1)
  }
})

test('a mono mix of 32 channels works', async (t) => {
  const format = { channels: 32, format: 'S16_LE', rate: RATE } as const
  const all = Array.from({ length: 32 }, (_, i) => i + 1)
  const channelMap = { channelMode: 'mono', entries: entries(...all), sourceChannels: 32 } as const
  const { output } = await rendered(tempDir(t), format, { channelMap, outputCodec: 'mp3' })
  assert.ok(fs.statSync(output).size > 1000)
})

test('a cut begins and ends at the very sample, and is there whole or not at all', async (t) => {
  const dir = tempDir(t)
  const { file, pcm } = await take(dir, { channels: 3, format: 'S16_LE', rate: RATE })
  const target = path.join(dir, 'cut.wav')
  await cutWav(file, target, [0, 1, 2], 1001, 48_500)
  assert.ok(wav(fs.readFileSync(target)).pcm.equals(pcm.subarray(1001 * 6, 48_500 * 6)))
  await cutWav(file, target, [2], 1001, 48_500)
  assert.ok(wav(fs.readFileSync(target)).pcm.equals(pick(pcm.subarray(1001 * 6, 48_500 * 6), 2, 3, [2])))
  await assert.rejects(cutWav(file, `${target}2`, [0], 0, SECONDS * RATE + 1), /ends before/)
  assert.deepEqual(fs.readdirSync(dir), ['cut.wav', 'take.wav'])
})

const request = (dir: string, codec: string[]) => ({
  codecArgs: codec,
  command: 'ffmpeg',
  env: {},
  filter: undefined,
  input: { channels: 1, format: 'S16_LE', rate: RATE } as const,
  output: path.join(dir, 'out.wav'),
})

test('an output of another length is an error and leaves nothing behind', async (t) => {
  const dir = tempDir(t)
  const source = () => blocks(Buffer.alloc(RATE * 2))
  await assert.rejects(render(request(dir, ['-t', '0.5', '-f', 'wav']), source(), signal), /expected 1 s/)
  assert.deepEqual(fs.readdirSync(dir), [])
})

test('an encoder that dies or a source that fails ends the rendering, and no process stays', async (t) => {
  const dir = tempDir(t)
  async function* endless(): AsyncGenerator<Buffer> {
    for (;;) yield Buffer.alloc(100_000)
  }
  const program = path.join(dir, 'dies')
  fs.writeFileSync(program, '#!/bin/sh\nhead -c 500000 >/dev/null; echo "No space left on device" >&2; exit 3\n', {
    mode: 0o755,
  })
  const wavArgs = ['-f', 'wav']
  await assert.rejects(render({ ...request(dir, wavArgs), command: program }, endless(), signal), { code: 'ENOSPC' })
  async function* fails(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(100_000)
    throw new Error('the take is gone')
  }
  await assert.rejects(render(request(dir, wavArgs), fails(), signal), /the take is gone/)
  await assert.rejects(
    render({ ...request(dir, wavArgs), command: '/nowhere/ffmpeg' }, endless(), signal),
    /could not be started/,
  )
  const stop = new AbortController()
  const ended = assert.rejects(render(request(dir, wavArgs), endless(), stop.signal), /abort/i)
  stop.abort()
  await ended
  assert.deepEqual(fs.readdirSync(dir), ['dies'])
})

test('an encoder that outlives its killed agent and opens its output late does not touch that of the next one', async (t) => {
  const dir = tempDir(t)
  const script = (name: string, ...lines: string[]) => {
    fs.writeFileSync(path.join(dir, name), ['#!/bin/sh', `cd ${dir}`, ...lines].join('\n'), { mode: 0o755 })
    return path.join(dir, name)
  }
  const awaits = (name: string) => `while [ ! -e ${name} ]; do sleep 0.01; done`
  const [late, next] = [
    script('late', 'touch began', awaits('go'), 'ffmpeg "$@"', 'touch done'),
    script('next', 'ffmpeg "$@" || exit 1', 'touch go', awaits('done')),
  ]
  const codec = ['-f', 'wav']
  const module = new URL('../../../src/agent/render/render.ts', import.meta.url).href
  const killed = spawn(process.execPath, [
    ...process.execArgv.filter((arg) => !arg.startsWith('--test')),
    ...['--input-type=module', '--eval'],
    `import { render } from ${JSON.stringify(module)}
     async function* never() { await new Promise(() => setInterval(() => {}, 1000)) }
     await render(${JSON.stringify({ ...request(dir, codec), command: late, env: { PATH: process.env.PATH } })}, never(), new AbortController().signal)`,
  ])
  await until(() => fs.existsSync(path.join(dir, 'began')))
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  const env = { PATH: process.env.PATH }
  const pcm = Buffer.alloc(RATE * 2, 'roomtone')
  await render({ ...request(dir, codec), command: next, env }, blocks(pcm), signal)
  assert.ok(wav(fs.readFileSync(path.join(dir, 'out.wav'))).pcm.equals(pcm))
})
