import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PcmFormat, streamFrameBytes, toFileFrames } from '../../../src/agent/audio/format.rules.ts'
import { toneOptions, tonePeriod, toneSource } from '../../../src/agent/capture/tones.ts'
import { systemClock } from '../../../src/kernel/clock.ts'

const FULL = { S16_LE: 0x7fff, S24_LE: 0x7fffff, S24_3LE: 0x7fffff, S32_LE: 0x7fffffff, FLOAT_LE: 1 }

/** Sample as a number from -1 to 1. */
function sample(pcm: Buffer, f: PcmFormat, frame: number, channel: number): number {
  const size = streamFrameBytes(f) / f.channels
  const at = (frame * f.channels + channel) * size
  return f.format === 'FLOAT_LE' ? pcm.readFloatLE(at) : pcm.readIntLE(at, size) / FULL[f.format]
}

for (const format of ['S16_LE', 'S24_LE', 'S24_3LE', 'S32_LE', 'FLOAT_LE'] as const)
  for (const rate of [48_000, 44_100, 22_050])
    test(`channel n of the test source carries 100 n Hz at -12 dBFS, ${format} at ${rate} Hz`, () => {
      const f = { channels: 5, format, rate }
      const period = tonePeriod(f)
      const frames = period.length / streamFrameBytes(f)
      assert.equal((100 * frames) % rate, 0, 'tones meet their beginning')
      for (let channel = 0; channel < 5; channel++)
        for (let i = 0; i < frames; i += 7) {
          const wanted = 10 ** (-12 / 20) * Math.sin((2 * Math.PI * 100 * (channel + 1) * i) / rate)
          assert.ok(Math.abs(sample(period, f, i, channel) - wanted) < 1e-4)
        }
    })

test('the test source gives the samples that are due, however late its timer fires', async () => {
  let now = 0
  const f = { channels: 1, format: 'S16_LE', rate: 48_000 } as const
  const source = toneSource(f, { speed: 1 }, { monotonic: () => now, now: () => 0 })
  const heard: Buffer[] = []
  source.pcm.on('data', (bytes) => heard.push(bytes))
  for (const ms of [1, 7, 333.3, 1999.9]) {
    now = ms
    const due = Math.floor(ms * 48) * 2
    while (heard.reduce((n, b) => n + b.length, 0) < due) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(
      heard.reduce((n, b) => n + b.length, 0),
      due,
    )
  }
  source.stop()
  assert.equal((await source.ended).stopped, true)
  const period = tonePeriod(f)
  const all = Buffer.concat(heard)
  const endless = Buffer.concat(Array(Math.ceil(all.length / period.length)).fill(period))
  assert.ok(all.equals(endless.subarray(0, all.length)))
})

test('fail-after ends the test source like a lost device, at the exact sample', async () => {
  const f = { channels: 3, format: 'S16_LE', rate: 8000 } as const
  const source = toneSource(f, toneOptions('test:speed=50,fail-after=0.5'), systemClock)
  let bytes = 0
  for await (const chunk of source.pcm) bytes += chunk.length
  assert.equal(bytes, 4000 * 6)
  assert.match((await source.ended).stderr, /No such device/)
})

test('an option the test source does not know is an error, a bare word is a name', () => {
  for (const device of ['test:', 'test:tone']) assert.deepEqual(toneOptions(device), { speed: 1 })
  for (const device of ['test:spede=2', 'test:speed=0', 'test:stall-after=x'])
    assert.throws(() => toneOptions(device), /test source/)
})

test('only the asked channels go to the file, S24_LE in three bytes', () => {
  const frames = Buffer.from('010203ff040506ff0708090a0b0c0d0e', 'hex')
  const f = { channels: 2, format: 'S24_LE', rate: 8000 } as const
  assert.equal(toFileFrames(frames, f, 1).toString('hex'), '010203070809')
  assert.equal(toFileFrames(frames, f, 2).toString('hex'), '0102030405060708090b0c0d')
  assert.equal(toFileFrames(frames, { ...f, format: 'S32_LE' }, 2), frames)
})
