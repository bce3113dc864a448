import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PcmFormat } from '../../../src/agent/audio/format.rules.ts'
import { PrintTally } from '../../../src/agent/ear/tally.rules.ts'
import { Accumulator } from '../../../src/agent/meters/accumulator.ts'
import { BANDS_HZ } from '../../../src/wire/bands.ts'
import type { SoundPrint } from '../../../src/wire/soundreadings.ts'
import { noise, pcm, silence, sine, type Wave } from '../meters/sound.ts'

const RATE = 48_000

/** Prints of so many seconds of these waves, in blocks of odd lengths. */
function heard(waves: Wave[], seconds = 3, more: Partial<PcmFormat> = {}): { prints: SoundPrint[]; seconds: number } {
  const format: PcmFormat = { channels: waves.length, format: 'S24_3LE', rate: RATE, ...more }
  const accumulator = new Accumulator(format, { clipDbfs: -1, seconds: 1 })
  accumulator.listen(true)
  const tally = new PrintTally()
  const bytes = pcm(format, seconds * format.rate, waves)
  const frame = bytes.length / (seconds * format.rate)
  for (let at = 0; at < bytes.length; at += 1777 * frame) {
    accumulator.add(bytes.subarray(at, at + 1777 * frame), 0)
    for (const slice of accumulator.slices()) tally.add(slice)
  }
  return { prints: tally.prints(waves.map((_, c) => c + 1)), seconds: tally.seconds }
}

const print = (wave: Wave, more: Partial<PcmFormat> = {}): SoundPrint => heard([wave], 3, more).prints[0]!
const near = (found: number, wanted: number, within: number, what: string): void =>
  assert.ok(Math.abs(found - wanted) <= within, `${what}: ${found} instead of ${wanted}`)
const sum =
  (...waves: Wave[]): Wave =>
  (i) =>
    waves.reduce((all, wave) => all + wave(i), 0)

test('a sine is in its octave alone, at its level, in any format and at any rate', () => {
  for (const format of ['S16_LE', 'S24_LE', 'S24_3LE', 'S32_LE', 'FLOAT_LE'] as const)
    for (const rate of [32_000, 44_100, 48_000, 96_000]) {
      const { bandsDbfs, floorDbfs, peakDbfs } = print(sine(1000, 0.1, rate), { format, rate })
      // 0.1 is -20 dBFS of peak and 3 dB less of RMS; levels are in steps of half a decibel.
      near(floorDbfs, -23, 0.5, `${format} ${rate}: floor`)
      near(peakDbfs, -20, 0.1, `${format} ${rate}: peak`)
      near(bandsDbfs[BANDS_HZ.indexOf(1000)]!, -23, 0.5, `${format} ${rate}: band`)
      for (const [i, level] of bandsDbfs.entries())
        if (BANDS_HZ[i] !== 1000) assert.ok(level < -70, `${BANDS_HZ[i]}: ${level}`)
    }
})

test('white noise rises by three decibels an octave, and all bands together are its level', () => {
  const { bandsDbfs, floorDbfs, humDbfs } = print(noise(7, 0.1 * Math.sqrt(3)))
  near(floorDbfs, -20, 0.6, 'floor')
  for (let i = 3; i < bandsDbfs.length; i++)
    near(bandsDbfs[i]! - bandsDbfs[i - 1]!, 3, 1.6, `from ${BANDS_HZ[i - 1]} Hz`)
  assert.ok(humDbfs < -45, `no hum in it: ${humDbfs}`)
})

test('hum is the lines of 50 or of 60 Hz, whatever else is heard and whatever the offset', () => {
  for (const hz of [50, 60] as const) {
    const lines = sum(sine(hz, 0.01), sine(3 * hz, 0.005))
    const { floorDbfs, humDbfs, humHz, offset } = print(sum(lines, noise(3, 0.002), () => 0.3))
    assert.equal(humHz, hz)
    near(humDbfs, 10 * Math.log10((0.01 ** 2 + 0.005 ** 2) / 2), 1, `${hz} Hz`)
    near(floorDbfs, humDbfs, 1, 'the floor is hum')
    near(offset, 0.3, 0.001, 'offset')
  }
})

test('speech over a room does not count: the print is of its pauses', () => {
  const room = noise(5, 0.001)
  const speech = sine(400, 0.2)
  const talks: Wave = (i) => room(i) + (i % (2 * RATE) < 1.6 * RATE ? speech(i) : 0)
  const [quiet, loud] = [print(room), heard([talks], 12).prints[0]!]
  near(loud.floorDbfs, quiet.floorDbfs, 1, 'floor')
  for (const [i, level] of quiet.bandsDbfs.entries()) near(loud.bandsDbfs[i]!, level, 3.5, `${BANDS_HZ[i]} Hz`)
  near(loud.peakDbfs, -14, 0.2, 'but its peak is heard')
})

test('a line that says the same for ever is flat, at zero and at any offset', () => {
  for (const at of [0, 0.25, -0.5]) {
    const { flat, floorDbfs, offset } = print(() => at)
    assert.deepEqual([flat, floorDbfs], [true, -160])
    near(offset, at, 1e-4, 'offset')
  }
  assert.equal(print((i) => (i === 5000 ? 0.001 : 0)).flat, false)
})

test('clipping is counted in seconds', () => {
  const third: Wave = (i) => (i < RATE ? sine(100, 1)(i) : sine(100, 0.1)(i))
  assert.equal(print(third).clippedSeconds, 1)
  assert.equal(print(sine(100, 0.5)).clippedSeconds, 0)
})

test('a copy is found at any level and phase; a rumble that all microphones share is no likeness', () => {
  const voice = sum(noise(1, 0.01), sine(700, 0.01))
  const rumble = sine(60, 0.3)
  const { prints } = heard([
    sum(voice, noise(11, 1e-5)),
    sum((i) => -0.3 * voice(i), noise(12, 1e-5)),
    sum(noise(2, 0.001), rumble),
    sum(noise(3, 0.001), rumble),
    silence,
  ])
  assert.equal(prints[0]!.likeness?.peerChannelIndex, 2)
  assert.ok(prints[0]!.likeness!.score < -0.99, JSON.stringify(prints[0]!.likeness))
  assert.equal(prints[1]!.likeness?.peerChannelIndex, 1)
  for (const c of [2, 3, 4]) assert.equal(prints[c]!.likeness, undefined, `channel ${c + 1}`)
})

test('no more than a part of a second is left over, and nothing is measured while nobody listens', () => {
  assert.equal(heard([silence], 3).seconds, 3)
  const format = { channels: 40, format: 'S16_LE', rate: RATE } as const
  const accumulator = new Accumulator(format, { clipDbfs: -1, seconds: 1 })
  const second = pcm(format, RATE, [])
  accumulator.add(second, 0)
  assert.deepEqual(accumulator.slices(), [])
  accumulator.listen(true)
  accumulator.add(second, 0)
  const slices = accumulator.slices()
  assert.deepEqual([slices.length, slices[0]!.channels.length, slices[0]!.seconds], [1, 40, 1])
  accumulator.listen(false)
  accumulator.add(second, 0)
  assert.deepEqual(accumulator.slices(), [])
})
