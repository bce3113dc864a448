import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as path from 'node:path'
import { test } from 'node:test'
import { METER, parseLoudness } from '../../../src/agent/enhance/loudness.rules.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { bench, FLOAT_WAV, only, WAV } from './kit.ts'
import { hum, noisy, SPEECH, scaled, TALK } from './material.ts'
import { bandDb, lagOf, pauseReduction, peakDb, RATE, rmsDb, type Samples, toneDb } from './measures.ts'

const tone = (hz: number, seconds: number, amplitude: number): Samples =>
  Float32Array.from({ length: seconds * RATE }, (_, i) => amplitude * Math.sin((2 * Math.PI * hz * i) / RATE))

const sum = (...sounds: Samples[]): Samples => sounds[0]!.map((_, i) => sounds.reduce((all, x) => all + x[i]!, 0))

/** What a second opinion says of a finished file. */
function loudnessOf(file: string) {
  const args = ['-nostdin', '-hide_banner', '-nostats', '-i', file, '-af', METER, '-f', 'null', '-']
  return parseLoudness(execFileSync('sh', ['-c', 'exec "$0" "$@" 2>&1', 'ffmpeg', ...args], { encoding: 'utf8' }))
}

const probe = (file: string): string[] =>
  execFileSync('ffprobe', ['-v', 'error', '-show_entries', 'stream=sample_rate,channels', '-of', 'csv=p=0', file], {
    encoding: 'utf8',
  })
    .trim()
    .split(',')

test('high-pass: the 50 Hz of the mains are gone, a voice is not touched', async (t) => {
  const sound = sum(tone(50, 3, 0.1), tone(200, 3, 0.1))
  const b = bench(t, [sound])
  const { sound: off } = await b.run(only({}))
  const { sound: on } = await b.run(only({ highpass: { enabled: true } }))
  assert.ok(Math.abs(toneDb(off, 50) + 20) < 0.5)
  assert.ok(toneDb(on.subarray(RATE), 50) < -50, `${toneDb(on.subarray(RATE), 50)}`)
  assert.ok(Math.abs(toneDb(on.subarray(RATE), 200) + 20) < 0.5)
})

test('high-pass: its corner is where the profile says', async (t) => {
  const { sound } = await bench(t, [tone(300, 2, 0.1)]).run(only({ highpass: { enabled: true, hz: 300 } }))
  assert.ok(Math.abs(toneDb(sound.subarray(RATE), 300) + 23) < 0.5)
})

test('low-pass: what is above its corner is taken away', async (t) => {
  const sound = sum(tone(1000, 2, 0.1), tone(16_000, 2, 0.1))
  const { sound: got } = await bench(t, [sound]).run(only({ lowpass: { enabled: true, hz: 8000 } }))
  assert.ok(Math.abs(toneDb(got, 1000) + 20) < 0.5)
  assert.ok(toneDb(got, 16_000) < -40, `${toneDb(got, 16_000)}`)
})

test('de-esser: sibilants are softer, the rest is not', async (t) => {
  const sound = sum(scaled(SPEECH.flite!(), 0.1))
  const b = bench(t, [sound])
  const { sound: got } = await b.run(only({ deesser: { enabled: true, intensity: 1 } }))
  const [low, high] = [
    bandDb(sound, 200, 3000) - bandDb(got, 200, 3000),
    bandDb(sound, 5000, 12_000) - bandDb(got, 5000, 12_000),
  ]
  assert.ok(high > 3 && high > low + 2, `low ${low.toFixed(1)} dB, high ${high.toFixed(1)} dB`)
})

test('compressor: 3 to 1 above -18 dB, nothing below', async (t) => {
  const sound = Float32Array.from([...tone(500, 2, 0.05), ...tone(500, 2, 0.8)])
  const { sound: got } = await bench(t, [sound]).run(only({ compressor: { enabled: true } }))
  const [quiet, loud] = [got.subarray(RATE, 2 * RATE), got.subarray(3 * RATE)]
  assert.ok(Math.abs(toneDb(quiet, 500) - toneDb(sound.subarray(RATE, 2 * RATE), 500)) < 0.5)
  const reduced = -1.94 - toneDb(loud, 500)
  assert.ok(reduced > 8 && reduced < 13, `${reduced.toFixed(1)} dB`)
})

