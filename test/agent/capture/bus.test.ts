import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBus, type Opening } from '../../../src/agent/capture/bus.ts'

const opening: Opening = {
  device: 'hw:1',
  format: { channels: 1, format: 'S16_LE', rate: 8000 },
  interfaceRef: 'hw:CARD=Desk,DEV=0',
  test: false,
}

test('whoever subscribes late hears of what is open, and of nothing after it is closed', () => {
  const bus = createBus()
  bus.opened(opening)
  const heard: string[] = []
  const forget = bus.subscribe({ block: () => void heard.push('block'), opened: () => void heard.push('opened') })
  bus.block(opening, Buffer.alloc(2), 0)
  forget()
  bus.block(opening, Buffer.alloc(2), 0)
  bus.closed(opening)
  bus.subscribe({ block: () => {}, opened: () => void heard.push('again') })
  assert.deepEqual([heard, bus.openings()], [['opened', 'block'], []])
})

test("a listener that throws is told, hears no more, and is in nobody else's way", () => {
  const faults: unknown[] = []
  const bus = createBus((e) => faults.push(e))
  let [bad, good] = [0, 0]
  bus.subscribe({
    block: () => {
      bad++
      throw new Error('meter broke')
    },
  })
  bus.subscribe({ block: () => void good++ })
  bus.block(opening, Buffer.alloc(2), 0)
  bus.block(opening, Buffer.alloc(2), 0)
  assert.deepEqual([bad, good, String(faults[0]), faults.length], [1, 2, 'Error: meter broke', 1])
})
