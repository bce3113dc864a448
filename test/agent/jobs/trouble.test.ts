import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { tonePeriod } from '../../../src/agent/capture/tones.ts'
import { cannotMount, PowerDisk } from '../../e2e/disks.ts'
import { age } from '../../kit/take.ts'
import { job, tempDir, tones, until, wav, world } from './kit.ts'

const RATE = 48_000

/** An executable that stands in for arecord; `$1`... are its arguments. */
function script(t: TestContext, body: string): string {
  const file = path.join(tempDir(t), 'arecord')
  fs.writeFileSync(file, `#!/bin/bash\n${body}\n`, { mode: 0o755 })
  return file
}

test('a lost device: the take goes on in the same file, the gap is silence of its length', async (t) => {
  const w = world(t, { retryPauseSeconds: 0.2 })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'test:fail-after=1.5', durationSeconds: 3 })))
  await w.runner.idle()
  const { pcm } = wav(w.link.uploads[0]!.bytes)
  assert.equal(pcm.length, 3 * RATE * 4)
  const recovered = w.events.find((e) => e.type.endsWith('capture_device_recovered'))!.details!
  const { atFrame, seconds } = recovered as { atFrame: number; seconds: number }
  assert.equal(atFrame, 1.5 * RATE)
  const silent = Math.min(Math.round(seconds * RATE), 3 * RATE - atFrame)
  assert.ok(pcm.subarray(atFrame * 4, (atFrame + silent) * 4).every((byte) => byte === 0))
  const period = tonePeriod({ channels: 2, format: 'S16_LE', rate: RATE })
  assert.ok(pcm.subarray(0, 1.5 * RATE * 4).equals(Buffer.concat(Array(150).fill(period))))
  const after = pcm.subarray((atFrame + silent) * 4)
  assert.ok(after.length > 0 && after.subarray(0, period.length).equals(period.subarray(0, after.length)))
  assert.deepEqual(w.names(), ['capture_device_lost', 'capture_device_recovered', 'capture_runtime_restarted'])
  assert.ok(w.events.every((e) => e.details!.source === 'test' && e.details!.jobId === 'a'))
})

test('a device that stays away: what was captured is uploaded', async (t) => {
  const flag = path.join(tempDir(t), 'once')
  const gone = `if [ -e ${flag} ]; then echo 'arecord: main:830: audio open error: No such device' >&2; exit 1; fi
touch ${flag}; head -c 96000 /dev/urandom; echo 'arecord: pcm_read:2221: read error: Input/output error' >&2; exit 1`
  const w = world(t, { captureCommand: script(t, gone), retryWindowSeconds: 0.3 })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'hw:1', durationSeconds: 2 })))
  await w.runner.idle()
  assert.equal(wav(w.link.uploads[0]!.bytes).dataBytes, 96_000)
  // When it goes, when it is away for long, and when the time of the take is over.
  assert.deepEqual(w.names(), ['capture_device_lost', 'capture_device_lost', 'capture_device_lost'])
  assert.deepEqual(
    w.events.map((e) => e.severity),
    ['warning', 'critical', 'critical'],
  )
  assert.equal(w.events[0]!.details!.fault, 'device_lost')
})

test('a stalled capture is killed and opened again', async (t) => {
  const w = world(t, { retryPauseSeconds: 0.05, stalledSeconds: 0.2 })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'test:stall-after=1', durationSeconds: 2 })))
  await w.runner.idle()
  assert.equal(wav(w.link.uploads[0]!.bytes).dataBytes, 2 * RATE * 4)
  assert.equal(w.names()[0], 'capture_output_stalled')
  assert.ok(w.names().includes('capture_runtime_restarted'))
})

test('exit 0 with too few bytes is no whole take', async (t) => {
  const w = world(t, { captureCommand: script(t, 'head -c 19201 /dev/zero'), retryWindowSeconds: 0.1 })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'hw:1', durationSeconds: 1 })))
  await w.runner.idle()
  const { dataBytes } = wav(w.link.uploads[0]!.bytes)
  assert.equal(dataBytes % 4, 0)
  assert.ok(dataBytes >= 19_200)
  assert.equal(w.events[0]!.details!.fault, 'ended_early')
})

