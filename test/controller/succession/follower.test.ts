import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { test } from 'node:test'
import { Follower } from '../../../src/controller/succession/follower.ts'
import { placeOf } from '../../../src/controller/succession/place.rules.ts'
import { scratchDir } from '../../kit/scratch.ts'
import { copied } from './world.ts'

test('a copy that this box cannot open is none, also when it had one before, and the reason is told', async () => {
  const copy = await copied()
  const said: string[] = []
  const say = (message: string) => void said.push(message)
  let shut: string | undefined
  const follower = new Follower({
    addonPath: undefined,
    dir: scratchDir('roomtone-standby-'),
    intervalMs: 1000,
    keyFault: () => shut,
    litestream: {
      replicate: () => Promise.reject(new Error('a standby does not replicate')),
      restore: (_, file) => fs.copyFile(copy, file),
    },
    log: { debug: say, error: say, info: say, warn: say },
    replica: placeOf('s3://bucket/database')!,
    term: () => 3,
  })
  const { pulse } = await follower.follow()
  assert.equal(pulse.term, 3)
  shut = 'the key is another'
  await assert.rejects(follower.follow(), /the key is another/)
  assert.deepEqual([follower.copy, follower.fault], [undefined, 'the key is another'])
  shut = undefined
  await follower.follow()
  assert.deepEqual([follower.copy?.pulse.term, follower.fault], [3, undefined])
})
