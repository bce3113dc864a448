// Directories of tests that are gone when their process ends, however a test ends.
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'

const made: string[] = []

export function scratchDir(name: string): string {
  if (made.length === 0)
    process.once('exit', () => made.forEach((dir) => void fs.rmSync(dir, { force: true, recursive: true })))
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), name))
  made.push(dir)
  return dir
}
