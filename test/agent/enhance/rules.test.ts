import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { enhancementBytes, monoMix, voiceFilters } from '../../../src/agent/enhance/chain.rules.ts'
import { embeddedWasm } from '../../../src/agent/enhance/embedded.rules.ts'
import { createRealFft } from '../../../src/agent/enhance/fft.rules.ts'
import {
  aimOf,
  firstLevel,
  glideTo,
  type Heard,
  hear,
  loudnessDetails,
  met,
  nextLevel,
  parseLoudness,
  shortfall,
  together,
} from '../../../src/agent/enhance/loudness.rules.ts'
import { EMBEDDED_MODEL, modelOf } from '../../../src/agent/enhance/model.rules.ts'
import { onnxMetadata, spectrumModel } from '../../../src/agent/enhance/onnx.rules.ts'
import { createProgress } from '../../../src/agent/enhance/progress.rules.ts'
import { createSpectrum, HOP } from '../../../src/agent/enhance/spectrum.rules.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { RenditionDetails } from '../../../src/wire/recordings.ts'
import { only } from './kit.ts'

const all = Enhancement.parse({})
const wave = (size: number): Float64Array => Float64Array.from({ length: size }, (_, i) => Math.sin(i * i * 0.01) + 0.3)

for (const size of [8, 512, 960])
  test(`the transform of ${size} samples is the sum it stands for, and goes back`, () => {
    const [x, bins, back] = [wave(size), new Float64Array(size + 2), new Float64Array(size)]
    const fft = createRealFft(size)
    fft.forward(x, bins)
    for (let k = 0; k <= size / 2; k++) {
      const sum = (part: (angle: number) => number) =>
        x.reduce((s, v, i) => s + v * part((2 * Math.PI * k * i) / size), 0)
      assert.ok(Math.abs(bins[2 * k]! - sum(Math.cos)) < 1e-8)
      assert.ok(Math.abs(bins[2 * k + 1]! + sum(Math.sin)) < 1e-8)
    }
    fft.inverse(bins, back)
    assert.ok(back.every((v, i) => Math.abs(v - x[i]!) < 1e-12))
  })

test('there is no transform of a length with large prime factors', () => {
  assert.throws(() => createRealFft(14), /no transform/)
})

test('a spectrum that is not touched gives the sound again, one hop later', () => {
  const { analyse, synthesise } = createSpectrum()
  const sound = Float32Array.from(wave(10 * HOP))
  for (let at = 0; at < sound.length; at += HOP) {
    const got = synthesise(analyse(sound.subarray(at, at + HOP)))
    const due = at === 0 ? new Float32Array(HOP) : sound.subarray(at - HOP, at)
    assert.ok(got.every((v, i) => Math.abs(v - due[i]!) < 1e-5))
  }
})

test('the embedded model says what it is', () => {
  const file = path.resolve(import.meta.dirname, '../../../models/small-deep-denoiser.onnx')
  const { erbNorm, specNorm, stateSize } = spectrumModel(onnxMetadata(fs.readFileSync(file)))
  assert.deepEqual([erbNorm.length, specNorm.length, stateSize], [48, 1, 2884])
})

test('a model that does not say all it must is refused with what is missing', () => {
  const good = { sample_rate: '48000', n_fft: '960', hop_length: '480', window_type: 'vorbis' }
  const rest = { erb_norm_init: '-60,-60', spec_norm_init: '0', state_size: '5' }
  const model = (changes: object) => spectrumModel(new Map(Object.entries({ ...good, ...rest, ...changes })))
  assert.deepEqual(model({}), { erbNorm: [-60, -60], specNorm: [0], stateSize: 5 })
  assert.throws(() => model({ n_fft: '512' }), /n_fft is 512, expected 960/)
  assert.throws(() => model({ state_size: '' }), /state_size is missing or unusable/)
  assert.throws(() => model({ erb_norm_init: '1,x' }), /erb_norm_init is missing or unusable/)
  assert.throws(() => model({ state_size: '2' }), /state has 2 numbers/)
  assert.throws(() => spectrumModel(new Map()), /sample_rate is unset/)
})

test('bytes that are no ONNX file are refused, whatever they are', () => {
  for (const bytes of [Buffer.alloc(30, 0xff), Buffer.from([0x0b, 1, 2]), Buffer.from([0x80])])
    assert.throws(() => onnxMetadata(bytes), /not an ONNX file/)
  assert.equal(onnxMetadata(Buffer.alloc(0)).size, 0)
})

test('a script without a module is no source of one', () => {
  assert.throws(() => embeddedWasm('export default 1'), /no WebAssembly/)
})

test('the model of the settings is named after its file', () => {
  assert.equal(modelOf(undefined, undefined), EMBEDDED_MODEL)
  assert.deepEqual(modelOf('/srv/Better.onnx', 'AB'), { file: '/srv/Better.onnx', name: 'Better', sha256: 'ab' })
})

