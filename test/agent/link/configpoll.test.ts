import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLink } from '../../../src/agent/link/client.ts'
import { ConfigPoll } from '../../../src/agent/link/configpoll.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { type Handler, json, serve } from '../server.ts'

const HEARTBEAT_MS = 150
const said = (requested: boolean) => ({ data: { liveListen: { requested } } })

/** The poll against a controller; what it was asked, what was applied, and how each exchange ended. */
async function following(t: TestContext, config: Handler) {
  const asks: { known: string | undefined; query: string | undefined }[] = []
  const ends: boolean[] = []
  const told: boolean[] = []
  const server = await serve(t, (seen, response, request) => {
    asks.push({ known: seen.headers['if-none-match'] as string | undefined, query: seen.url.split('?')[1] })
    config(seen, response, request)
  })
  const timeouts = { connectTimeoutMs: 5000, readTimeoutMs: 5000, requestTimeoutMs: 5000 }
  const link = createLink({ ...timeouts, allowInsecure: false, nodeId: 'node_1', token: () => 'x', url: server.url })
  const poll = new ConfigPoll({
    apply: ({ liveListen }) => told.push(liveListen?.requested === true),
    clock: systemClock,
    heartbeatMs: HEARTBEAT_MS,
    link,
    sync: async (exchange) => {
      const done = await exchange().then(
        () => true,
        () => false,
      )
      ends.push(done)
      return done
    },
    token: { current: () => 'x' },
  })
  const ran = poll.run()
  t.after(() => {
    poll.stop()
    link.close()
  })
  const until = async (what: () => boolean) => {
    while (!what()) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { asks, ends, poll, ran, told, until }
}

test('the config is waited for with its tag, applied when it comes, and a stop ends the wait', async (t) => {
  let change = () => {}
  const { asks, poll, ran, told, until } = await following(t, (seen, response) => {
    const answer = (tag: string, requested: boolean) => json(response.setHeader('etag', tag), 200, said(requested))
    if (seen.headers['if-none-match'] === undefined) answer('"1"', false)
    // The second poll stays open until the test says so, the third for ever.
    else if (seen.headers['if-none-match'] === '"1"') change = () => answer('"2"', true)
  })
  await until(() => asks.length === 2)
  change()
  await until(() => asks.length === 3)
  assert.deepEqual(told, [false, true])
  assert.deepEqual(asks, [
    { known: undefined, query: undefined },
    { known: '"1"', query: 'waitSeconds=25' },
    { known: '"2"', query: 'waitSeconds=25' },
  ])
  poll.stop()
  await ran
})

for (const [what, tag] of [
  ['without tags', () => undefined],
  ['with tags that does not wait', () => '"1"'],
  ['whose tag is always another', (n: number) => `"${n}"`],
] as const)
  test(`a controller ${what} is asked at the heartbeat's pace`, async (t) => {
    let n = 0
    const began = performance.now()
    const { asks, told, until } = await following(t, (_, response) => {
      const etag = tag(n++)
      if (etag) response.setHeader('etag', etag)
      json(response, 200, said(true))
    })
    await until(() => asks.length === 6)
    // The first answer is news; from then on a heartbeat lies between two.
    assert.ok(performance.now() - began >= 4 * HEARTBEAT_MS)
    assert.ok(told.length >= 1)
  })

test('a config that cannot be had is asked for anew, without waiting', async (t) => {
  let n = 0
  const { asks, ends, told, until } = await following(t, (_, response) => {
    if (++n === 2 || n === 3) json(response, 503, { error: 'unavailable' })
    else if (n <= 4) json(response.setHeader('etag', '"1"'), 200, said(n === 4))
  })
  await until(() => asks.length === 5)
  assert.deepEqual(ends, [true, false, false, true])
  assert.deepEqual(told, [false, true])
  assert.deepEqual(
    asks.map(({ known }) => known),
    [undefined, '"1"', undefined, undefined, '"1"'],
  )
})
