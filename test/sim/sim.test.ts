import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { stamps, stretchesOf } from './sound.ts'
import { flawsOf, type Take } from './take.ts'

/** A world changes the clock, the disk and the network of its process: each has a process of its own. */
async function simulated(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [`${import.meta.dirname}/run.ts`, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr)])
  return said + complained
}

const traces = (said: string): string[] => [...said.matchAll(/trace (-?\d+)/g)].map(([, trace]) => trace!)

test('on a quiet day each slot has its take, and each take all the sound of its time', async () => {
  const said = await simulated('--seed', '1', '--rooms', '2')
  assert.match(said, /6 of 6 takes, 0 faults/, said)
  assert.match(said, /1 days, 0 broken/, said)
})

// All twenty, or the fifth of them whose turn it is (scripts/test).
const { TEST_TURN: turn } = process.env
const [first, days] = turn === undefined ? [1001, 20] : [1001 + 4 * Number(turn), 4]

test(`${days} days on which things go wrong: nothing acknowledged is lost, and no take says more than it holds`, async () => {
  const said = await simulated('--seed', String(first), '--days', String(days), '--faults', '6', '--rooms', '1')
  assert.match(said, new RegExp(`${days} days, 0 broken`), said)
})

test('a seed is a world: the same one goes the same way, another one another', async () => {
  const asked = ['--hours', '1', '--faults', '8', '--rooms', '1']
  // One after another: other tests want a processor as well.
  const once = await simulated('--seed', '7', ...asked)
  const again = await simulated('--seed', '7', ...asked)
  const other = await simulated('--seed', '8', ...asked)
  assert.equal(traces(once).length, 1, once)
  assert.deepEqual(traces(again), traces(once))
  assert.notDeepEqual(traces(other), traces(once))
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
