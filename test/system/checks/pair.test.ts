// The two addresses of a recorder, as `roomtone doctor` judges them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgePair, pairOf } from '../../../src/system/checks/pair.ts'
import { json, serve } from '../../agent/server.ts'

const NAMES = { file: 'agent.env', first: 'https://one', name: 'SVC_CONTROLLER_STANDBY_URL', second: 'https://two' }
const box = (status: number, term: number) => ({ headers: {}, status, term, text: '' })
const judged = (...[one, two]: [ReturnType<typeof box> | undefined, ReturnType<typeof box>]) =>
  judgePair(one, two, NAMES)

test('one controller and one standby of the same term are well, whichever is which', () => {
  assert.match(judged(box(200, 3), box(503, 3)).message, /at term 3; https:\/\/one is the controller/)
  assert.match(judged(box(503, 3), box(200, 3)).message, /https:\/\/two is the controller/)
  assert.deepEqual([judged(box(200, 3), box(503, 3)).status, judged(box(503, 3), box(200, 3)).status], ['ok', 'ok'])
})

test('what is wrong with a pair is said with what to do', () => {
  const cases: [ReturnType<typeof box> | undefined, ReturnType<typeof box>, string, RegExp][] = [
    [box(200, 3), box(200, 0), 'fail', /https:\/\/two is no box of a pair/],
    [box(200, 0), box(503, 3), 'fail', /https:\/\/one is no box of a pair/],
    [box(200, 3), box(200, 4), 'fail', /^Both .* say that they are the controller/],
    [box(503, 4), box(503, 4), 'fail', /none of them is the controller/],
    [box(200, 3), box(503, 2), 'warn', /another pair/],
    [undefined, box(200, 4), 'warn', /https:\/\/one does not answer/],
    [undefined, box(503, 3), 'fail', /is not the controller/],
  ]
  for (const [one, two, status, words] of cases) {
    const found = judged(one, two)
    assert.deepEqual([found.status, words.test(found.message)], [status, true], found.message)
    assert.ok(found.fix)
  }
})

test('a second box that is off fails the check, and one address alone is none', async (t) => {
  const first = await serve(t, (_seen, response) => json(response.setHeader('x-svc-term', 2), 200, {}))
  const names = { ca: 'CA', file: 'agent.env', insecure: 'I', unit: 'roomtone-agent', url: 'URL' }
  const reached = { allowInsecure: true, names, trust: {}, url: first.url }
  const look = (url: string | undefined) => pairOf(reached, { name: NAMES.name, url }, AbortSignal.timeout(20_000))
  assert.equal((await look(undefined)).status, 'skipped')
  const gone = await look('http://127.0.0.1:9')
  assert.equal(gone.status, 'fail')
  assert.match(gone.message, /second box does not answer at http:\/\/127\.0\.0\.1:9/)
})