test('a device that cannot be opened fails the job with its own words', async (t) => {
  const body = `echo "ALSA lib pcm.c:2666: Unknown PCM nope" >&2; echo "arecord: main:830: audio open error: No such file or directory" >&2; exit 1`
  const w = world(t, { captureCommand: script(t, body), retryWindowSeconds: 0.2 })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'nope' })))
  await w.runner.idle()
  assert.deepEqual(w.link.failed, [
    ['a', 'capture_start_failed: arecord: main:830: audio open error: No such file or directory'],
  ])
  assert.deepEqual(w.names(), ['capture_device_unavailable', 'capture_start_failed'])
})

test('a missing program and an unknown format fail at once', async (t) => {
  const w = world(t, { captureCommand: '/nowhere/arecord', maxConcurrentRecordings: 3 })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'hw:1' })))
  w.runner.accept(w.link.add(job('b', { captureFormat: 'MU_LAW' })))
  await w.runner.idle()
  const reasons = Object.fromEntries(w.link.failed)
  assert.match(reasons.a!, /^capture_start_failed: .*was not found: install it/)
  assert.equal(reasons.b, 'capture_format_not_supported: MU_LAW')
})

test('a device with more channels than asked is opened as it is, the first channels are kept', async (t) => {
  const body = `case "$*" in
*--dump-hw-params*) printf 'HW Params of device "hw:1":\\nFORMAT:  S32_LE\\nCHANNELS: [8 10]\\nRATE: [44100 48000]\\n' >&2; exit 1;;
*"-f S32_LE -r 48000 -c 8"*) perl -e 'print pack("l<8", map { $_ * 1000 } 1..8) x 48000'; sleep 5;;
*) echo 'arecord: set_params:1371: Channels count non available' >&2; exit 1;; esac`
  const w = world(t, { captureCommand: script(t, body) })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'hw:1', durationSeconds: 1 })))
  await w.runner.idle()
  const out = wav(w.link.uploads[0]!.bytes)
  assert.deepEqual([out.channels, out.format, out.dataBytes], [2, 'S32_LE', RATE * 8])
  assert.deepEqual([out.pcm.readInt32LE(0), out.pcm.readInt32LE(4), out.pcm.readInt32LE(8)], [1000, 2000, 1000])
  assert.deepEqual(w.names(), ['capture_format_adjusted'])
})

test('a device that runs at another rate gives a take of that rate and of the asked length', async (t) => {
  const body = `echo 'Warning: rate is not accurate (requested = 44100Hz, got = 48000Hz)' >&2; sleep 0.1; head -c 400000 /dev/zero; sleep 5`
  const w = world(t, { captureCommand: script(t, body) })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'hw:1', captureSampleRate: 44_100, durationSeconds: 1 })))
  await w.runner.idle()
  const out = wav(w.link.uploads[0]!.bytes)
  assert.deepEqual([out.rate, out.dataBytes], [48_000, 48_000 * 4])
})

test('S24_LE of ALSA sits in four bytes and is packed in the file', async (t) => {
  const body = `perl -e 'for my $i (1..48000) { print pack("l<", ($i % 2 ? -1 : 1) * $i * 100) }'; sleep 5`
  const w = world(t, { captureCommand: script(t, body) })
  const format = { captureChannels: 1, captureDevice: 'hw:1', captureFormat: 'S24_LE', durationSeconds: 1 }
  w.runner.accept(w.link.add(job('a', format)))
  await w.runner.idle()
  const out = wav(w.link.uploads[0]!.bytes)
  assert.deepEqual([out.format, out.dataBytes], ['S24_3LE', 48_000 * 3])
  assert.deepEqual([out.pcm.readIntLE(0, 3), out.pcm.readIntLE(3, 3)], [-100, 200])
})

