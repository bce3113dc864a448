import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calendarStore, type Planned, type Stamped } from '../../../src/controller/schedules/calendar.store.ts'
import { zoneBook } from '../../../src/kernel/zones.ts'
import { kit } from '../../kit/kit.ts'

test('more schedules than are kept push each other out no longer, and make way once they are gone', async () => {
  const k = kit()
  const make = (from: number, to: number): Stamped[] => {
    const ids = Array.from({ length: to - from }, (_, n) => `s${from + n}`)
    k.db.tx(() => {
      for (const id of ids)
        k.sql('INSERT INTO schedules (id, name, created_at, updated_at) VALUES (?, ?, ?, ?)', id, id, k.now(), k.now())
    })
    return k.rows<{ id: string; stamp: number }>('SELECT id, stamp FROM schedules').map((r) => [r.id, r.stamp] as const)
  }
  const store = calendarStore(k.db, zoneBook())
  const look = (of: readonly Stamped[]): Planned[] => [...store.planned(of)].flat()
  const again = (of: readonly Stamped[]): number => {
    const before = new Set(look(of))
    return look(of).filter((one) => before.has(one)).length
  }
  const all = make(0, 8200)
  assert.equal(again(all), 8000)
  const others = all.slice(8000)
  assert.equal(again(others), 200)
  await k.close()
})
