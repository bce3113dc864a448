import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { measuredPeaks } from '../../../../src/controller/recordings/waveforms/peaks.ffmpeg.ts'
import { waveformStore } from '../../../../src/controller/recordings/waveforms/waveforms.store.ts'
import { Waveforms } from '../../../../src/controller/recordings/waveforms/waveforms.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { takes } from '../library/takes.ts'

const TOOLS = { ffmpeg: 'ffmpeg', ffprobe: 'ffprobe', maxBytes: 67_108_864, timeoutMs: 15_000 }

/** Left is silent, then at half; right is a quiet tone all along. */
function sound(k: Kit, name: string, ...options: string[]): string {
  const file = join(k.dir, name)
  const source = `aevalsrc='if(lt(t,1),0,0.5*sgn(sin(2*PI*100*t)))|0.1*sin(2*PI*440*t)':s=8000:d=2`
  execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, ...options, file])
  return file
}

const making = (k: Kit, tools: Partial<typeof TOOLS> = {}) =>
  new Waveforms({
    clock: { now: () => 0, monotonic: () => 0 },
    library: { borrow: () => assert.fail('it is here'), has: () => false },
    log: {
      debug() {},
      info() {},
      warn: (message, fields) => void k.logged.push(JSON.stringify({ message, ...fields })),
      error() {},
    },
    takes: takes(k).root,
    tools: { ...TOOLS, ...tools },
    waveforms: waveformStore(k.db),
  })

test('the first look is told to come again, the next one sees the peaks of each channel', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.file('r1', 'primary', readFileSync(sound(k, 'a.wav', '-c:a', 'pcm_s16le')))
  const operator = k.person('op', ['operator'], [['node', 'n1']])
  const first = await operator.get('/recordings/r1/waveform')
  assert.deepEqual([first.status, first.json.data.state, first.headers.get('retry-after')], [202, 'pending', '2'])
  await k.waveforms.idle()
  const { status, json } = await operator.get('/recordings/r1/waveform?points=4')
  const { channels, points, sampleCount, sampleRate, state } = json.data
  assert.deepEqual([status, state, points, sampleCount, sampleRate], [200, 'ready', 4, 16_000, 8000])
  assert.deepEqual(channels[0], { max: [0, 0, 0.504, 0.504], min: [0, 0, -0.504, -0.504] })
  assert.deepEqual(channels[1].max, [0.102, 0.102, 0.102, 0.102])
  const preview = (await operator.get('/recordings/r1')).json.data.waveformPreview
  assert.deepEqual(
    [preview.channelCount, preview.sampleCount, preview.peaks.length, Math.max(...preview.peaks)],
    [2, 16_000, 96, 0.504],
  )
  assert.equal((await operator.get('/recordings/r1/waveform')).json.data.points, 1000)
  for (const bad of ['points=0', 'points=4001', 'points=x'])
    assert.equal((await operator.get(`/recordings/r1/waveform?${bad}`)).status, 400)
  assert.equal((await k.as('auditor').get('/recordings/r1/waveform')).status, 403)
  await k.close()
})

test('peaks belong to the bytes: another file has its own, and all go with the recording', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.file('r1', 'raw', readFileSync(sound(k, 'a.wav')))
  await k.tick('waveforms')
  await k.waveforms.idle()
  t.file('r1', 'raw', readFileSync(sound(k, 'b.mp3')), 'mp3')
  await k.tick('waveforms')
  await k.waveforms.idle()
  const [row, ...more] = k.rows<{ checksum: string }>('SELECT checksum FROM recording_waveforms')
  assert.deepEqual([row?.checksum, more], [t.store.files('r1')[0]?.checksum, []])
  k.sql(`DELETE FROM recordings`)
  assert.deepEqual(k.rows('SELECT * FROM recording_waveforms'), [])
  assert.equal((await k.as('admin').get('/recordings/r1/waveform')).status, 404)
  t.recording('r2')
  assert.equal((await k.as('admin').get('/recordings/r2/waveform')).json.reason, 'recording_not_cached')
  await k.close()
})

test('what is no audio is told once, and not tried at every look', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.file('r1', 'primary', Buffer.from('this is no sound'))
  const admin = k.as('admin')
  assert.equal((await admin.get('/recordings/r1/waveform')).status, 202)
  await k.waveforms.idle()
  const refused = await admin.get('/recordings/r1/waveform')
  assert.deepEqual([refused.status, refused.json.reason, refused.json.cause], [409, 'waveform_unavailable', 'no_audio'])
  assert.equal(k.logged.length, 1)
  k.advance('11m')
  assert.equal((await admin.get('/recordings/r1/waveform')).status, 202)
  await k.waveforms.idle()
  await k.close()
})

