import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limiter } from '../../../../src/controller/http/limiter.ts'

test('a key is blocked from its limit on, until the oldest failure has left the window', () => {
  const l = limiter(3, 60)
  for (const at of [0, 10_000, 20_000]) {
    assert.equal(l.blocked('a', at), undefined)
    l.count('a', at)
  }
  assert.equal(l.blocked('a', 20_000), 40)
  assert.equal(l.blocked('a', 59_999), 1)
  assert.equal(l.blocked('a', 60_000), undefined)
  l.count('a', 60_000)
  assert.equal(l.blocked('a', 60_000), 10)
})

test('keys do not know each other, and a success forgets the failures', () => {
  const l = limiter(1, 60)
  l.count('a', 0)
  assert.equal(l.blocked('b', 0), undefined)
  l.clear('a')
  assert.equal(l.blocked('a', 0), undefined)
  l.clear('a')
  l.count('a', 1)
  assert.equal(l.blocked('a', 1), 60)
})

test('memory is bounded: who failed longest ago is forgotten first', () => {
  const l = limiter(2, 60, 4)
  for (const key of ['a', 'b']) for (const at of [0, 1]) l.count(key, at)
  l.count('a', 2)
  l.count('c', 3)
  assert.equal(l.blocked('b', 3), undefined)
  assert.notEqual(l.blocked('a', 3), undefined)
  for (let n = 0; n < 10_000; n++) l.count(`stranger ${n}`, 4)
  assert.equal(l.blocked('a', 4), undefined)
})
