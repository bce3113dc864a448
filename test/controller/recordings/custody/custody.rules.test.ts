import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KeptFile, type KeptTake, verdict } from '../../../../src/controller/recordings/custody/custody.rules.ts'

const NOW = '2026-03-02T09:00:00.000Z'
const EARLIER = '2026-03-02T08:00:00.000Z'

const file = (more: Partial<KeptFile> = {}): KeptFile => ({
  heldSince: null,
  local: 1,
  path: 'a.wav',
  sizeBytes: 1,
  ...more,
})
const take = (...files: KeptFile[]): KeptTake => ({ completed: true, files })
const site = (more: Partial<Parameters<typeof verdict>[2]> = {}) => ({
  isHere: () => true,
  replicated: true,
  until: NOW as string | undefined,
  ...more,
})

test('a take stays on its recorder until a destination has all of it', () => {
  assert.equal(verdict(take(file()), false, site()), 'hold')
  assert.equal(verdict(take(file({ heldSince: EARLIER })), false, site()), 'let_go')
  assert.equal(verdict(take(file({ heldSince: EARLIER }), file({ path: 'a.raw.wav' })), false, site()), 'hold')
  // Where the controller's copy has gone since, the destination's counts.
  assert.equal(verdict(take(file({ heldSince: EARLIER, local: 0 })), false, site({ isHere: () => false })), 'let_go')
})

test('what the replica does not have yet, or may not have, keeps the take on its recorder', () => {
  const uploaded = take(file({ heldSince: NOW }))
  assert.equal(verdict(uploaded, false, site({ until: EARLIER })), 'hold')
  assert.equal(verdict(uploaded, false, site({ until: NOW })), 'hold', 'the same moment is not before it')
  assert.equal(verdict(uploaded, false, site({ until: undefined })), 'hold')
})

test('what is not here, or not whole, is asked for', () => {
  assert.equal(verdict(undefined, false, site()), 'offer')
  assert.equal(verdict({ completed: false, files: [] }, false, site()), 'offer')
  assert.equal(verdict({ completed: false, files: [file()] }, false, site()), 'offer', 'some chunks of it')
  assert.equal(verdict(take(file()), false, site({ isHere: () => false })), 'offer', 'its row alone was replicated')
  assert.equal(verdict(take(file({ local: 0 })), false, site()), 'offer', 'its object was damaged')
})

test('what people or retention took is let go of', () => {
  assert.equal(verdict(undefined, true, site()), 'let_go')
  assert.equal(verdict(take(), false, site()), 'let_go')
})

test('where the controller is enough it lets go of what it has', () => {
  assert.equal(verdict(take(file()), false, site({ replicated: false, until: undefined })), 'let_go')
  assert.equal(verdict(take(file()), false, site({ isHere: () => false, replicated: false })), 'offer')
})
