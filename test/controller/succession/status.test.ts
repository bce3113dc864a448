import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statusOf } from '../../../src/controller/succession/status.rules.ts'

test('a standby is ready while it has a copy and nothing failed; a fenced box never is', () => {
  const seen = { lease: undefined, selfId: 'a', selfName: 'two', version: '1' }
  const at = (away: Parameters<typeof statusOf>[1]) => statusOf(seen, away, 100_000)
  assert.deepEqual([at({ role: 'standby' }).ready, at({ role: 'standby' }).behindSeconds], [false, undefined])
  const copied = at({ copyAt: 58_000, role: 'standby' })
  assert.deepEqual([copied.ready, copied.behindSeconds], [true, 42])
  // Clocks of two boxes differ a little.
  assert.equal(at({ copyAt: 101_000, role: 'standby' }).behindSeconds, 0)
  const failing = at({ copyAt: 58_000, fault: 'the replica is gone', role: 'standby' })
  assert.deepEqual([failing.ready, failing.message], [false, 'the replica is gone'])
  assert.equal(at({ copyAt: 58_000, role: 'fenced' }).ready, false)
})
