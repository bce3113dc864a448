// What counts the samples of a capture has to be hard of neither hearing nor counting itself.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { describe, test } from 'node:test'
import { wavHeader } from '../../src/agent/audio/wav.rules.ts'
import { until } from '../kit/whole.ts'
import { counted } from './counted.rules.ts'
import { assertCounted } from './counted.ts'
import { RATE } from './signal.ts'

const CHANNELS = 4
const FRAMES = 100_000

/** A take that begins with frame 7 of the card, changed by `spoil`. */
function judged(spoil: (samples: Int32Array) => Int32Array): number {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-counted-'))
  const file = path.join(dir, 'take.wav')
  try {
    const samples = spoil(Int32Array.from({ length: FRAMES * CHANNELS }, (_, i) => counted(7 * CHANNELS + i)))
    const shape = { channels: CHANNELS, dataBytes: samples.byteLength, format: 'S32_LE', rate: RATE } as const
    fs.writeFileSync(file, Buffer.concat([wavHeader(shape), Buffer.from(samples.buffer)]))
    return assertCounted(file, CHANNELS)
  } finally {
    fs.rmSync(dir, { recursive: true })
  }
}

const without = (samples: Int32Array, from: number, to: number): Int32Array =>
  Int32Array.from([...samples.subarray(0, from), ...samples.subarray(to)])

describe('samples that count', () => {
  test('a take from any frame on is whole', () =>
    assert.equal(
      judged((samples) => samples),
      FRAMES,
    ))

  const at = 80_000 * CHANNELS
  const SPOILED: Record<string, (samples: Int32Array) => Int32Array> = {
    'one frame is missing': (s) => without(s, at, at + CHANNELS),
    'the first sample is missing, and the last with its channels': (s) => without(s, 0, 1).subarray(0, -3).slice(),
    'one frame is silent': (s) => s.fill(0, at, at + CHANNELS),
    'it begins with silence': (s) => s.fill(0, 0, CHANNELS),
    'one frame is there twice': (s) => s.copyWithin(at, at - CHANNELS),
    'two channels are swapped': (s) => s.with(at, s[at + 1]!).with(at + 1, s[at]!),
    'one bit is another, the least': (s) => s.with(at + 2, s[at + 2]! ^ 1),
  }
  for (const [what, spoil] of Object.entries(SPOILED))
    test(what, () => assert.throws(() => judged(spoil), /instead of|begins with/))

  test('a card that is not read in time loses frames and says so', async (t) => {
    const counter = path.resolve(import.meta.dirname, 'counter.ts')
    const args = ['-t', 'raw', '-f', 'S32_LE', '-r', String(RATE), '-c', String(CHANNELS), '-']
    const card = spawn(process.execPath, [counter, ...args], { stdio: 'pipe' })
    t.after(async () => {
      card.kill()
      if (card.exitCode === null && card.signalCode === null) await once(card, 'close')
    })
    let said = ''
    card.stderr.setEncoding('utf8').on('data', (words: string) => {
      said += words
    })
    let [bytes, place, skipped]: [Buffer, number, number] = [Buffer.alloc(0), 0, 0]
    const hear = (more: Buffer) => {
      bytes = Buffer.concat([bytes, more])
      for (; bytes.length >= 4; bytes = bytes.subarray(4)) {
        const sample = bytes.readInt32LE(0)
        skipped += sample - place
        place = sample + 1
      }
    }
    // What a blocked program held in its hand comes when it is read again.
    const read = () => {
      const chunk = card.stdout.read() as Buffer | null
      if (chunk) hear(chunk)
    }
    await until('the first samples', () => card.stdout.readableLength > 0)
    await new Promise((resolve) => setTimeout(resolve, 2000))
    await until('words of a loss', () => {
      read()
      return said.includes('overrun!!!')
    })
    await until('samples behind it', () => {
      read()
      return skipped > 0
    })
    assert.equal(skipped % CHANNELS, 0, 'whole frames')
    // And the buffer, each time.
    const told = [...said.matchAll(/at least ([\d.]+) ms/g)].reduce((sum, [, ms]) => sum + Number(ms) + 500, 0)
    assert.ok(Math.abs(told - (skipped / CHANNELS / RATE) * 1000) < 1, `${told} ms told, ${skipped} samples skipped`)
  })
})
