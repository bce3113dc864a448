// An exclusive lock on this box, released by the kernel when its process ends.
import * as fs from 'node:fs'
import { UserError } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'
import { run } from './run.ts'

const TAKEN = 75
// Whoever can open the file can take the lock.
const MODE = 0o600

/**
 * Holds `file` until `release` is called or this process ends; undefined when another one holds it. flock(1) locks our open
 * file and exits; the lock lives as long as our handle, which no other child inherits. The file is never removed, or two
 * processes could hold the lock.
 * @throws UserError when it cannot be taken at all
 */
export async function lock(file: string): Promise<{ release: () => void } | undefined> {
  const handle = opened(file)
  try {
    const code = await locked(handle)
    if (code === 0) return { release: () => fs.closeSync(handle) }
    if (code !== TAKEN) throw new UserError(`The lock ${file} cannot be taken: flock ended with ${code}.`)
  } catch (e) {
    fs.closeSync(handle)
    throw e
  }
  fs.closeSync(handle)
  return undefined
}

function opened(file: string): number {
  try {
    const handle = fs.openSync(file, 'a', MODE)
    fs.fchmodSync(handle, MODE)
    return handle
  } catch (e) {
    throw new UserError(`The lock ${file} cannot be taken: ${faultWords(e)}.`)
  }
}

async function locked(handle: number): Promise<number | string | null> {
  const args = ['--nonblock', '--conflict-exit-code', String(TAKEN), '3']
  const { code, signal } = await run('flock', args, { more: [handle] }).catch((e: Error) => {
    throw new UserError(`${e.message} (package util-linux).`)
  })
  return code ?? signal
}
