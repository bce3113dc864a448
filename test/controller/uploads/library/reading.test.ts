import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, test } from 'node:test'
import type { S3Options } from '../../../kit/s3.ts'
import { pattern } from '../../recordings/library/takes.ts'
import { type LibraryWorld, library } from './world.ts'

const MIB = 1024 * 1024

let w: LibraryWorld
afterEach(() => w.close())

const begin = async (options?: S3Options, env?: Record<string, string>): Promise<LibraryWorld> => {
  w = await library(options, env)
  return w
}

test('a take that is at the store alone is answered as one that is here: bytes, ranges, validators and names', async () => {
  await begin()
  const bytes = pattern(3_000_001)
  const id = await w.uploaded(bytes, 'rec_hall')
  const stream = `/recordings/${id}/stream`
  const asked: [string, string, object][] = [
    ['GET', stream, {}],
    ['HEAD', stream, {}],
    ['GET', `/recordings/${id}/file`, {}],
    ...['bytes=0-0', 'bytes=44-2000043', 'bytes=2999999-', 'bytes=-5', 'bytes=3000001-', 'bytes=0-1,5-6'].map(
      (range): [string, string, object] => ['GET', stream, { range }],
    ),
  ]
  const all = async () => {
    const answers = []
    for (const [method, url, headers] of asked) answers.push(await w.send(method, url, headers))
    const etag = answers[0]?.headers.etag
    answers.push(await w.send('GET', stream, { 'if-none-match': etag }))
    answers.push(await w.send('GET', stream, { 'if-match': '"another"' }))
    answers.push(await w.send('GET', stream, { 'if-range': etag, range: 'bytes=5-9' }))
    for (const { headers } of answers) for (const name of ['date', 'x-request-id']) delete headers[name]
    return answers
  }
  const here = await all()
  assert.ok(here[0]?.body.equals(bytes))
  w.k.sql(`UPDATE recordings SET retention_policy_id = 'day'`)
  w.k.advance('2d')
  await w.k.tick('retention')
  assert.deepEqual([w.there('ad-hoc/rec_hall.mp3'), w.recording(id).cached], [false, true])
  const beyond = await all()
  assert.deepEqual(
    beyond.map(({ body: _, ...rest }) => rest),
    here.map(({ body: _, ...rest }) => rest),
  )
  assert.ok(beyond.every(({ body }, i) => body.equals(here[i]?.body as Buffer)))
  const { json } = await w.owner.get(`/recordings/${id}`)
  assert.deepEqual([json.data.held, json.data.cached], [[w.destinationId], true])
  assert.equal((await w.owner.get('/recordings?search=hall')).json.data.length, 1)
})

test('a large take comes from the middle of the store, and no more of it than was asked for', async () => {
  await begin()
  const bytes = randomBytes(20 * MIB + 11)
  const id = await w.beyond(bytes)
  const part = await w.send('GET', `/recordings/${id}/stream`, { range: `bytes=${17 * MIB}-${17 * MIB + 99}` })
  assert.ok(part.body.equals(bytes.subarray(17 * MIB, 17 * MIB + 100)))
  const whole = await w.send('GET', `/recordings/${id}/file`)
  assert.ok(whole.body.equals(bytes))
})

/** Breaks the first `times` answers to a GET off after `sent` bytes. */
test('a store that does not know If-Match and sends another object, or one of another length, is told by its head', async () => {
  let more: object | undefined
  await begin({
    interfere: (_, response, operation) => {
      if (operation !== 'get' || !more) return false
      response.writeHead(206, { 'content-range': 'bytes 0-999/1000', 'content-length': 1000, ...more })
      response.end(Buffer.alloc(1000))
      return true
    },
  })
  await w.beyond(pattern(1000))
  for (const answer of [{ etag: '"another"' }, { 'content-length': 1002 }]) {
    more = answer
    const { body, status } = await w.send('GET', '/recordings/rec_1/stream')
    assert.deepEqual([status, JSON.parse(body.toString()).reason], [502, 'library_damaged'])
    more = undefined
    assert.equal((await w.send('GET', '/recordings/rec_1/stream')).status, 200)
  }
})

test('one connection to the store serves answer after answer', async () => {
  await begin()
  const bytes = pattern(300_000)
  await w.beyond(bytes)
  const before = w.store.connections()
  for (let i = 0; i < 8; i++) assert.ok((await w.send('GET', '/recordings/rec_1/stream')).body.equals(bytes))
  assert.ok(w.store.connections() - before <= 2, `${w.store.connections() - before} connections`)
})

