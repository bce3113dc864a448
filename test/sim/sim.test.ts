import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { stamps, stretchesOf } from './sound.ts'
import { flawsOf, type Take } from './take.ts'

// All twenty, or the one of five whose turn it is (scripts/test).
const { TEST_TURN: turn } = process.env
const seeds = Array.from({ length: turn === undefined ? 20 : 1 }, (_, n) => 1001 + Number(turn ?? 0) + n)
/** A quiet one, those on which things go wrong, and the first of them once more. */
const WORLDS = ['1:0', ...seeds.map((seed) => `${seed}:6`), `${seeds[0]}:6`]
/** A world changes the clock, the disk and the network of its process: they have one of their own, and share what it loads. */
const simulated = (async () => {
  const args = ['--worlds', WORLDS.join(), '--rooms', '1', '--hours', '0.75']
  const child = spawn(process.execPath, [`${import.meta.dirname}/run.ts`, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr)])
  return said + complained
})()

test('on a quiet day each slot has its take, and each take all the sound of its time', async () => {
  assert.match(await simulated, /^seed 1: 3 of 3 takes, 0 faults/m)
})

test(`${seeds.length} days on which things go wrong: nothing acknowledged is lost, and no take says more than it holds`, async () => {
  const said = await simulated
  assert.match(said, new RegExp(`${WORLDS.length} days, 0 broken`), said)
})

test('a seed is a world: the same one goes the same way, whatever was before it, and another one another', async () => {
  const said = await simulated
  const traces = [...said.matchAll(/trace (-?\d+)/g)].map(([, trace]) => trace)
  assert.equal(traces.length, WORLDS.length, said)
  assert.equal(traces.at(-1), traces[1])
  assert.notEqual(traces[0], traces[1])
})

const RATE = 8000
const takeOf = (pcm: Buffer, holes: Take['holes'] = []): Take => ({
  holes,
  seconds: pcm.length / 2 / RATE,
  stretches: stretchesOf(pcm, 1),
})

test('a sample that is missing shows, and so does silence that nobody mentions', () => {
  const [first, second] = [stamps(123_457, 133_457, 1), stamps(133_458, 150_000, 1)]
  assert.deepEqual(flawsOf(takeOf(stamps(3, 30_000, 1)), RATE), [])
  assert.match(
    flawsOf(takeOf(Buffer.concat([first, second])), RATE).join(),
    /jumps by 0.000 s at 1.250 s without a gap/,
  )
  const silent = Buffer.concat([first, Buffer.alloc(16_000), stamps(141_457, 150_000, 1)])
  assert.match(flawsOf(takeOf(silent), RATE).join(), /is silent for 1.000 s at 1.250 s, and does not say so/)
  assert.deepEqual(flawsOf(takeOf(silent, [{ at: 1.25, seconds: 1 }]), RATE), [])
  const noticed = Buffer.concat([first, stamps(141_457, 147_457, 1), Buffer.alloc(16_000), stamps(155_457, 160_000, 1)])
  assert.deepEqual(flawsOf(takeOf(noticed, [{ at: 2, seconds: 1 }]), RATE), [])
  const unnoticed = Buffer.concat([first, stamps(141_457, 151_457, 1), Buffer.alloc(16_000)])
  assert.match(flawsOf(takeOf(unnoticed, [{ at: 2.5, seconds: 1 }]), RATE).join(), /jumps by 1.000 s at 1.250 s/)
  const late = Buffer.concat([first, Buffer.alloc(16_000), stamps(160_000, 170_000, 1)])
  assert.match(flawsOf(takeOf(late, [{ at: 1.25, seconds: 1 }]), RATE).join(), /off by 2.318 s/)
  assert.match(flawsOf(takeOf(Buffer.alloc(2000, 0x55)), RATE).join(), /holds what was never heard/)
})
