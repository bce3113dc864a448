import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PageAt, pageAddress, pageIn } from '../../src/console/ui/page.rules.ts'
import { DEEPEST_OFFSET } from '../../src/wire/paging.ts'

const at = (text: string): PageAt => pageIn(new URLSearchParams(text))

test('pages are counted off as far as the server counts, and go on by cursor behind that', () => {
  const next = { cursor: 'abc', offset: 50 }
  assert.deepEqual(pageAddress(next, at('')), { offset: '50' })
  assert.deepEqual(pageAddress({ ...next, offset: DEEPEST_OFFSET }, at('offset=9950')), { offset: '10000' })
  assert.deepEqual(pageAddress({ ...next, offset: 10_050 }, at('offset=10000')), { cursor: 'abc' })
  assert.deepEqual(pageAddress({ cursor: 'def', offset: 10_100 }, at('cursor=abc')), { cursor: 'def' })
})

test('back from a cursor is the deepest page that is counted off; a list without cursors has no end', () => {
  assert.deepEqual(pageAddress({ offset: 20_000 }, at('cursor=abc')), { offset: '10000' })
  assert.deepEqual(pageAddress({ offset: 0 }, at('offset=50')), {})
  assert.deepEqual(pageAddress({ offset: 20_000 }, at('offset=19950')), { offset: '20000' })
  assert.deepEqual(at('offset=-3'), { cursor: undefined, offset: 0 })
})