function breaking(times: number, sent: number): { interfere: S3Options['interfere']; set(server: LibraryWorld): void } {
  let left = times
  let world: LibraryWorld | undefined
  return {
    interfere: (request, response: ServerResponse, operation) => {
      if (operation !== 'get' || left === 0 || !world) return false
      left--
      const [[, object] = []] = world.objects()
      const body = object?.body as Buffer
      const [, first = '0', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
      const range = {
        'content-length': Number(last) + 1 - Number(first),
        'content-range': `bytes ${first}-${last}/${body.length}`,
      }
      response.writeHead(206, { etag: object?.etag ?? '', ...range })
      response.write(body.subarray(Number(first), Number(first) + sent), () => response.destroy())
      return true
    },
    set: (server) => {
      world = server
    },
  }
}

test('a connection to the store that breaks in the middle is taken up where it broke: the client sees nothing of it', async () => {
  const broken = breaking(3, 700_000)
  await begin({ interfere: broken.interfere })
  broken.set(w)
  const bytes = randomBytes(4 * MIB)
  const id = await w.beyond(bytes)
  const got = await w.send('GET', `/recordings/${id}/stream`)
  assert.deepEqual([got.status, got.broken], [200, false])
  assert.ok(got.body.equals(bytes))
})

test('a destination that is changed ends no answer that is under way, and its connections go with the last of them', async () => {
  let rest: (() => void) | undefined
  let socket: Socket | undefined
  await begin({
    interfere: (_, response, operation) => {
      const [[, object] = []] = w?.objects() ?? []
      const body = object?.body
      if (operation !== 'get' || socket || !body) return false
      socket = response.socket as Socket
      response.writeHead(206, {
        'content-length': body.length,
        'content-range': `bytes 0-${body.length - 1}/${body.length}`,
      })
      response.write(body.subarray(0, MIB))
      rest = () => void response.end(body.subarray(MIB))
      return true
    },
  })
  const bytes = randomBytes(3 * MIB)
  const id = await w.beyond(bytes)
  const answer = await w.answerTo('GET', `/recordings/${id}/stream`)
  w.k.advance('1s')
  const self = `/settings/upload-destinations/${w.destinationId}`
  assert.equal((await w.owner.patch(self, { displayName: 'Renamed' })).status, 200)
  assert.ok((await w.send('GET', `/recordings/${id}/stream`)).body.equals(bytes))
  const closed = once(socket as Socket, 'close')
  assert.equal(w.store.operations.filter((operation) => operation === 'get').length, 2)
  rest?.()
  const got: Buffer[] = []
  for await (const piece of answer) got.push(piece)
  assert.ok(Buffer.concat(got).equals(bytes))
  await closed
  assert.equal(w.store.operations.filter((operation) => operation === 'get').length, 2)
})

test('a store that is gone in the middle ends the connection: the client sees a body that is too short', async () => {
  const broken = breaking(1, 700_000)
  let gone = false
  await begin({
    interfere: (request, response, operation) => {
      if (broken.interfere?.(request, response, operation)) {
        gone = true
        return true
      }
      if (gone) response.destroy()
      return gone
    },
  })
  broken.set(w)
  const id = await w.beyond(randomBytes(2 * MIB))
  const got = await w.send('GET', `/recordings/${id}/stream`)
  assert.deepEqual([got.status, got.broken, got.headers['content-length']], [200, true, String(2 * MIB)])
  assert.ok(got.body.length <= 700_000)
})

test('a store that does not answer is a 503 with Retry-After before the first byte, and no damage', async () => {
  let down = false
  await begin({
    interfere: (_, response) => {
      if (down) response.destroy()
      return down
    },
  })
  const bytes = randomBytes(1000)
  const id = await w.beyond(bytes)
  down = true
  w.k.forget()
  const got = await w.send('GET', `/recordings/${id}/stream`)
  assert.deepEqual([got.status, got.headers['retry-after']], [503, '30'])
  assert.equal(JSON.parse(got.body.toString()).reason, 'library_unreachable')
  assert.deepEqual([w.recording(id).held, w.events()], [[w.destinationId], []])
  assert.deepEqual(w.k.trail(), [
    'recordings.playback.stream allowed',
    'recordings.playback.stream.failed failed library_unreachable',
  ])
  down = false
  assert.ok((await w.send('GET', `/recordings/${id}/stream`)).body.equals(bytes))
})

test('a client that goes away ends the request to the store', async () => {
  let closed: Promise<unknown> | undefined
  let bytes = Buffer.alloc(0)
  await begin({
    interfere: (_, response, operation) => {
      if (operation !== 'get' || bytes.length === 0) return false
      closed = once(response, 'close')
      response.writeHead(206, { 'content-range': `bytes 0-${bytes.length - 1}/${bytes.length}` })
      response.write(bytes.subarray(0, MIB))
      return true
    },
  })
  const take = randomBytes(30 * MIB)
  const id = await w.beyond(take)
  bytes = take
  const response = await w.answerTo('GET', `/recordings/${id}/stream`)
  await once(response, 'data')
  response.destroy()
  await closed
  assert.equal(w.k.rows(`SELECT 1 FROM audit_events WHERE action = 'recordings.playback.stream.succeeded'`).length, 1)
})

test('no more than four MiB are read before the client takes them', async () => {
  let sent = 0
  let take = Buffer.alloc(0)
  const piece = Buffer.alloc(256 * 1024)
  await begin({
    interfere: (_, response, operation) => {
      if (operation !== 'get' || take.length === 0) return false
      response.writeHead(206, { 'content-range': `bytes 0-${take.length - 1}/${take.length}` })
      const more = (): void => {
        while (sent < take.length) {
          sent += piece.length
          if (!response.write(piece)) return void response.once('drain', more)
        }
        response.end()
      }
      more()
      return true
    },
  })
  const id = await w.beyond(randomBytes(64 * MIB))
  take = Buffer.alloc(64 * MIB)
  const response = await w.answerTo('GET', `/recordings/${id}/stream`)
  response.pause()
  let before = -1
  // Until nothing moves: what sockets hold is beside the 4 MiB.
  while (before !== sent) {
    before = sent
    for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(sent >= 4 * MIB && sent < 30 * MIB, `${sent} bytes were read ahead`)
  response.destroy()
})

test('whoever loses the right to a take gets no more of it', async () => {
  await begin()
  const id = await w.beyond(randomBytes(40 * MIB))
  w.k.person('ann', ['viewer'], [['node', 'n1']])
  const response = await w.answerTo('GET', `/recordings/${id}/stream`, { authorization: 'Bearer svc_ann' })
  assert.equal(response.statusCode, 200)
  await once(response, 'data')
  response.pause()
  w.k.sql(`DELETE FROM sessions WHERE user_id = 'ann'`)
  w.k.advance('1m')
  response.resume()
  const [fault] = await once(response, 'error').catch((e) => [e])
  assert.match(String(fault), /aborted/)
})
