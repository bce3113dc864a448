import { existsSync, mkdirSync } from 'node:fs'
import * as path from 'node:path'
import { faultWords } from './words.ts'

/**
 * Makes a directory and what is missing above it, one step at a time: the recursive mkdir of Node never returns where
 * the file system answers a creation with ENOENT (/proc). @throws Error whose message names the directory and why.
 */
export function makeDir(dir: string, mode = 0o750): void {
  const missing: string[] = []
  for (let at = path.resolve(dir); !existsSync(at); at = path.dirname(at)) missing.unshift(at)
  try {
    for (const step of missing) makeOne(step, mode)
  } catch (e) {
    throw new Error(`The directory ${dir} cannot be made: ${faultWords(e)}.`, { cause: e })
  }
}

function makeOne(dir: string, mode: number): void {
  try {
    mkdirSync(dir, { mode })
  } catch (e) {
    // Another start was faster.
    if ((e as NodeJS.ErrnoException).code !== 'EEXIST') throw e
  }
}
