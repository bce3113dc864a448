// File systems of their own for tests: small ones, or with other rules.
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import type { TestContext } from 'node:test'

/** A small file system of its own, in bytes; undefined (the test is skipped) where none can be mounted. */
export function smallDisk(t: TestContext, bytes: number, options: readonly string[] = []): string | undefined {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', [`size=${bytes}`, ...options].join(','), 'tmpfs', dir], {
      stdio: 'ignore',
    })
  } catch {
    fs.rmdirSync(dir)
    t.skip('a small disk can only be mounted by root')
    return undefined
  }
  t.after(() => {
    execFileSync('umount', ['-l', dir])
    fs.rmdirSync(dir)
  })
  return dir
}
