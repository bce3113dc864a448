import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import type { SampleFormat } from '../../../src/agent/audio/format.rules.ts'
import { createBus } from '../../../src/agent/capture/bus.ts'
import { Feeds } from '../../../src/agent/capture/feeds.ts'
import { tonePeriod } from '../../../src/agent/capture/tones.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { job, quick, status, tempDir, until, wav, world } from './kit.ts'

/** An executable that stands in for arecord; `$1`... are its arguments. */
function script(t: TestContext, body: string): { command: string; dir: string } {
  const dir = tempDir(t)
  const command = path.join(dir, 'arecord')
  fs.writeFileSync(command, `#!/bin/bash\n${body}\n`, { mode: 0o755 })
  return { command, dir }
}

const BYTES: Record<SampleFormat, number> = { FLOAT_LE: 4, S16_LE: 2, S24_3LE: 3, S24_LE: 4, S32_LE: 4 }

/** The samples as the file has them: those of S24_LE in three bytes. */
function inFile(stream: Buffer, format: SampleFormat): Buffer {
  if (format !== 'S24_LE') return stream
  const out = Buffer.alloc((stream.length / 4) * 3)
  for (let i = 0; i * 4 < stream.length; i++) out.writeIntLE(stream.readInt32LE(i * 4), i * 3, 3)
  return out
}

for (const [format, channels, rate] of [
  ['S16_LE', 1, 8000],
  ['S24_LE', 64, 48_000],
  ['S24_3LE', 2, 96_000],
  ['S32_LE', 32, 48_000],
  ['FLOAT_LE', 3, 192_000],
] as const)
  test(`${channels} channels of ${format} at ${rate} Hz come into the file bit for bit`, async (t) => {
    const { command, dir } = script(t, 'echo "$@" >"$0.args"; cat "$0.pcm"; exec sleep 60')
    const one = tonePeriod({ channels, format, rate })
    const stream = Buffer.concat(Array((rate * channels * BYTES[format]) / one.length).fill(one))
    fs.writeFileSync(`${command}.pcm`, stream)
    const w = world(t, { captureCommand: command, stalledSeconds: 30 })
    const asked = { captureChannels: channels, captureFormat: format, captureSampleRate: rate, durationSeconds: 1 }
    w.runner.accept(w.link.add(job('a', { ...asked, captureDevice: 'hw:1' })))
    await w.runner.idle()
    const { pcm, ...out } = wav(w.link.uploads[0]!.bytes)
    assert.deepEqual([out.channels, out.rate], [channels, rate])
    assert.equal(out.format, format === 'S24_LE' ? 'S24_3LE' : format)
    assert.ok(pcm.equals(inFile(stream, format)))
    const args = fs.readFileSync(path.join(dir, 'arecord.args'), 'utf8').trim()
    assert.equal(args, `-t raw -D hw:1 -f ${format} -r ${rate} -c ${channels} -`)
    assert.deepEqual(w.names(), [])
  })

test('an overrun that arecord tells of is silence of that length at that place', async (t) => {
  // What comes after is given only when the words were heard: the order of pipe and words is the point.
  const body = `perl -e 'print pack("s<", $_ % 30000 + 1) for 0 .. 23999'
echo 'overrun!!! (at least 250.000 ms long)' >&2
until [ -e "$0.heard" ]; do sleep 0.01; done
perl -e 'print pack("s<", $_ % 30000 + 1) for 36000 .. 95999'; exec sleep 60`
  const { command } = script(t, body)
  const w = world(t, { captureCommand: command, growthGraceSeconds: 30, stalledSeconds: 30 })
  w.runner.accept(w.link.add(job('a', { captureChannels: 1, captureDevice: 'hw:1', durationSeconds: 2 })))
  await until(() => w.names().includes('capture_overrun'))
  await until(() => fs.readFileSync(path.join(w.workDir, 'takes/a/state.json'), 'utf8').includes('"atFrame":24000'))
  fs.writeFileSync(`${command}.heard`, '')
  await w.runner.idle()
  const { pcm } = wav(w.link.uploads[0]!.bytes)
  const wanted = Buffer.alloc(96_000 * 2)
  for (let i = 0; i < 96_000; i++) if (i < 24_000 || i >= 36_000) wanted.writeInt16LE((i % 30_000) + 1, i * 2)
  assert.ok(pcm.equals(wanted))
  const { details } = w.events[0]!
  assert.deepEqual([details!.atFrame, details!.seconds, details!.noticedBy], [24_000, 0.25, 'device'])
  assert.deepEqual(w.names(), ['capture_overrun'])
})

test('two jobs on one arecord: the program is started once, and each take is its own', async (t) => {
  const body = `echo began >>"$0.log"
exec perl -e '$| = 1; for ($n = 0; ; $n += 1600) {
  print join("", map { pack("s<2", $_ & 32767, -($_ & 32767)) } $n .. $n + 1599); select(undef, undef, undef, 0.02) }'`
  const { command } = script(t, body)
  const w = world(t, { captureCommand: command, maxConcurrentRecordings: 2, stalledSeconds: 30 })
  const take = { captureDevice: 'plughw:CARD=Desk,DEV=0', durationSeconds: 600 }
  const size = (id: string) => {
    const file = path.join(w.workDir, 'takes', id, 'take.wav')
    return fs.existsSync(file) ? fs.statSync(file).size : 0
  }
  w.runner.accept(w.link.add(job('a', take)))
  await until(() => size('a') > 20_000)
  w.runner.accept(w.link.add(job('b', { ...take, captureChannels: 1, captureDevice: 'hw:Desk' })))
  await until(() => size('b') > 20_000)
  w.link.set('a', { status: 'stop_requested' })
  w.link.set('b', { status: 'stop_requested' })
  await w.runner.idle()
  const sent = (id: string) => wav(w.link.uploads.find((u) => u.jobId === id)!.bytes)
  const [a, b] = [sent('a').pcm, sent('b').pcm]
  assert.deepEqual([a.readInt16LE(0), sent('b').channels], [0, 1])
  const first = b.readInt16LE(0)
  assert.ok(first > 0, 'the second began later')
  for (let i = 0; i < Math.min(8000, b.length / 2); i++) assert.equal(b.readInt16LE(i * 2), (first + i) & 32_767)
  assert.equal(fs.readFileSync(`${command}.log`, 'utf8'), 'began\n')
})