test('mono is the mean of what the job takes', () => {
  assert.deepEqual(monoMix(undefined, 2), [
    { gain: 0.5, source: 0 },
    { gain: 0.5, source: 1 },
  ])
  const both = [
    { gain: 0.5, source: 0 },
    { gain: 0.5, source: 2 },
  ]
  assert.deepEqual(monoMix([both, both], 3), both)
  assert.deepEqual(monoMix([[{ gain: 1, source: 3 }], []], 4), [{ gain: 1, source: 3 }])
  assert.deepEqual(monoMix([[]], 4), [])
})

test('the stages come in the order of the contract', () => {
  const on = { enabled: true }
  const chain = only({ compressor: on, deesser: on, highpass: on, lowpass: on })
  const names = voiceFilters(chain).map((filter) => filter.split('=')[0])
  assert.deepEqual([...new Set(names)], ['highpass', 'lowpass', 'deesser', 'acompressor'])
  assert.deepEqual(voiceFilters(only({})), [])
})

test('an enhancement needs 24 bits of 48 kHz mono on the disk, or nothing', () => {
  // With what is heard around a part.
  assert.equal(enhancementBytes(3600, all), 518_400_000 + 2.1 * 144_000)
  assert.equal(enhancementBytes(3600, only({})), 0)
})

const SUMMARY = (i: string, peak: string) => `x Summary:

  Integrated loudness:
    I:         ${i} LUFS
    Threshold: -31.0 LUFS

  Loudness range:
    LRA:         3.4 LU
    LRA low:   -24.0 LUFS

  True peak:
    Peak:       ${peak} dBFS`

test('the last summary of a measurement counts', () => {
  const said = SUMMARY('-70.0', '-inf') + SUMMARY('-20.9', '1.2')
  assert.deepEqual(parseLoudness(said), {
    integratedLufs: -20.9,
    lowLufs: -24,
    rangeLu: 3.4,
    truePeakDbtp: 1.2,
  })
  assert.throws(() => parseLoudness('Press [q] to stop'), /no loudness was measured/)
  assert.throws(() => parseLoudness(SUMMARY('nan', '1')), /no loudness/)
})

test('what a rendition tells about silence is allowed on the wire', () => {
  const loudness = loudnessDetails(parseLoudness(SUMMARY('-70.0', '-inf')))
  assert.deepEqual(RenditionDetails.parse({ loudness }).loudness, { integratedLufs: -70, truePeakDbtp: -200 })
})

const measured = (integratedLufs: number, truePeakDbtp: number) => ({
  integratedLufs,
  lowLufs: integratedLufs - 4,
  rangeLu: 5,
  truePeakDbtp,
})

/** Of the first part of a take, or of the whole. */
const FIRST = { before: undefined, seconds: 60 }

test('gain is linear where nothing reaches the ceiling, limited where something does, and bounded', () => {
  const aim = aimOf(all, measured(-24, -20), FIRST)!
  assert.deepEqual(firstLevel(aim, measured(-24, -20)), { ceilingDb: undefined, gainDb: 8 })
  assert.deepEqual(firstLevel(aim, measured(-24, -5)), { ceilingDb: -1.8, gainDb: 8 })
  assert.equal(firstLevel(aim, measured(-55, -50)).gainDb, 30)
  assert.equal(aimOf(all, measured(-60.1, -40), FIRST), undefined)
  assert.equal(aimOf(only({}), measured(-24, -20), FIRST), undefined)
})

test('speakers too far apart are brought together by a slow compressor, which later parts keep', () => {
  const wide = { integratedLufs: -24, lowLufs: -43, rangeLu: 20, truePeakDbtp: -5 }
  const aim = aimOf(all, wide, FIRST)!
  const { rider } = firstLevel(aim, wide)
  assert.ok(rider && rider.ratio > 20 / 11 && rider.ratio < 3 && rider.thresholdDb === -46)
  assert.ok(rider.makeupDb > 0 && rider.makeupDb < 22 * (1 - 1 / rider.ratio) + 1e-9)
  const before = { gainDb: 8, heard: [{ lufs: -24, seconds: 60 }], rider }
  assert.deepEqual(
    firstLevel(aimOf(all, measured(-24, -30), { before, seconds: 60 })!, measured(-24, -30)).rider,
    rider,
  )
  const plain = { gainDb: 8, heard: [{ lufs: -24, seconds: 60 }] }
  assert.equal(firstLevel(aimOf(all, wide, { before: plain, seconds: 60 })!, wide).rider, undefined)
  const silent = { integratedLufs: -50, lowLufs: Number.NEGATIVE_INFINITY, rangeLu: 20, truePeakDbtp: -40 }
  assert.equal(firstLevel(aimOf(all, silent, FIRST)!, silent).rider, undefined)
})

