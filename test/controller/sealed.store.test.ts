import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../src/controller/config.ts'
import { shutIn } from '../../src/controller/sealed.store.ts'
import { Db } from '../../src/controller/store/db.ts'
import { scratchDir } from '../kit/scratch.ts'
import { copied } from './succession/world.ts'

const KEY = 'kit-secret-key-0123456789'

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
