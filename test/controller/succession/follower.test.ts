import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../../src/controller/config.ts'
import { shutIn } from '../../../src/controller/sealed.store.ts'
import { copyDatabase } from '../../../src/controller/store/backup.ts'
import { Db } from '../../../src/controller/store/db.ts'
import { Follower } from '../../../src/controller/succession/follower.ts'
import type { LeaseClient } from '../../../src/controller/succession/leaseclient.ts'
import { placeOf } from '../../../src/controller/succession/place.rules.ts'
import { kit } from '../../kit/kit.ts'
import { scratchDir } from '../../kit/scratch.ts'

const KEY = 'kit-secret-key-0123456789'

/** The copy of a controller that keeps one password sealed. */
async function copied(): Promise<string> {
  const lease = { silence: undefined, term: 3 } as LeaseClient
  const k = kit({ file: path.join(scratchDir('roomtone-followed-'), 'roomtone.db'), lease })
  await k.start()
  const answer = await k.as('owner').post('/settings/upload-destinations', {
    displayName: 'Share',
    enabled: true,
    kind: 'smb',
    smb: { port: 445, server: 'nas', share: 'takes', username: 'svc' },
    smbPassword: 'password-of-the-share',
  })
  assert.equal(answer.status, 201, answer.text)
  const copy = path.join(scratchDir('roomtone-copied-'), 'copy.db')
  await copyDatabase(k.db, copy, undefined)
  await k.close()
  return copy
}

const configWith = (env: Record<string, string>) => readConfig({ SVC_DATA_DIR: scratchDir('roomtone-key-'), ...env })

test('a box without the key of the controller, or with another, does not open what is sealed; one with it does', async () => {
  const db = new Db(await copied(), undefined, { plain: true })
  assert.deepEqual(shutIn(db, configWith({ SVC_SECRET_KEY: KEY })), { all: 1, shut: 0 })
  assert.deepEqual(shutIn(db, configWith({ SVC_SECRET_KEY: 'the-key-of-another-site' })), { all: 1, shut: 1 })
  const none = configWith({})
  assert.deepEqual(shutIn(db, none), { all: 1, shut: 1 })
  await fs.writeFile(path.join(none.SVC_DATA_DIR, 'secret.key'), `${KEY}\n`)
  assert.deepEqual(shutIn(db, none), { all: 1, shut: 0 })
  db.close()
})

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
