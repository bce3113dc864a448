import assert from 'node:assert/strict'
import { test } from 'node:test'
import { table, year } from './year.ts'

test('in days of two rooms every dead line is found, and no room is taken for one', () => {
  const found = year(4, 9)
  const dead = found.faults.filter(({ kind }) => kind !== 'gain')
  assert.equal(found.takes, 36)
  assert.equal(found.alarms, 0, found.told.join('\n'))
  for (const { cases, kind, missed } of dead) {
    assert.ok(cases >= 4, `${kind}: ${cases} cases`)
    assert.equal(missed, 0, `${kind}\n${table(found)}`)
  }
})