test('the real arecord is read sample for sample', async (t) => {
  if (!fs.existsSync('/usr/bin/arecord')) return t.skip('needs alsa-utils')
  const dir = tempDir(t)
  const period = tonePeriod({ channels: 2, format: 'S16_LE', rate: RATE })
  const tone = Buffer.concat(Array(200).fill(period))
  fs.writeFileSync(path.join(dir, 'in.raw'), tone)
  const room = `type file slave.pcm none file /dev/null infile ${dir}/in.raw format raw`
  fs.writeFileSync(path.join(dir, 'asound.conf'), `pcm.none { type null }\npcm.room { ${room} }\n`)
  const captureCommand = script(t, `ALSA_CONFIG_PATH=${dir}/asound.conf exec arecord "$@"`)
  const w = world(t, { captureCommand })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'room' })))
  await w.runner.idle()
  assert.ok(wav(w.link.uploads[0]!.bytes).pcm.equals(tone))
  assert.deepEqual(w.names(), [])
})

test('a template replaces all arguments, and WAV from it is read as such', async (t) => {
  const sine = '"sine=frequency=440:sample_rate={sample_rate}:duration={seconds}"'
  const captureArgsTemplate = `-nostdin -v error -f lavfi -i ${sine} -ac {channels} -f wav {output}`
  const w = world(t, { captureArgsTemplate, captureCommand: 'ffmpeg' })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'hw:1', durationSeconds: 1 })))
  await w.runner.idle()
  const out = wav(w.link.uploads[0]!.bytes)
  assert.deepEqual([out.dataBytes, out.pcm.readInt16LE(0)], [48_000 * 4, 0])
})

/** A file system of its own, small enough to be filled; undefined where that is not allowed. */
function smallDisk(t: TestContext, size: string): string | undefined {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-disk-'))
  let mounted = false
  t.after(() => {
    if (mounted) execFileSync('umount', ['-l', dir])
    fs.rmdirSync(dir)
  })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'roomtone-test', dir], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  mounted = true
  return dir
}

test('a disk that fills up keeps what was written, and the take is uploaded', async (t) => {
  const dir = smallDisk(t, '4m')
  if (!dir) return t.skip('needs the right to mount a small file system')
  const w = world(t, {}, dir)
  const filler = path.join(dir, 'filler')
  // Room for the take when it begins; somebody else takes it away.
  w.runner.accept(w.link.add(job('a', { captureDevice: 'test:speed=8', durationSeconds: 15 })))
  const take = path.join(dir, 'takes/a/take.wav')
  await until(() => fs.existsSync(take) && fs.statSync(take).size > 100_000)
  fs.writeFileSync(filler, Buffer.alloc(2 << 20))
  await w.runner.idle()
  const { dataBytes } = wav(w.link.uploads[0]!.bytes)
  assert.ok(dataBytes > 1 << 20 && dataBytes < 3 << 20)
  assert.deepEqual(w.names(), ['disk_space_exhausted', 'disk_space_exhausted'])
  assert.deepEqual(
    w.events.map((e) => e.details!.willRetry),
    [true, false],
  )
  assert.deepEqual(fs.readdirSync(path.join(dir, 'takes')), [])
})

test('a disk that is full for a moment costs nothing', async (t) => {
  const dir = smallDisk(t, '4m')
  if (!dir) return t.skip('needs the right to mount a small file system')
  const w = world(t, {}, dir)
  const filler = path.join(dir, 'filler')
  w.runner.accept(w.link.add(job('a', { captureDevice: 'test:speed=4', durationSeconds: 15 })))
  const take = path.join(dir, 'takes/a/take.wav')
  await until(() => fs.existsSync(take) && fs.statSync(take).size > 100_000)
  fs.writeFileSync(filler, Buffer.alloc(2 << 20))
  await until(() => w.names().includes('disk_space_exhausted'))
  fs.rmSync(filler)
  await w.runner.idle()
  assert.ok(wav(w.link.uploads[0]!.bytes).pcm.equals(tones(15 * RATE)))
  assert.deepEqual(w.names(), ['disk_space_exhausted', 'disk_space_runtime_recovered'])
})

