import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inventory } from '../../../src/agent/inventory/inventory.ts'
import { LatestInventory } from '../../../src/agent/inventory/latest.ts'

/** Lists that end when the test says so; each is told apart by its host's name. */
function lists() {
  const ends: (() => void)[] = []
  let now = 0
  const collect = () => {
    const hostname = `list ${ends.length + 1}`
    return new Promise<Inventory>((resolve) => ends.push(() => resolve({ hostname } as Inventory)))
  }
  const latest = new LatestInventory(collect, { monotonic: () => now }, 1000)
  const get = async () => (await latest.get()).hostname
  return { at: (ms: number) => (now = ms), changed: () => latest.changed(), ends, get }
}

test('devices are listed once, and again when the list is old', async () => {
  const { at, ends, get } = lists()
  const first = get()
  ends[0]?.()
  assert.equal(await first, 'list 1')
  at(999)
  assert.equal(await get(), 'list 1')
  at(1000)
  const second = get()
  ends[1]?.()
  assert.equal(await second, 'list 2')
})

test('a card plugged in while devices are being listed is in the next list', async () => {
  const { changed, ends, get } = lists()
  const first = get()
  changed()
  ends[0]?.()
  assert.equal(await first, 'list 1')
  const second = get()
  ends[1]?.()
  assert.equal(await second, 'list 2')
  assert.equal(await get(), 'list 2')
})
