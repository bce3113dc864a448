// What three seconds of a device say, and what a running agent tells of its own.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import type { Opening } from '../../../src/agent/capture/bus.ts'
import { judgeLevels } from '../../../src/agent/doctor/level.rules.ts'
import { askAgent, createLevelMemory, levelText } from '../../../src/agent/doctor/levelmemory.ts'
import { takesWaiting } from '../../../src/agent/doctor/takes.ts'
import { lockDirectory } from '../../../src/agent/proc/lock.ts'
import type { AudioLevel } from '../../../src/wire/meters.ts'
import { scratchDir } from '../../kit/scratch.ts'

const QUALITY = {
  broadbandNoiseScore: 0,
  crestFactorDb: 12,
  estimatedSnrDb: 30,
  humScore: 0.1,
  intelligibilityScore: 1,
  noiseScore: 0,
  speechLike: true,
  speechScore: 1,
  staticScore: 0,
  zeroCrossingRate: 0.1,
}
const level = (channelIndex: number, more: Partial<AudioLevel> = {}, quality: object = {}): AudioLevel => ({
  channelIndex,
  clipping: false,
  label: `Input ${channelIndex}`,
  peakDbfs: -12,
  quality: { ...QUALITY, ...quality } as AudioLevel['quality'] & object,
  rmsDbfs: -24,
  ...more,
})
const silent = (channelIndex: number) => level(channelIndex, { peakDbfs: -120, rmsDbfs: -120 })
const like = (channelIndex: number, peerChannelIndex: number, score = 1) =>
  level(channelIndex, {}, { channelCorrelation: { peerChannelIndex, phase: score < 0 ? 'inverted' : 'same', score } })
const judged = (...measured: AudioLevel[][]) => judgeLevels(measured, -90)

test('speech is well; a silent channel beside it is told', () => {
  assert.deepEqual(judged([level(1), level(2)]), {
    message: '2 channels, the loudest peak is -12.0 dBFS',
    status: 'ok',
  })
  assert.match(judged([level(1), silent(2), silent(3), silent(5)]).message, /; channels 2-3, 5 silent$/)
  assert.equal(judged().status, 'skipped')
})

test('silence, clipping, hum and channels with the same sound warn, each with what to do', () => {
  const faults: [AudioLevel[][], RegExp, RegExp][] = [
    [[[silent(1), silent(2)]], /^Silence on every channel$/, /phantom power/],
    [[[level(1, { clipping: true })]], /^Channel 1 clip/, /gain down/],
    [[[level(1, {}, { humScore: 0.9 }), level(2)]], /^Channel 1 hum/, /ground isolator/],
    [[[like(1, 2), like(2, 1)]], /^Channels 1 and 2 carry the same sound$/, /One channel|one channel/],
    [[[like(1, 2, -1), like(2, 1, -1)]], /one of them inverted$/, /mixer/],
  ]
  for (const [measured, words, fix] of faults) {
    const found = judged(...measured)
    assert.equal(found.status, 'warn', found.message)
    assert.match(found.message, words)
    assert.match(found.fix ?? '', fix)
  }
  assert.equal(judged([level(1, {}, { humScore: 0.9 })], [level(1)]).status, 'ok', 'hum that comes and goes is none')
  assert.equal(judged([like(1, 2), like(2, 1)], [like(1, 2, 0.9), level(2)]).status, 'ok')
})

const OPENING: Opening = {
  device: 'hw:CARD=Desk,DEV=0',
  format: { channels: 1, format: 'S16_LE', rate: 48_000 },
  interfaceRef: 'hw:CARD=Desk,DEV=0',
  test: false,
}

test('a running agent answers at its lock: what it has open, and what it measured last', async () => {
  const dir = scratchDir('roomtone-told-')
  assert.equal(await askAgent(dir), undefined, 'none runs')
  const told = createLevelMemory({ meterFlatlineDbfs: -90, meterSampleSeconds: 1 })
  const lock = await lockDirectory(dir, () => levelText(told))
  const asked = async () => (await askAgent(dir))?.findings
  assert.equal((await asked())?.opens.status, 'skipped')
  told.listener.unavailable?.('hw:CARD=Desk,DEV=0', 'Device or resource busy')
  assert.match((await asked())?.opens.fix ?? '', /fuser/)
  told.listener.opened?.(OPENING)
  for (let n = 0; n < 5; n++) told.measured(OPENING, { capturedAt: n, levels: [n < 2 ? silent(1) : level(1)] })
  told.measured(OPENING, { capturedAt: 9, levels: [silent(1)], quick: true })
  const { level: heard, opens } = (await asked()) ?? {}
  assert.deepEqual([opens?.status, heard?.status], ['ok', 'ok'], 'the last three seconds count')
  told.listener.closed?.(OPENING, 'unplugged')
  assert.deepEqual([(await asked())?.opens.status, (await asked())?.level.status], ['fail', 'skipped'])
  lock.close()
})

test('an agent that does not say more is known to run all the same', async () => {
  const dir = scratchDir('roomtone-told-')
  const lock = await lockDirectory(dir)
  assert.deepEqual(await askAgent(dir), { findings: undefined })
  lock.close()
  assert.equal(await askAgent(path.join(dir, 'nowhere')), undefined)
})

test('takes on their way are well, those that nobody moves are not', async () => {
  const dir = scratchDir('roomtone-takes-')
  assert.equal((await takesWaiting(dir)).status, 'ok')
  const state = (id: string, status: string) => {
    fs.mkdirSync(path.join(dir, 'takes', id), { recursive: true })
    fs.writeFileSync(path.join(dir, 'takes', id, 'state.json'), JSON.stringify({ status }))
    return path.join(dir, 'takes', id, 'state.json')
  }
  state('running', 'capturing')
  assert.match((await takesWaiting(dir)).message, /No take is waiting.*1 take being captured/)
  const file = state('done', 'captured')
  assert.match((await takesWaiting(dir)).message, /^1 take on the way/)
  fs.utimesSync(file, 1, Date.now() / 1000 - 16 * 60)
  const old = await takesWaiting(dir)
  assert.deepEqual([old.status, /untouched for 16 min/.test(old.message)], ['warn', true])
})
