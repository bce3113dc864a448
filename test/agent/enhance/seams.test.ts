import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import type { Enhanced } from '../../../src/agent/enhance/enhance.ts'
import { type Levelled, METER, parseLoudness } from '../../../src/agent/enhance/loudness.rules.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { type Bench, bench, only } from './kit.ts'
import { noisy, TALK, writeWav } from './material.ts'
import { RATE, rmsDb, type Samples } from './measures.ts'

const LEAD = 2 * RATE
const TAIL = RATE / 10
const ON = { enabled: true }

/** Both voices in turn, `seconds` long. */
function talk(seconds: number): Samples {
  const voices = Object.values(TALK).map((speak) => speak())
  const once = voices.flatMap((voice) => [...voice])
  return Float32Array.from({ length: seconds * RATE }, (_, i) => once[i % once.length]!)
}

type Part = Enhanced & { file: string; sound: Samples }

/** As the chunks of a take are made: one after the other, with what is heard around each. */
async function inParts(b: Bench, chain: Enhancement, total: number, part: number, hears = true): Promise<Part[]> {
  const parts: Part[] = []
  let before: Levelled | undefined
  for (let from = 0; from < total; from += part) {
    const toFrame = Math.min(from + part, total)
    const around = { heardFrom: Math.max(0, from - LEAD), heardTo: Math.min(total, toFrame + TAIL) }
    const take = { ...b.request(chain).take, fromFrame: from, toFrame, ...(hears ? around : {}) }
    const output = path.join(b.dir, `${parts.length}.wav`)
    const made = await b.run(chain, { output, take, ...(before ? { before } : {}) })
    before = made.levelled
    parts.push(made)
  }
  return parts
}

const joined = (parts: Part[]): Samples => Float32Array.from(parts.flatMap(({ sound }) => [...sound]))

function loudnessOf(dir: string, sound: Samples): number {
  const file = path.join(dir, 'joined.wav')
  writeWav(file, sound)
  const args = ['-nostdin', '-hide_banner', '-nostats', '-i', file, '-af', METER, '-f', 'null', '-']
  const said = execFileSync('sh', ['-c', 'exec "$0" "$@" 2>&1', 'ffmpeg', ...args], { encoding: 'utf8' })
  return parseLoudness(said).integratedLufs
}

const worst = (values: number[]): number => Math.max(...values)

/** What is wrong in 0.2 s around each seam, in dB of the whole sound. */
function residuesDb(due: Samples, got: Samples, part: number): number[] {
  return Array.from({ length: due.length / part - 1 }, (_, k) => {
    const around = (sound: Samples) => sound.subarray((k + 1) * part - 0.1 * RATE, (k + 1) * part + 0.1 * RATE)
    const other = around(got)
    return rmsDb(around(due).map((v, i) => v - other[i]!)) - rmsDb(due)
  })
}

for (const engine of ['rnnoise', 'deepfilternet3'])
  test(`${engine}: parts that are joined are the take that was enhanced whole, also at their seams`, async (t) => {
    const given = noisy(talk(9), 'fan', 15)
    const part = 3 * RATE
    const b = bench(t, [given])
    const chain = only({ compressor: ON, denoise: { ...ON, engine }, highpass: ON })
    const { sound: whole } = await b.run(chain)
    const got = joined(await inParts(b, chain, given.length, part))
    assert.equal(got.length, given.length)
    const alone = joined(await inParts(b, chain, given.length, part, false))
    const [heard, unheard] = [got, alone].map((sound) => residuesDb(whole, sound, part)) as [number[], number[]]
    assert.ok(worst(heard) < -25, `${heard}`)
    // Without what is heard around them there is something to find.
    assert.ok(worst(unheard) > worst(heard) + 6, `${unheard} against ${heard}`)
  })

const gainDb = (given: Samples, got: Samples, at: number, seconds: number): number => {
  const [from, to] = [Math.round(at * RATE), Math.round((at + seconds) * RATE)]
  return rmsDb(got.subarray(from, to)) - rmsDb(given.subarray(from, to))
}

