import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { lock } from '../../../src/system/host/lock.ts'
import { tempDir } from '../../agent/server.ts'

test('one holds it, and the next at once when it is released', async (t) => {
  const file = path.join(tempDir(t), 'lock')
  const first = await lock(file)
  assert.equal(await lock(file), undefined)
  first?.release()
  const second = await lock(file)
  assert.ok(second)
  second.release()
})

test('whoever cannot write it cannot hold it, also where it was open to everybody', async (t) => {
  const dir = tempDir(t)
  const file = path.join(dir, 'lock')
  fs.chmodSync(dir, 0o755)
  fs.writeFileSync(file, '')
  fs.chmodSync(file, 0o666)
  ;(await lock(file))?.release()
  assert.equal(fs.statSync(file).mode & 0o777, 0o600)
  if (process.getuid?.() !== 0) return
  const other = spawnSync('setpriv', ['--reuid', '65534', '--clear-groups', 'flock', '--nonblock', file, 'true'])
  assert.notEqual(other.status, 0, 'another user of the box takes it')
})

test('programs that are started meanwhile do not keep it', async (t) => {
  const file = path.join(tempDir(t), 'lock')
  const held = await lock(file)
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  held?.release()
  const next = await lock(file)
  assert.ok(next)
  next.release()
})