test('a disk that fills up while a take runs: copies of other takes make way, and it is whole', async (t) => {
  const dir = smallDisk(t, '4m')
  if (!dir) return t.skip('needs the right to mount a small file system')
  const w = world(t, { keepUploaded: true }, dir)
  w.runner.accept(w.link.add(job('a', { durationSeconds: 5 })))
  await w.runner.idle()
  w.runner.accept(w.link.add(job('b', { captureDevice: 'test:speed=8', durationSeconds: 10 })))
  const take = path.join(dir, 'takes/b/take.wav')
  await until(() => fs.existsSync(take) && fs.statSync(take).size > 100_000)
  // 0.96 MB are the copy's, 1.92 MB the take will need.
  fs.writeFileSync(path.join(dir, 'filler'), Buffer.alloc(1.6 * 1024 * 1024))
  await w.runner.idle()
  assert.ok(wav(w.link.uploads[1]!.bytes).pcm.equals(tones(10 * RATE)))
  const names = w.names().filter((name) => name.startsWith('disk_space'))
  assert.deepEqual(names, ['disk_space_exhausted', 'disk_space_cleanup_attempted', 'disk_space_runtime_recovered'])
})

test('a disk that becomes read-only: nothing is sent with a header that says less, all of it after a restart', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-disk-'))
  const work = path.join(dir, 'agent')
  const undo = [() => fs.rmSync(dir, { recursive: true })]
  t.after(() => undo.reverse().forEach((step) => void step()))
  if (cannotMount(dir)) return t.skip('needs the right to mount a file system')
  fs.mkdirSync(work)
  const disk = new PowerDisk(path.join(dir, 'agent.img'), work)
  undo.push(() => disk.unmount())
  const command = { captureDevice: 'test:speed=4', durationSeconds: 15 }
  const before = world(t, {}, work)
  before.runner.accept(before.link.add(job('a', command)))
  const take = path.join(work, 'takes/a/take.wav')
  await until(() => fs.existsSync(take) && fs.statSync(take).size > 600_000)
  disk.abort()
  await until(() => before.names().includes('capture_failed'))
  await before.runner.stop()
  assert.deepEqual(before.link.uploads, [])
  disk.mend()
  age(take, 600)
  const after = world(t, {}, work)
  after.link.add(job('a', command))
  await after.runner.recover()
  await after.runner.idle()
  const { bytes } = after.link.uploads[0]!
  const { dataBytes, dataOffset, pcm } = wav(bytes)
  assert.equal(bytes.length, dataOffset + dataBytes, 'the header speaks of every sample')
  assert.ok(pcm.length > 4 * RATE && pcm.equals(tones(pcm.length / 4)))
})

test('a take that cannot fit is refused before it begins', async (t) => {
  const dir = smallDisk(t, '2m')
  if (!dir) return t.skip('needs the right to mount a small file system')
  const w = world(t, {}, dir)
  w.runner.accept(w.link.add(job('a', { durationSeconds: 60 })))
  await w.runner.idle()
  assert.deepEqual(w.link.failed, [['a', 'insufficient_capture_disk_space']])
  assert.deepEqual(w.names(), ['disk_space_insufficient'])
})

test('a device that was renumbered is found again, at the start and after a loss', async (t) => {
  const body = `case "$*" in *hw:7*) head -c 600000 /dev/zero; sleep 5;; *hw:6*) head -c 96000 /dev/zero; exit 1;; esac; exit 1`
  const places = ['hw:6', 'hw:7']
  const locate = async () => places.shift() ?? 'hw:7'
  const w = world(t, { captureCommand: script(t, body), retryPauseSeconds: 0.01 }, tempDir(t), { locate })
  w.runner.accept(w.link.add(job('a', { captureDevice: 'hw:1', durationSeconds: 3 })))
  await w.runner.idle()
  assert.equal(w.link.uploads[0]!.durationSeconds, 3)
  assert.deepEqual(w.names().slice(0, 3), [
    'capture_device_refreshed',
    'capture_device_lost',
    'capture_device_refreshed',
  ])
})
