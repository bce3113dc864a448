import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { bodies, LEAST_COUNTED } from '../../../src/controller/http/bodies.ts'
import { kit } from '../../kit/kit.ts'

/** The `mark` of every JSON text that is parsed from now on and has one, in order. */
function parsedMarks(t: TestContext): string[] {
  const marks: string[] = []
  const { parse } = JSON
  t.mock.method(JSON, 'parse', (text: string, ...more: []) => {
    const mark = /mark-(\w+)/.exec(text)?.[1]
    if (mark) marks.push(mark)
    return parse(text, ...more)
  })
  return marks
}

const beat = (mark: string) => ({ agentVersion: '1', hostname: `mark-${mark}`, ipAddresses: [] })

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(10)
}

test('who sends many bodies at once has them parsed in turn with those of others', async (t) => {
  const k = kit()
  const [busy, other] = [await k.enroll(), await k.enroll()]
  const send = ({ agent, id }: typeof busy, mark: string) => agent.post(`/nodes/${id}/heartbeat`, beat(mark))
  const marks = parsedMarks(t)
  const answers = await Promise.all([...['a1', 'a2', 'a3', 'a4'].map((mark) => send(busy, mark)), send(other, 'b1')])
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202])
  // The rows of the database are read with the same function: the first time a mark is met is the body's.
  assert.deepEqual([...new Set(marks)].slice(0, 3), ['a1', 'b1', 'a2'])
  await k.close()
})

test('the body of a refused caller is not parsed', async (t) => {
  const k = kit()
  const marks = parsedMarks(t)
  const refused = await k.as('viewer').post('/auth/users', { email: 'x@example.org', name: 'mark-user', password: 'x' })
  const room = await k.as('viewer').post('/rooms', { name: 'mark-room', site: 'S' })
  assert.deepEqual([refused.status, room.status], [403, 403])
  assert.ok(!marks.includes('room'))
  await k.close()
})

test('a body takes its place until its turn is over', async () => {
  const { read } = bodies({ deadlineMs: 1000, overallBytes: 2 * LEAST_COUNTED, perCaller: 1 })
  const source = () => ({ chunks: pieces(), declared: 0 })
  const turn = Promise.withResolvers<void>()
  await read(source(), 'x', 100, turn.promise)
  await assert.rejects(read(source(), 'x', 100), { reason: 'too_many_bodies', status: 429 })
  turn.resolve()
  await turn.promise
  assert.equal((await read(source(), 'x', 100)).length, 1)
})

test('a body of more values than anybody means is refused before they are looked at; commas in texts are none', async () => {
  const k = kit()
  const admin = k.as('admin')
  const many = await admin.post('/recordings/bulk-delete', { recordingIds: Array.from({ length: 10_001 }, () => ({})) })
  assert.deepEqual([many.status, many.json.issues[0].message], [400, 'more than 10000 values: send fewer at once'])
  const text = await admin.post('/rooms', { name: 'Hall', notes: ','.repeat(20_000), site: 'North' })
  assert.doesNotMatch(text.text, /values/)
  await k.close()
})
