import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SoundPoster } from '../../../src/agent/ear/poster.ts'
import { LinkError } from '../../../src/agent/link/link.ts'
import type { SoundReading } from '../../../src/wire/soundreadings.ts'
import { quiet, until } from '../jobs/kit.ts'

const reading = (scheduleId: string): SoundReading => ({
  fault: 'gone',
  heardAt: '2026-03-02T09:55:00.000Z',
  kind: 'unopened',
  scheduleId,
  startsAt: '2026-03-02T10:00:00.000Z',
})

function posting(t: TestContext) {
  const world = {
    answers: [] as (LinkError | undefined)[],
    asked: 0,
    /** What the controller cannot take, whatever the reason. */
    broken: new Set<string>(),
    now: 0,
    sent: [] as string[],
    told: [] as string[],
  }
  const poster = new SoundPoster({
    clock: { monotonic: () => world.now, now: () => world.now },
    link: {
      soundReading: async (one) => {
        world.asked++
        const about = 'scheduleId' in one ? one.scheduleId : one.recordingId
        if (world.broken.has(about)) throw new LinkError('internal error', 500)
        const refused = world.answers.shift()
        if (refused) throw refused
        world.sent.push(about)
      },
    },
    log: quiet,
    report: ({ type }) => void world.told.push(type),
    token: { current: () => 'svc_node_secret', refresh: () => {} },
  })
  t.after(() => poster.stop())
  return { poster, world }
}

test('while the controller is away a reading is kept, in its order, and told of once', async (t) => {
  const { poster, world } = posting(t)
  world.answers = [new LinkError('no answer'), new LinkError('busy', 503)]
  poster.post(reading('a'), 60_000)
  poster.post(reading('b'), 60_000)
  await until(() => world.sent.length === 2)
  assert.deepEqual(world.sent, ['a', 'b'])
  assert.deepEqual(world.told, ['agent.sound_reading.sync_failed', 'agent.sound_reading.sync_recovered'])
})

test('one that keeps failing holds up no other', async (t) => {
  const { poster, world } = posting(t)
  world.broken.add('bad')
  poster.post(reading('bad'), 600_000)
  await until(() => world.asked > 0)
  for (const name of ['a', 'b', 'c']) poster.post(reading(name), 600_000)
  await until(() => world.sent.length === 3)
  const { asked } = world
  await until(() => world.asked > asked)
  poster.post(reading('d'), 600_000)
  await until(() => world.sent.length === 4)
  world.broken.clear()
  poster.post(reading('e'), 600_000)
  await until(() => world.sent.includes('bad'))
  assert.deepEqual(world.sent.slice(0, 4), ['a', 'b', 'c', 'd'])
})

test('what has become stale is dropped, and what is refused for good', async (t) => {
  const { poster, world } = posting(t)
  world.answers = [new LinkError('no answer')]
  poster.post(reading('stale'), 300_000)
  await until(() => world.asked === 1)
  world.now = 300_000
  world.answers = [new LinkError('not yours', 403)]
  poster.post(reading('refused'), 60_000)
  poster.post(reading('good'), 60_000)
  await until(() => world.sent.length === 1)
  assert.deepEqual([world.sent, world.asked], [['good'], 3])
})

test('a controller that knows no readings is no fault', async (t) => {
  const { poster, world } = posting(t)
  world.answers = [new LinkError('not found', 404)]
  poster.post(reading('a'), 60_000)
  poster.post(reading('b'), 60_000)
  await until(() => world.sent.length === 1)
  assert.deepEqual([world.sent, world.told], [['b'], []])
})

test('a hundred readings of an outage do not pile up, and a stop ends the wait', async (t) => {
  const { poster, world } = posting(t)
  world.answers = [new LinkError('no answer')]
  for (let n = 0; n < 100; n++) poster.post(reading(`s${n}`), 60_000)
  await until(() => world.asked === 1)
  await until(() => world.sent.length === 64)
  assert.equal(world.sent[0], 's36')
  world.answers = [new LinkError('no answer')]
  poster.post(reading('last'), 60_000)
  await until(() => world.asked > 65)
  await poster.stop()
  assert.equal(world.sent.includes('last'), false)
})
