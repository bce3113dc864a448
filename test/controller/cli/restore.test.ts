import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { Db } from '../../../src/controller/store/db.ts'
import { ROOT } from '../../kit/executable.ts'
import { kit } from '../../kit/kit.ts'
import { scratchDir } from '../../kit/scratch.ts'

function restore(source: string, on: string) {
  const env = { ...process.env, SVC_DATA_DIR: on }
  return spawnSync(process.execPath, [path.join(ROOT, 'src/main.ts'), 'restore', source], { encoding: 'utf8', env })
}

test('a restore brings back no link, code or token that may have been revoked or used since; recorders stay enrolled', async (t) => {
  const dir = scratchDir('roomtone-restore-')
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }))
  const [backup, on] = [path.join(dir, 'backup.db'), path.join(dir, 'restored')]
  const k = kit()
  const admin = k.as('admin')
  const { id, token } = await k.enroll()
  assert.equal((await admin.post('/auth/display-links', { name: 'Foyer', site: 'North' })).status, 201)
  assert.equal((await admin.post(`/nodes/${id}/pairing-code`, {})).status, 201)
  k.sql(
    `INSERT INTO bootstrap_tokens (token_hash, token_prefix, node_id, created_at, expires_at) VALUES ('h', 'p', ?, ?, '2099-01-01T00:00:00.000Z')`,
    id,
    k.now(),
  )
  k.sql("INSERT INTO sign_in_links VALUES ('h', 'admin', ?, '2099-01-01T00:00:00.000Z')", k.now())
  await k.tick('take-manifests')
  assert.deepEqual(k.rows('SELECT 1 FROM manifest_walks'), [])
  k.db.raw.prepare('VACUUM INTO ?').run(backup)
  await k.close()

  const { status, stderr, stdout } = restore(backup, on)
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^Display links have ended; make new ones for: Foyer\.$/m)
  const again = kit({ file: path.join(on, 'roomtone.db') })
  for (const table of ['display_links', 'display_screens', 'pairing_codes', 'sign_in_links'])
    assert.deepEqual(again.rows(`SELECT * FROM ${table}`), [], table)
  assert.deepEqual(again.rows('SELECT kind, seq FROM manifest_walks'), [{ kind: 'all', seq: 0 }])
  const open = 'SELECT 1 FROM bootstrap_tokens WHERE consumed_at IS NULL AND revoked_at IS NULL'
  assert.deepEqual([again.rows(open), again.rows('SELECT 1 FROM sessions WHERE revoked_at IS NULL')], [[], []])
  assert.equal((await again.bearer(token).get(`/nodes/${id}/config`)).status, 200)
  await again.close()
})

test('a restore tells when the key is missing or another one, before a start makes a new one', async (t) => {
  const dir = scratchDir('roomtone-restore-')
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }))
  const [backup, on, other] = [path.join(dir, 'backup.db'), path.join(dir, 'restored'), path.join(dir, 'with')]
  const k = kit()
  const s3 = { accessKeyId: 'key', bucket: 'takes', endpoint: 'https://store.example' }
  const archive = { displayName: 'Archive', enabled: true, kind: 's3', s3, s3SecretAccessKey: 'secret' }
  assert.equal((await k.as('owner').post('/settings/upload-destinations', archive)).status, 201)
  k.db.raw.prepare('VACUUM INTO ?').run(backup)
  await k.close()
  const missing =
    /^The key that opens 1 sealed secret of this database is not here: put the one .* into .*secret\.key before/m
  const first = restore(backup, on)
  assert.equal(first.status, 0, first.stderr)
  assert.match(first.stdout, missing)
  fs.mkdirSync(other)
  fs.writeFileSync(path.join(other, 'secret.key'), 'another key than that of the backup\n')
  const second = restore(backup, other)
  assert.equal(second.status, 0, second.stderr)
  assert.match(second.stdout, missing)
})

test('a restore that is refused leaves nothing behind', (t) => {
  const dir = scratchDir('roomtone-restore-')
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }))
  const [backup, on] = [path.join(dir, 'backup.db'), path.join(dir, 'data')]
  const foreign = new Db(backup)
  foreign.raw.exec('CREATE TABLE t (n INTEGER); PRAGMA user_version = 9999')
  foreign.close()
  assert.equal(restore(backup, on).status, 2)
  assert.deepEqual(
    fs.readdirSync(on).filter((name) => name.startsWith('roomtone.db')),
    [],
  )
})
