import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLink } from '../../../src/agent/link/client.ts'
import { type Link, LinkError } from '../../../src/agent/link/link.ts'
import { json, serve, stored, type TestServer, tempDir } from '../server.ts'

type How = 'fenced' | 'serves' | 'silent' | 'standby'

interface Box extends TestServer {
  how: How
  term: number
}

/** A box that answers as it is told to. */
async function boxed(t: TestContext, how: How, term: number): Promise<Box> {
  const server = await serve(t, (seen, response) => {
    const { how, term } = box
    if (how === 'silent') return void response.destroy()
    response.setHeader('x-svc-term', String(term))
    if (how !== 'serves') response.setHeader('x-svc-reason', how)
    if (how !== 'serves') return json(response, 503, { error: 'This box is not the controller', reason: how })
    if (seen.method === 'HEAD') return void response.writeHead(204).end()
    if (seen.method === 'PUT') return stored(response, seen)
    json(response, 200, { data: { interfaces: [] } })
  })
  const box: Box = Object.assign(server, { how, term })
  return box
}

function linked(t: TestContext, first: Box, second?: Box, termFile = path.join(tempDir(t), 'term.json')) {
  const [kept, moved]: [unknown[], string[]] = [[], []]
  const timeouts = { connectTimeoutMs: 5000, readTimeoutMs: 60_000, requestTimeoutMs: 60_000 }
  const link = createLink({
    ...timeouts,
    allowInsecure: false,
    moved: (url) => moved.push(url),
    nodeId: 'node_1',
    standbyUrl: second?.url,
    termFile,
    termKept: (fault) => kept.push(fault),
    token: () => 'svc_node_secret',
    url: first.url,
  })
  t.after(() => link.close())
  return { kept, link, moved, termFile }
}

const beat = (link: Link) => link.inventory([])

for (const how of ['fenced', 'silent', 'standby'] as const)
  test(`what a box that is ${how} does not answer as the controller is asked of the other, from then on first`, async (t) => {
    const [one, two] = [await boxed(t, how, 2), await boxed(t, 'serves', 2)]
    const { link, moved } = linked(t, one, two)
    await beat(link)
    await beat(link)
    assert.equal(two.seen.length, 2)
    assert.ok(one.seen.length <= 2, 'it was asked once; a closed connection may be tried anew')
    assert.deepEqual(moved, [two.url])
    // And back.
    two.how = how
    one.how = 'serves'
    await beat(link)
    assert.deepEqual(moved, [two.url, one.url])
  })

test('a take goes to whoever is the controller, whole', async (t) => {
  const [one, two] = [await boxed(t, 'fenced', 3), await boxed(t, 'serves', 3)]
  const { link } = linked(t, one, two)
  const file = path.join(tempDir(t), 'take.wav')
  fs.writeFileSync(file, Buffer.alloc(100_000, 7))
  const take = { contentType: 'audio/wav', durationSeconds: 1, fileName: 'take.wav', path: file, recordingId: 'rec_1' }
  await link.upload(take, new AbortController().signal)
  const put = two.seen.find(({ method }) => method === 'PUT')
  assert.equal(put?.body.length, 100_000)
})

test('a controller with a lower term than was ever seen is refused, also after a restart', async (t) => {
  const [one, two] = [await boxed(t, 'serves', 1), await boxed(t, 'serves', 2)]
  const { link, termFile } = linked(t, two)
  await beat(link)
  assert.deepEqual(JSON.parse(fs.readFileSync(termFile, 'utf8')), { term: 2 })
  const later = linked(t, one, undefined, termFile).link
  await assert.rejects(beat(later), (e) => e instanceof LinkError && e.reason === 'fenced' && e.transient)
  const both = linked(t, one, two, termFile)
  await beat(both.link)
  assert.deepEqual(both.moved, [two.url])
})

test('where neither is the controller, the first says why', async (t) => {
  const [one, two] = [await boxed(t, 'silent', 1), await boxed(t, 'standby', 1)]
  const { link, moved } = linked(t, one, two)
  await assert.rejects(beat(link), (e) => e instanceof LinkError && e.status === undefined)
  assert.deepEqual(moved, [])
})

test('a refusal of the controller itself is not asked of the other', async (t) => {
  const one = await serve(t, (_, response) => json(response, 403, { error: 'Forbidden' }))
  const two = await boxed(t, 'serves', 1)
  const { link } = linked(t, Object.assign(one, { how: 'serves' as const, term: 1 }), two)
  await assert.rejects(beat(link), (e) => e instanceof LinkError && e.status === 403)
  assert.equal(two.seen.length, 0)
})

test('a controller without a lease is as good as ever', async (t) => {
  const one = await serve(t, (_, response) => json(response, 200, { data: {} }))
  const { link, termFile } = linked(t, Object.assign(one, { how: 'serves' as const, term: 0 }))
  await beat(link)
  assert.equal(fs.existsSync(termFile), false)
})

test('a recorder tells the highest term it knows: a controller that was replaced must not take it for its own', async (t) => {
  const [one, two] = [await boxed(t, 'serves', 1), await boxed(t, 'serves', 2)]
  const { link, termFile } = linked(t, two)
  await beat(link)
  await beat(link)
  assert.deepEqual(
    two.seen.map(({ headers }) => headers['x-svc-term']),
    [undefined, '2'],
  )
  await assert.rejects(beat(linked(t, one, undefined, termFile).link))
  assert.equal(one.seen[0]?.headers['x-svc-term'], '2')
})

test('a term that the disk does not take is told once, and refuses older controllers all the same', async (t) => {
  const box = await boxed(t, 'serves', 2)
  const { kept, link } = linked(t, box, undefined, path.join(tempDir(t), 'no-such-directory', 'term.json'))
  await beat(link)
  await beat(link)
  assert.equal(kept.length, 1)
  assert.equal((kept[0] as NodeJS.ErrnoException).code, 'ENOENT')
  box.term = 1
  await assert.rejects(beat(link), (e) => e instanceof LinkError && e.reason === 'fenced')
})
