import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { MeterFrame } from '../../../src/wire/meters.ts'
import { executable } from '../../kit/executable.ts'
import { tempDir } from '../server.ts'
import { pcm, silence, sine } from './sound.ts'

const program = await executable()

interface Printed {
  code: number | null
  err: string
  out: string
}

/** The real program in a directory of its own; its sound cards are what the directory `asound` says. */
async function printed(dir: string, args: string[], env: Record<string, string> = {}): Promise<Printed> {
  const child = spawn(program, ['agent', '--print-meter-frame', ...args], {
    cwd: dir,
    env: { HOME: dir, PATH: process.env.PATH, SVC_ALSA_PROC_ROOT: path.join(dir, 'asound'), TMPDIR: dir, ...env },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (err += chunk))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, err, out }
}

/** A machine with one card of four channels, and a program that captures from it like a template tells it. */
function machine(t: TestContext): string {
  const dir = tempDir(t)
  const card = path.join(dir, 'asound', 'card0')
  fs.mkdirSync(card, { recursive: true })
  fs.writeFileSync(path.join(dir, 'asound', 'pcm'), '00-00: USB Audio : USB Audio : capture 1\n')
  fs.writeFileSync(path.join(card, 'id'), 'Desk\n')
  const stream = 'Desk at usb\n\nCapture:\n  Interface 2\n    Altset 1\n    Channels: 4\n    Rates: 44100, 48000\n'
  fs.writeFileSync(path.join(card, 'stream0'), stream)
  return dir
}

test('one frame of the device, measured, with its own ref and every channel', async (t) => {
  const dir = machine(t)
  const f = { channels: 4, format: 'S16_LE', rate: 48_000 } as const
  fs.writeFileSync(path.join(dir, 'take.raw'), pcm(f, 48_000, [silence, sine(100, 0.5), sine(200, 0.25), silence]))
  const template = 'take.raw'
  const env = { SVC_CAPTURE_COMMAND: 'cat', SVC_METER_ARGS_TEMPLATE: template }
  const { code, err, out } = await printed(dir, ['--node-id', 'node_7'], env)
  assert.equal(code, 0, err)
  const frame = MeterFrame.parse(JSON.parse(out))
  assert.deepEqual([frame.interfaceId, frame.nodeId, frame.synthetic], ['hw:CARD=Desk,DEV=0', 'node_7', undefined])
  assert.deepEqual(
    frame.levels.map(({ peakDbfs }) => peakDbfs),
    [-160, -6, -12, -160],
  )
  assert.ok(out.startsWith('{\n  "'), 'it is printed for people')
})

test('a device that fails is a failure in its own words, and nothing is made up', async (t) => {
  const dir = machine(t)
  const env = {
    SVC_CAPTURE_COMMAND: 'sh',
    SVC_METER_ARGS_TEMPLATE: `-c 'echo "audio open error: No such device" >&2; exit 1'`,
  }
  const { code, err, out } = await printed(dir, [], env)
  assert.deepEqual([code, out], [1, ''])
  assert.match(err, /^roomtone agent: cannot capture from hw:CARD=Desk,DEV=0: audio open error: No such device\.$/m)
})

test('too little sound for a frame is none', async (t) => {
  const dir = machine(t)
  const env = { SVC_CAPTURE_COMMAND: 'head', SVC_METER_ARGS_TEMPLATE: '-c 8000 /dev/zero' }
  const { code, err, out } = await printed(dir, [], env)
  assert.deepEqual([code, out], [1, ''])
  assert.match(err, /cannot capture from/)
})

test('the test source is a generator, and said to be one; so are frames that were asked to be made up', async (t) => {
  const dir = tempDir(t)
  fs.mkdirSync(path.join(dir, 'asound'))
  const tone = JSON.parse((await printed(dir, ['--test-source'])).out) as MeterFrame
  assert.deepEqual([tone.interfaceId, tone.synthetic], ['test:tone', true])
  assert.deepEqual(
    tone.levels.map(({ peakDbfs }) => peakDbfs),
    [-12, -12],
  )
  const made = JSON.parse((await printed(machine(t), ['--meter-backend', 'synthetic'])).out) as MeterFrame
  assert.deepEqual([made.interfaceId, made.levels.length, made.synthetic], ['hw:CARD=Desk,DEV=0', 4, true])
})

test('without a capture device there is no frame, made up or not', async (t) => {
  const dir = tempDir(t)
  fs.mkdirSync(path.join(dir, 'asound'))
  for (const args of [[], ['--meter-backend', 'synthetic']]) {
    const { code, err, out } = await printed(dir, args)
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /^roomtone agent: no capture device: .*arecord -l/m)
  }
})