test('JACK gives 16 bits whatever is asked, and the take says so', async (t) => {
  const { command, dir } = script(t, 'echo "$@" >"$0.args"; head -c 400000 /dev/zero; exec sleep 60')
  const w = world(t, { captureCommand: command, stalledSeconds: 30 })
  const asked = { captureBackend: 'jack', captureFormat: 'S24_LE', durationSeconds: 1 } as const
  w.runner.accept(w.link.add(job('a', { ...asked, captureDevice: 'system:capture_1,system:capture_4' })))
  await w.runner.idle()
  assert.equal(wav(w.link.uploads[0]!.bytes).format, 'S16_LE')
  assert.deepEqual(w.names(), ['capture_format_adjusted'])
  assert.equal(
    fs.readFileSync(path.join(dir, 'arecord.args'), 'utf8').trim(),
    '--channels 2 --write-to-stdout --disable-console --no-stdin --port system:capture_1 --port system:capture_4',
  )
})

test('PipeWire packs its 24 bits, and so does the file; one that has to be asked for bare samples is', async (t) => {
  const help = 'if [ "$*" = --help ]; then echo "-a, --raw  RAW mode"; exit; fi'
  const { command, dir } = script(t, `${help}; echo "$@" >"$0.args"; cat "$0.pcm"; exec sleep 60`)
  const one = tonePeriod({ channels: 2, format: 'S24_3LE', rate: 48_000 })
  const stream = Buffer.concat(Array(100).fill(one))
  fs.writeFileSync(`${command}.pcm`, stream)
  const w = world(t, { captureCommand: command, stalledSeconds: 30 })
  const asked = { captureBackend: 'pipewire', captureFormat: 'S24_LE', durationSeconds: 1 } as const
  w.runner.accept(w.link.add(job('a', { ...asked, captureDevice: 'mic' })))
  await w.runner.idle()
  assert.ok(wav(w.link.uploads[0]!.bytes).pcm.equals(stream))
  assert.equal(
    fs.readFileSync(path.join(dir, 'arecord.args'), 'utf8').trim(),
    '--record --raw --target mic --rate 48000 --channels 2 --format s24 --properties ' +
      '{ stream.dont-remix=true node.dont-fallback=true node.dont-reconnect=true } -',
  )
})

/** Writes its rising numbers as wide as it is asked, unless that is wider than it can; no slower than a card. */
const upTo = (channels: number) => `echo "$*" >>"$0.log"; c=\${@: -2:1}
if [ $c -gt ${channels} ]; then echo 'arecord: set_params:1371: Channels count non available' >&2; exit 1; fi
exec perl -e '$| = 1; $c = shift; $b = pack("s<*", map { my $i = $_; map { $i } 1 .. $c } 1 .. 1600);
  for (;;) { print $b; select(undef, undef, undef, 0.02) }' $c`

test('a device is opened with all its channels, and every take keeps those it asked for', async (t) => {
  const { command } = script(t, upTo(8))
  const settings = { ...quick, captureCommand: command, maxConcurrentRecordings: 2, stalledSeconds: 30 }
  const feeds = new Feeds({ bus: createBus(), clock: systemClock, settings })
  feeds.learn([{ channelCount: 8, systemRef: 'hw:CARD=Desk,DEV=0' }])
  const w = world(t, settings, tempDir(t), { feeds })
  const take = { captureDevice: 'hw:CARD=Desk,DEV=0', durationSeconds: 600 }
  w.runner.accept(w.link.add(job('a', take)))
  await until(() => status(w.workDir, 'a') === 'capturing')
  w.runner.accept(w.link.add(job('b', { ...take, captureChannelSelection: [7] })))
  await until(() => status(w.workDir, 'b') === 'capturing')
  for (const id of ['a', 'b']) w.link.set(id, { status: 'stop_requested' })
  await w.runner.idle()
  const channels = ['a', 'b'].map((id) => wav(w.link.uploads.find((u) => u.jobId === id)!.bytes).channels)
  assert.deepEqual(channels, [2, 1])
  assert.equal(fs.readFileSync(`${command}.log`, 'utf8'), '-t raw -D hw:CARD=Desk,DEV=0 -f S16_LE -r 48000 -c 8 -\n')
})

test('a device that has fewer channels at this rate is opened with those that are needed', async (t) => {
  const { command } = script(t, upTo(2))
  const settings = { ...quick, captureCommand: command, stalledSeconds: 30 }
  const feeds = new Feeds({ bus: createBus(), clock: systemClock, settings })
  feeds.learn([{ channelCount: 8, systemRef: 'hw:CARD=Desk,DEV=0' }])
  const w = world(t, settings, tempDir(t), { feeds })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'hw:CARD=Desk,DEV=0', durationSeconds: 1 })))
  await w.runner.idle()
  assert.equal(wav(w.link.uploads[0]!.bytes).dataBytes, 48_000 * 4)
  assert.deepEqual(w.names(), [])
})
