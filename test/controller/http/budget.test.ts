import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budget } from '../../../src/controller/http/budget.ts'

const about = (key: string) => () => key

test('a caller has so many rows a minute; what comes beyond is counted and told once when the minute is over', () => {
  const b = budget<string>({ limit: 2 })
  assert.deepEqual(
    [0, 1, 2, 3].map((at) => b.take('a', at, about('a'))),
    ['row', 'row', 'limit', 'limit'],
  )
  assert.equal(b.retryAfter('a', 30_000), 30)
  assert.equal(b.retryAfter('b', 30_000), undefined)
  assert.deepEqual(b.drain(59_999), [])
  assert.deepEqual(b.drain(60_000), [{ about: 'a', count: 2, sinceMs: 60_000 }])
  assert.deepEqual(b.drain(60_001), [])
  assert.equal(b.take('a', 60_002, about('a')), 'row')
})

test('many callers together have a budget too: theirs is counted, but nobody is turned away for it', () => {
  const b = budget<string>({ limit: 2, overall: 3 })
  assert.deepEqual(
    ['a', 'a', 'b', 'b', 'c'].map((key) => b.take(key, 0, about(key))),
    ['row', 'row', 'row', 'count', 'count'],
  )
  assert.equal(b.retryAfter('c', 0), undefined)
})

test('memory is bounded, and so is what is told: strangers choose the keys', () => {
  const b = budget<string>({ capacity: 50, limit: 1 })
  for (let n = 0; n < 10_000; n++) for (let i = 0; i < 2; i++) b.take(`stranger ${n}`, 0, about(`${n}`))
  const told = b.drain(60_000)
  assert.ok(told.length <= 21, `${told.length} rows`)
  assert.equal(
    told.reduce((sum, { count }) => sum + count, 0),
    10_000 + (10_000 - 50 - 1),
  )
  assert.equal(b.take('a', 60_000, about('a')), 'row')
})
