import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sizeText } from '../../src/kernel/size.ts'

test('sizes are told in a unit that says something', () => {
  const cases: [number, string][] = [
    [0, '0 bytes'],
    [1, '1 byte'],
    [1023, '1023 bytes'],
    [1024, '1.0 KiB'],
    [300_000, '293 KiB'],
    [2 ** 20 - 1, '1.0 MiB'],
    [3.4 * 2 ** 20, '3.4 MiB'],
    [99.97 * 2 ** 30, '100 GiB'],
    [2 ** 52, '4096 TiB'],
  ]
  for (const [bytes, text] of cases) assert.equal(sizeText(bytes), text)
})