test('gate: what is below its threshold is silenced, what is above is not', async (t) => {
  const sound = Float32Array.from([...tone(500, 2, 0.2), ...tone(500, 2, 0.002)])
  const { sound: got } = await bench(t, [sound]).run(only({ gate: { enabled: true, thresholdDb: -40 } }))
  assert.ok(Math.abs(toneDb(got.subarray(RATE, 2 * RATE), 500) - toneDb(sound.subarray(RATE, 2 * RATE), 500)) < 0.5)
  assert.ok(toneDb(got.subarray(3 * RATE), 500) < -54 - 15, `${toneDb(got.subarray(3 * RATE), 500)}`)
})

test('denoiser: pauses are at least 15 dB quieter, in time with the take', async (t) => {
  const clean = SPEECH['espeak-ng']!()
  const given = noisy(clean, 'pink', 10)
  const b = bench(t, [given])
  for (const engine of ['rnnoise', 'deepfilternet3']) {
    const { details, sound } = await b.run(only({ denoise: { enabled: true, engine } }))
    assert.equal(details.denoiser?.engine, engine)
    assert.equal(sound.length, given.length)
    assert.ok(pauseReduction(clean, given, sound) >= 15)
    assert.ok(Math.abs(lagOf(clean, sound, 1000)) < 480)
  }
})

