import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Box, candidates, spentWords, without } from '../../../src/system/provision/choose.rules.ts'
import { entryOf, fileOf } from './kit.ts'

const box: Box = { hostname: 'hall-box.local', macs: ['00:11:22:aa:bb:cc'], serials: ['abc123'] }
const ids = (entries: { nodeId: string }[]): string[] => entries.map(({ nodeId }) => nodeId)

test('an entry made for this box comes alone; one made for another box never', () => {
  const others = entryOf(1, { match: { hostname: 'studio-box' } })
  const free = entryOf(2)
  const later = entryOf(3)
  assert.deepEqual(ids(candidates(fileOf([others, free, later]), box)), ['node_2', 'node_3'])
  for (const match of [
    { hostname: 'Hall-Box' },
    { hostname: 'hall-box.local' },
    { mac: '00:11:22:aa:bb:cc' },
    { serial: 'ABC123' },
  ])
    assert.deepEqual(ids(candidates(fileOf([others, free, entryOf(4, { match })]), box)), ['node_4'])
})

test('everything that is given must fit', () => {
  const half = entryOf(1, { match: { hostname: 'hall-box', serial: 'other' } })
  assert.throws(() => candidates(fileOf([half]), box), /No entry .*hall-box\.local.*00:11:22:aa:bb:cc.*abc123/)
  assert.throws(() => candidates(fileOf([]), box), /have been used/)
})

test('a spent token is told from an expired one by the time, and leaves the file when it was taken', () => {
  assert.match(
    spentWords(entryOf(1), '2026-03-03T09:00:00.000Z'),
    /"Room 1" \(node_1\) expired at 2026-03-03T09:00:00.000Z/,
  )
  assert.match(spentWords(entryOf(1), '2026-03-03T08:59:59.999Z'), /used already, or was revoked/)
  const left = without(fileOf([entryOf(1), entryOf(2)]), 'node_1')
  assert.deepEqual(ids(left.nodes), ['node_2'])
})
