import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventStream } from '../../../src/controller/http/sse.ts'
import { type Source, Streams } from '../../../src/controller/http/streams.ts'
import { reading } from '../../kit/reading.ts'

const client = { gone: () => new AbortController().signal, method: 'GET' }

function world() {
  let now = 0
  const streams = new Streams({ now: () => now, monotonic: () => now })
  return { streams, advance: (ms: number) => (now += ms) }
}

for (const [kind, idle, sent] of [
  ['a comment', {}, ': still here\n\n'],
  ['an event, where its reader is told of no comments', { idle: 'ping' }, 'event: ping\ndata: {}\n\n'],
] as const)
  test(`a silent stream is kept alive by ${kind}`, () => keptAlive(idle, sent))

async function keptAlive(idle: { idle?: string }, sent: string) {
  const { streams, advance } = world()
  let wake = () => {}
  const begin = (queue: { put: (key: string, event: string, data: () => undefined) => void }) => {
    wake = () => queue.put('k', 'e', () => undefined)
    return () => {}
  }
  const feed = reading(eventStream(streams, 'ann', client, { begin, ...idle, mayGoOn: () => true }))
  const text = async () => new TextDecoder().decode(await feed.bytes())
  assert.equal(await text(), 'retry: 2000\n\n')
  advance(15_000)
  wake()
  assert.equal(await text(), sent)
  await feed.cancel()
}

test('a source that ends ends the answer, and is told so once', async () => {
  const { streams } = world()
  let ended = 0
  const pieces = [new Uint8Array([1]), 'end'] as const
  let at = 0
  const source: Source = { begin: () => () => void ended++, mayGoOn: () => true, take: () => pieces[at++] }
  const feed = reading(new Response(streams.stream('ann', client, source)))
  assert.deepEqual(await feed.bytes(), new Uint8Array([1]))
  assert.equal(await feed.bytes(), undefined)
  assert.deepEqual([ended, streams.count()], [1, 0])
})

test('a source that fails ends the answer and leaves its place', async () => {
  const { streams } = world()
  let ended = 0
  const take = (): never => {
    throw new Error('broken')
  }
  const feed = reading(
    new Response(streams.stream('ann', client, { begin: () => () => void ended++, mayGoOn: () => true, take })),
  )
  await assert.rejects(feed.bytes(), /broken/)
  assert.deepEqual([ended, streams.count()], [1, 0])
})

test('who may not go on gets nothing more, not even the first byte', async () => {
  const { streams } = world()
  const source: Source = { begin: () => () => {}, mayGoOn: () => false, take: () => new Uint8Array([1]) }
  assert.equal(await reading(new Response(streams.stream('ann', client, source))).bytes(), undefined)
  assert.equal(streams.count(), 0)
})
