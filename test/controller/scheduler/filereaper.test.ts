import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { REMOVED, removeFiles } from '../../../src/controller/http/files.ts'
import { kit } from '../../kit/kit.ts'

const MIB = 1024 * 1024

test('a large take is out of sight at once and away after a pass; a small one goes directly', async () => {
  const k = kit()
  const takes = k.config.SVC_RECORDING_CACHE_DIR
  fs.mkdirSync(path.join(takes, 'ad-hoc'), { recursive: true })
  for (const [name, size] of [
    ['large.wav', 40 * MIB],
    ['small.wav', 1000],
  ] as const) {
    fs.writeFileSync(path.join(takes, 'ad-hoc', name), '')
    fs.truncateSync(path.join(takes, 'ad-hoc', name), size)
  }
  assert.deepEqual(await removeFiles(takes, ['ad-hoc/large.wav', 'ad-hoc/small.wav', 'ad-hoc/none.wav']), [])
  assert.deepEqual(fs.readdirSync(path.join(takes, 'ad-hoc')), [])
  assert.equal(fs.readdirSync(path.join(takes, REMOVED)).length, 1)
  await k.tick('take-removal')
  assert.deepEqual(fs.readdirSync(path.join(takes, REMOVED)), [])
  await k.close()
})