const MP3 = { mp3: ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3'] }
const clicks = (x: Samples): Samples => x.map((v, i) => (i % 70_000 < 20 ? 0.95 : v))
const HARD: [string, () => Samples][] = [
  ['speech', () => noisy(SPEECH.flite!(), 'pink', 30)],
  ['quiet speech', () => scaled(SPEECH['espeak-ng']!(), 0.006)],
  ['speech with clicks at full scale', () => clicks(scaled(SPEECH.flite!(), 0.02))],
  [
    'speech that is too loud already',
    () => scaled(SPEECH['espeak-ng']!(), 0.5).map((v) => Math.max(-1, Math.min(1, v))),
  ],
  ['hum', () => scaled(hum(5 * RATE), 0.1)],
  ['a loud and a soft speaker', () => SPEECH.flite!().map((v, i, all) => v * (i < all.length / 2 ? 2 : 0.1))],
]

for (const [what, sound] of HARD)
  test(`loudness of ${what} is met, and no peak is above`, async (t) => {
    const b = bench(t, [sound()])
    for (const [codec, codecArgs] of Object.entries(what.startsWith('speech') ? { ...MP3, wav: WAV } : { wav: WAV })) {
      const output = path.join(b.dir, `enhanced.${codec}`)
      const { details, file } = await b.run(only({ loudnorm: { enabled: true } }), { codecArgs, output })
      const { integratedLufs, truePeakDbtp } = loudnessOf(file)
      assert.ok(Math.abs(integratedLufs + 16) <= 0.5, `${codec}: ${integratedLufs} LUFS`)
      assert.ok(truePeakDbtp <= -1.5 + 0.3, `${codec}: ${truePeakDbtp} dBTP`)
      assert.deepEqual(details.loudness, { integratedLufs, truePeakDbtp })
      assert.equal(details.enhancementFailure, undefined)
    }
  })

test('loudness: another target, on two channels, with a gate behind it', async (t) => {
  const chain = only({
    gate: { enabled: true, thresholdDb: -50 },
    loudnorm: { enabled: true, targetI: -23, truePeak: -6 },
  })
  const { file } = await bench(t, [noisy(SPEECH.flite!(), 'pink', 20)]).run(chain, {
    codecArgs: WAV,
    outputChannels: 2,
  })
  const { integratedLufs, truePeakDbtp } = loudnessOf(file)
  assert.ok(Math.abs(integratedLufs + 23) <= 0.5, `${integratedLufs} LUFS`)
  assert.ok(truePeakDbtp <= -6 + 0.3, `${truePeakDbtp} dBTP`)
  assert.deepEqual(probe(file), ['48000', '2'])
})

/** Two people by turns, the second so much quieter, with a pause after each. */
const turns = (quieterDb: number): Samples => {
  const [near, far] = [scaled(TALK.flite!(), 0.08), scaled(TALK['espeak-ng']!(), 0.08 * 10 ** (-quieterDb / 20))]
  const pause = new Float32Array(RATE / 2)
  return Float32Array.from([near, pause, far, pause, near, pause, far, pause].flatMap((x) => [...x]))
}

for (const [quieterDb, ranges] of [
  [14, [11, 7]],
  [20, [11]],
] as const)
  test(`speakers ${quieterDb} dB apart: the range is what the profile says, and the loudness too`, async (t) => {
    const b = bench(t, [turns(quieterDb)])
    const { rangeLu: given } = loudnessOf(b.request(only({})).take.file)
    for (const lra of ranges) {
      const { details, file } = await b.run(only({ loudnorm: { enabled: true, lra } }))
      const { integratedLufs, rangeLu } = loudnessOf(file)
      t.diagnostic(`${given} LU become ${rangeLu} LU of ${lra}`)
      assert.ok(given > 11 && rangeLu <= lra + 1, `${given} LU became ${rangeLu} LU`)
      assert.ok(Math.abs(integratedLufs + 16) <= 0.5, `${integratedLufs} LUFS`)
      assert.equal(details.enhancementFailure, undefined)
    }
  })

test('a range that is no wider than the profile says stays as it is', async (t) => {
  const b = bench(t, [turns(20)])
  const { rangeLu: given } = loudnessOf(b.request(only({})).take.file)
  const { file } = await b.run(only({ loudnorm: { enabled: true, lra: 50 } }))
  assert.ok(Math.abs(loudnessOf(file).rangeLu - given) < 1)
})

test('silence stays silence, and the details say so', async (t) => {
  for (const amplitude of [0, 0.0003]) {
    const b = bench(t, [tone(900, 3, amplitude)])
    const { details, sound } = await b.run(Enhancement.parse({}), { codecArgs: WAV })
    assert.ok(sound.every(Number.isFinite))
    assert.ok(rmsDb(sound) < -60, `${rmsDb(sound)}`)
    assert.match(details.enhancementFailure ?? '', /quieter than -60 LUFS/)
    assert.equal(details.loudness?.integratedLufs, -70)
  }
})

test('a whisper is not lifted more than 30 dB, and the details say what it is', async (t) => {
  const b = bench(t, [scaled(SPEECH.flite!(), 0.0015)])
  const { details, sound } = await b.run(only({ loudnorm: { enabled: true } }))
  const lifted = rmsDb(sound) - rmsDb(scaled(SPEECH.flite!(), 0.0015))
  assert.ok(lifted > 29 && lifted < 30.5, `${lifted}`)
  assert.match(details.enhancementFailure ?? '', /^loudness is -2\d/)
})

test('the whole chain as it is by default: 48 kHz, of the length of the take, in time, loud enough, not clipped', async (t) => {
  const clean = SPEECH.flite!()
  const given = noisy(clean, 'fan', 10)
  const b = bench(t, [given, given.map((v) => v / 2)])
  const output = path.join(b.dir, 'enhanced.flac')
  const codecArgs = ['-c:a', 'flac', '-sample_fmt', 's16', '-f', 'flac']
  const { details, durationSeconds, file, sound } = await b.run(Enhancement.parse({}), { codecArgs, output })
  assert.deepEqual(probe(file), ['48000', '1'])
  assert.equal(sound.length, clean.length)
  assert.equal(durationSeconds, clean.length / RATE)
  assert.ok(Math.abs(lagOf(clean, sound, 1000)) < 480)
  assert.ok(Math.abs(details.loudness!.integratedLufs + 16) <= 0.5)
  assert.ok(peakDb(sound) < -1)
  assert.equal(details.denoiser?.model, 'small-deep-denoiser')
  assert.deepEqual(b.leftovers(), [])
})

test('the mix of the job is heard: selected channels at their gains, and nothing else', async (t) => {
  const b = bench(t, [tone(300, 2, 0.4), tone(500, 2, 0.4), tone(700, 2, 0.4)])
  const mixes = [
    [
      { gain: 0.5, source: 0 },
      { gain: 0.5, source: 2 },
    ],
    [],
  ]
  const { sound } = await b.run(only({ highpass: { enabled: true } }), { codecArgs: FLOAT_WAV, mixes })
  const [a, none, c] = [300, 500, 700].map((hz) => toneDb(sound.subarray(RATE), hz)) as [number, number, number]
  assert.ok(Math.abs(a + 13.98) < 0.3 && Math.abs(c + 13.98) < 0.3, `${a} ${c}`)
  assert.ok(none < -80, `${none}`)
})

test('a part of a take is exactly that part', async (t) => {
  const sound = noisy(SPEECH.flite!(), 'pink', 20)
  const b = bench(t, [sound])
  const take = { ...b.request(only({})).take, fromFrame: 50_001, toFrame: 120_000 }
  const { sound: part } = await b.run(only({}), { take })
  assert.equal(part.length, 69_999)
  // 16 bits of the take, 24 of the intermediate file.
  const worst = part.reduce((most, v, i) => Math.max(most, Math.abs(v - sound[50_001 + i]!)), 0)
  assert.ok(worst < 1 / 16_384, `${worst}`)
})
