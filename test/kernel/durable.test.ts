import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { removeGently } from '../../src/kernel/durable.ts'
import { scratchDir } from '../kit/scratch.ts'

const dir = scratchDir('roomtone-durable-')
const MIB = 1024 * 1024

test('a large file is removed piece by piece; one that is not there is fine', async () => {
  const file = path.join(dir, 'large')
  fs.writeFileSync(file, '')
  fs.truncateSync(file, 50 * MIB)
  await removeGently(file)
  assert.equal(fs.existsSync(file), false)
  await removeGently(file)
})

test('what is interrupted can be removed later', async () => {
  const file = path.join(dir, 'interrupted')
  fs.writeFileSync(file, '')
  fs.truncateSync(file, 200 * MIB)
  const stop = new AbortController()
  const removal = removeGently(file, stop.signal)
  stop.abort()
  await assert.rejects(removal, { name: 'AbortError' })
  const left = fs.statSync(file).size
  assert.ok(left > 0 && left < 200 * MIB)
  await removeGently(file)
  assert.equal(fs.existsSync(file), false)
})
