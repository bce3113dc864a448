import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import { isMountPoint } from '../../../src/system/provision/usbconfig.ts'

test('a mounted directory is known, through a link too; the system, a directory in it and nothing are none', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone mounts-'))
  fs.symlinkSync('/proc', path.join(dir, 'link'))
  const seen = ['/proc', path.join(dir, 'link'), '/', dir, '/proc/self', path.join(dir, 'none')].map(isMountPoint)
  assert.deepEqual(seen, [true, true, false, false, false, false])
  fs.rmSync(dir, { recursive: true })
})
