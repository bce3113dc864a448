import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeDir } from '../../src/kernel/dirs.ts'

test('directories are made with their mode, again without effect, and a refusal says which and why', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'roomtone-dirs-'))
  t.after(() => rmSync(root, { recursive: true }))
  const deep = join(root, 'a/b')
  makeDir(deep, 0o700)
  makeDir(deep, 0o700)
  assert.equal(statSync(deep).mode & 0o777, 0o700)
  assert.throws(() => makeDir('/proc/roomtone/data'), /The directory \/proc\/roomtone\/data cannot be made: /)
})
