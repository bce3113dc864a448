import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Activity } from '../../src/agent/jobs/runner.ts'
import { createPulse } from '../../src/agent/pulse.ts'

function world() {
  const now = { activity: { capturing: [], delivering: 0 } as Activity, ms: 0 }
  const pulse = createPulse(() => now.activity, { monotonic: () => now.ms, now: () => now.ms }, 1000)
  return { now, pulse }
}

test('an agent without takes lives; one whose takes stand still does not; one of two that grows is enough', () => {
  const { now, pulse } = world()
  now.ms = 5000
  assert.equal(pulse.alive(), true)
  const [a, b] = [
    { frames: 10, recordingId: 'a' },
    { frames: 10, recordingId: 'b' },
  ]
  now.activity = { capturing: [a, b], delivering: 0 }
  assert.equal(pulse.alive(), true)
  now.ms = 5999
  assert.equal(pulse.alive(), true)
  b.frames++
  assert.equal(pulse.alive(), true)
  now.ms = 6998
  assert.equal(pulse.alive(), true)
  now.ms = 6999
  assert.equal(pulse.alive(), false)
  now.activity = { capturing: [], delivering: 1 }
  assert.equal(pulse.alive(), true)
})

test('the status says what is recorded and what is on its way', () => {
  const { now, pulse } = world()
  assert.equal(pulse.status(), 'ready')
  now.activity = { capturing: [{ frames: 1, recordingId: 'rec_a' }], delivering: 2 }
  assert.equal(pulse.status(), 'recording rec_a; delivering 2')
})