test('files wait for one another, a file that is asked for twice is made once, and no more than 200 wait', async () => {
  const k = kit()
  const t = takes(k)
  const made = making(k, { ffprobe: '/nonexistent' })
  const files = Array.from({ length: 203 }, (_, i) => ({ checksum: `c${i}`, path: 'none', recordingId: 'r' }))
  for (const file of files.slice(0, 200)) made.want(file)
  assert.equal(made.want(files[5] as never).before > 0, true)
  assert.throws(() => files.slice(200).map((file) => made.want(file)), /Too many/)
  await made.stop()
  assert.deepEqual(k.rows('SELECT * FROM recording_waveforms'), [])
  assert.equal(t.root.length > 0, true)
  await k.close()
})

test('whoever waits for a waveform, or for the joined chunks before it, is served at a pace of seconds', async () => {
  const k = kit()
  const { runners } = (await k.as('owner').get('/status')).json.data
  const paces = runners.filter(({ name }: { name: string }) => ['chunk-join', 'waveforms'].includes(name))
  assert.deepEqual(
    paces.map(({ intervalSeconds }: { intervalSeconds: number }) => intervalSeconds <= 5),
    [true, true],
  )
  await k.close()
})

test('a playlist with the name of a take opens no other file', async () => {
  const k = kit()
  const other = sound(k, 'other.flac')
  const never = new AbortController().signal
  const lists = [`#EXTM3U\n#EXTINF:1,\n${other}\n`, `ffconcat version 1.0\nfile other.flac\n`]
  // A signature that is honest before bytes that are not: only the named demuxer reads it.
  for (const text of lists)
    for (const head of ['', 'fLaC', 'RIFF\0\0\0\0WAVE', 'ID3\x04\0\0\0\0\0\0']) {
      const file = join(k.dir, 'take.flac')
      writeFileSync(file, Buffer.from(head + text, 'latin1'))
      await assert.rejects(
        measuredPeaks(TOOLS, file, never, () => {}),
        /no_audio|tool_failed/,
      )
    }
  await k.close()
})

test('a tool that hangs, floods or lies ends with a reason', async () => {
  const k = kit()
  const file = sound(k, 'a.wav')
  const script = (name: string, text: string): string => {
    const path = join(k.dir, name)
    writeFileSync(path, `#!/bin/sh\n${text}\n`)
    chmodSync(path, 0o755)
    return path
  }
  const never = new AbortController()
  const peaks = (tools: Partial<typeof TOOLS>, signal = never.signal) =>
    measuredPeaks({ ...TOOLS, ...tools }, file, signal, () => {})
  await assert.rejects(peaks({ ffprobe: script('hang', 'exec sleep 60'), timeoutMs: 50 }), /^Error: timeout/)
  await assert.rejects(peaks({ ffmpeg: script('flood', 'exec yes'), maxBytes: 100_000 }), /^Error: too_much_output/)
  await assert.rejects(
    peaks({ ffprobe: script('lie', `echo '{"streams":[{"channels":"many"}]}'`) }),
    /^Error: no_audio/,
  )
  await assert.rejects(peaks({ ffprobe: script('mute', 'exit 0') }))
  await assert.rejects(
    peaks({ ffmpeg: script('fail', 'echo broken >&2; exit 3') }),
    /tool_failed: .*fail failed with 3: broken/,
  )
  await assert.rejects(peaks({ ffmpeg: script('empty', 'exit 0') }), /no_audio/)
  await assert.rejects(peaks({ ffmpeg: '/nonexistent' }), /tool_missing: .*could not be started/)
  const stopped = new AbortController()
  const running = peaks({ ffprobe: script('wait', 'exec sleep 60') }, stopped.signal)
  stopped.abort(new Error('stop'))
  await assert.rejects(running, /stop/)
  await k.close()
})

test('a file that is longer than it says is measured whole', async () => {
  const k = kit()
  const file = sound(k, 'a.wav')
  const path = join(k.dir, 'short')
  writeFileSync(path, `#!/bin/sh\necho '{"streams":[{"channels":2,"sample_rate":"8000","duration":"0.1"}]}'\n`)
  chmodSync(path, 0o755)
  const { peaks, samples } = await measuredPeaks(
    { ...TOOLS, ffprobe: path },
    file,
    new AbortController().signal,
    () => {},
  )
  assert.equal(samples, 16_000)
  assert.ok(peaks.points >= 4000 && peaks.points < 8000)
  await k.close()
})
