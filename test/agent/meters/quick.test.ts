import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Accumulator } from '../../../src/agent/meters/accumulator.ts'
import { pcm, silence, sine } from './sound.ts'

const RATE = 22_050
const format = { channels: 2, format: 'S16_LE', rate: RATE } as const
const options = { clipDbfs: -1, seconds: 1 }

test('quick levels are those of their quarter, four a second at any rate, and change nothing of the whole ones', () => {
  const [plain, paced] = [new Accumulator(format, options), new Accumulator(format, options)]
  paced.pace(4)
  const loud = pcm(format, RATE, [sine(100, 0.5, RATE), silence])
  const quiet = pcm(format, RATE, [silence, sine(100, 0.5, RATE)])
  const cut = loud.length / 2
  const bytes = Buffer.concat([loud.subarray(0, cut), quiet.subarray(cut)])
  const whole = plain.add(bytes, 1000)
  const all = paced.add(bytes, 1000)
  const quick = all.filter((measurement) => measurement.quick)
  assert.deepEqual(
    all.filter((measurement) => !measurement.quick),
    whole,
  )
  assert.equal(quick.length, 4)
  const first = quick.map(({ levels }) => levels[0]!.peakDbfs)
  assert.deepEqual([first[0], first[3]], [-6, -160])
  assert.deepEqual(quick[3]?.levels[1], {
    channelIndex: 2,
    clipping: false,
    label: 'Input 2',
    peakDbfs: -6,
    rmsDbfs: -9,
  })
  paced.pace(0)
  assert.deepEqual(paced.add(bytes, 2000), plain.add(bytes, 2000))
})