test('loud and quiet passages in six chunks: the gain goes on where it stood, and converges', async (t) => {
  const loudness = [0.2, 0.05, 0.2, 0.1, 0.2, 0.06]
  const given = talk(60).map((v, i) => v * loudness[Math.floor(i / (10 * RATE))]!)
  const b = bench(t, [given])
  const chain = only({ loudnorm: { ...ON, targetI: -30, truePeak: -1 } })
  const parts = await inParts(b, chain, given.length, 10 * RATE)
  const got = joined(parts)
  const gains = parts.map(({ levelled }) => levelled!.gainDb)
  for (let k = 1; k < parts.length; k++) {
    assert.ok(Math.abs(gains[k]! - gains[k - 1]!) < 1.5, `${gains}`)
    const at = 10 * k
    const places = [
      [at - 0.02, 0.02, gains[k - 1]!],
      [at, 0.02, gains[k - 1]!],
      [at + 4, 6, gains[k]!],
    ] as const
    for (const [from, seconds, due] of places) {
      const gain = gainDb(given, got, from, seconds)
      assert.ok(Math.abs(gain - due) < 0.2, `at ${from} s: ${gain} dB instead of ${due}`)
    }
  }
  assert.ok(Math.abs(loudnessOf(b.dir, got) + 30) < 2.5, `${loudnessOf(b.dir, got)} LUFS`)
  assert.ok(parts.every(({ details }) => details.enhancementFailure === undefined))
})

test('material of even level is as loud as it should be, chunk by chunk and together', async (t) => {
  const given = talk(40).map((v) => v * 0.15)
  const b = bench(t, [given])
  const parts = await inParts(b, Enhancement.parse({ denoise: { enabled: false } }), given.length, 10 * RATE)
  const first = parts[0]!.details.loudness!.integratedLufs
  assert.ok(Math.abs(first + 16) <= 0.5, `${first} LUFS`)
  const all = loudnessOf(b.dir, joined(parts))
  assert.ok(Math.abs(all + 16) < 1, `${all} LUFS`)
})

test('silence before the first word: what is levelled is the first part that can be heard', async (t) => {
  const given = Float32Array.from([
    ...new Float32Array(3 * RATE),
    ...talk(6).map((v) => v * 0.1),
    ...new Float32Array(3 * RATE),
  ])
  const parts = await inParts(bench(t, [given]), only({ loudnorm: ON }), given.length, 3 * RATE)
  assert.equal(parts[0]!.levelled, undefined)
  assert.match(parts[0]!.details.enhancementFailure!, /left as it is/)
  assert.ok(Math.abs(parts[1]!.details.loudness!.integratedLufs + 16) <= 0.5)
  // A pause at the end changes nothing, and is no failure.
  assert.deepEqual(parts[3]!.levelled, parts[2]!.levelled)
  assert.equal(parts[3]!.details.enhancementFailure, undefined)
  assert.ok(parts[3]!.sound.every((v) => v === 0))
})

test('a chunk that is made again is the same, byte for byte', async (t) => {
  const given = noisy(talk(6), 'fan', 15).map((v, i) => (i < 3 * RATE ? v : v / 3))
  const b = bench(t, [given])
  const chain = Enhancement.parse({ denoise: { engine: 'rnnoise' } })
  const [, once] = await inParts(b, chain, given.length, 3 * RATE)
  const bytes = fs.readFileSync(once!.file)
  const [, again] = await inParts(b, chain, given.length, 3 * RATE)
  assert.ok(fs.readFileSync(again!.file).equals(bytes))
  assert.deepEqual(again!.levelled, once!.levelled)
})

test('a take at another rate is seamless, too', async (t) => {
  const b = bench(t, [new Float32Array(1)])
  const file = path.join(b.dir, 'other.wav')
  const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=44100:duration=4', '-c:a', 'pcm_s16le', file]
  execFileSync('ffmpeg', ['-v', 'error', ...tone])
  const make = async (fromFrame: number, toFrame: number): Promise<Samples> => {
    const around = { heardFrom: Math.max(0, fromFrame - 88_200), heardTo: Math.min(4 * 44_100, toFrame + 4410) }
    return (await b.run(only({ highpass: ON }), { take: { file, fromFrame, toFrame, ...around } })).sound
  }
  const whole = await make(0, 4 * 44_100)
  const got = Float32Array.from([...(await make(0, 88_200)), ...(await make(88_200, 4 * 44_100))])
  assert.equal(got.length, whole.length)
  assert.ok(rmsDb(whole.map((v, i) => v - got[i]!)) - rmsDb(whole) < -80)
})