test('what a limiter or an encoder took is given back until the aim is met', () => {
  const aim = aimOf(all, measured(-24, -5), FIRST)!
  const level = { ceilingDb: -1.8, gainDb: 8 }
  assert.equal(met(aim, level, measured(-16.1, -1.7)), true)
  assert.equal(met(aim, level, measured(-17, -1.7)), false)
  assert.equal(met(aim, level, measured(-16, -1)), false)
  assert.equal(met(aim, { ...level, gainDb: 30 }, measured(-20, -1.7)), true)
  assert.deepEqual(nextLevel(aim, level, measured(-17, -1.7)), { ceilingDb: -1.8, gainDb: 9 })
  assert.ok(Math.abs(nextLevel(aim, level, measured(-16, -1)).ceilingDb! + 2.4) < 1e-9)
})

const near = (got: number, due: number): void => assert.ok(Math.abs(got - due) < 0.01, `${got} instead of ${due}`)

test('parts are together as loud as the mean of their energies, by their lengths; pauses do not count', () => {
  near(together([{ lufs: -23, seconds: 5 }]), -23)
  const two = [
    { lufs: -20, seconds: 60 },
    { lufs: -26, seconds: 20 },
  ]
  near(together(two), -20.9)
  near(together([...two, { lufs: -40, seconds: 600 }]), -20.9)
})

test('the list of what was heard is as long as there are loudnesses, however long the take', () => {
  let heard: Heard[] = []
  for (let i = 0; i < 1000; i++) heard = hear(heard, { lufs: -20 - (i % 70) / 10, seconds: 10 })
  assert.ok(heard.length <= 8)
  assert.equal(
    heard.reduce((sum, { seconds }) => sum + seconds, 0),
    10_000,
  )
  assert.deepEqual(hear(heard, { lufs: -61, seconds: 10 }), heard)
})

test('a later part has the gain of the take so far: more of the same leaves it where it stands', () => {
  const before = { gainDb: 8, heard: [{ lufs: -24, seconds: 60 }] }
  const level = (lufs: number) =>
    firstLevel(aimOf(all, measured(lufs, -30), { before, seconds: 60 })!, measured(lufs, -30))
  assert.equal(level(-24.3).gainDb, 8)
  near(level(-20).gainDb, 5.56)
  near(level(-28).gainDb, 9.56)
  // A pause, and silence.
  assert.deepEqual([level(-40).gainDb, level(-70).gainDb], [8, 8])
  // Nothing was loud enough to count, and nothing is.
  const none = { before: { gainDb: 30, heard: [] }, seconds: 60 }
  assert.equal(firstLevel(aimOf(all, measured(-70, -80), none)!, measured(-70, -80)).gainDb, 30)
})

test('the way to another gain begins at the one before and is slow, however short the part', () => {
  const before = { gainDb: 8, heard: [] }
  const aim = (seconds: number) => aimOf(all, measured(-20, -9), { before, seconds })!
  const to = (gainDb: number, seconds: number) =>
    glideTo(aim(seconds), { ceilingDb: undefined, gainDb }, measured(-20, -9))
  assert.deepEqual(to(5, 60), { ceilingDb: -1.8, fromDb: 8, gainDb: 5 })
  assert.deepEqual(to(5, 1), { ceilingDb: -1.8, fromDb: 8, gainDb: 7 })
  assert.deepEqual(to(20, 2), { ceilingDb: -1.8, fromDb: 8, gainDb: 10 })
  assert.deepEqual(to(8, 1), { ceilingDb: undefined, gainDb: 8 })
})

test('only what was asked for and missed is told', () => {
  const aim = aimOf(all, measured(-24, -5), FIRST)!
  const later = { ...aim, before: { gainDb: 8, heard: [] } }
  assert.equal(shortfall(all, aim, measured(-16.4, -1.3)), undefined)
  assert.match(shortfall(all, aim, measured(-20, -1.3))!, /-20 LUFS/)
  assert.equal(shortfall(all, later, measured(-20, -1.3)), undefined)
  assert.match(shortfall(all, later, measured(-20, -1))!, /-1 dBTP/)
  assert.match(shortfall(all, undefined, measured(-70, -90))!, /left as it is/)
  assert.equal(shortfall(only({}), undefined, measured(-70, -90)), undefined)
})

test('progress never goes back, whatever is told, and says each percent once', () => {
  const told: number[] = []
  const { done, mastered, shaped } = createProgress(10, all, (percent) => told.push(percent))
  for (const seconds of [0, 5, 3, 10, 12]) shaped(seconds)
  for (const round of [1, 2, 9]) for (const half of [0, 1] as const) for (const s of [0, 10]) mastered(round, half, s)
  done()
  assert.deepEqual(
    told,
    [...new Set(told)].sort((a, b) => a - b),
  )
  assert.deepEqual([told[0], told.at(-1)], [0, 100])
})
