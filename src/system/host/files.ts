// Durable, atomic file updates.
import * as crypto from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'

/** fsync of a file or directory. */
export function syncPath(file: string): void {
  const handle = fs.openSync(file, 'r')
  try {
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}

/** Atomic, also across a power cut: temporary file, fsync, rename. Keeps the owner of an existing file. */
export function replaceFile(file: string, content: string | Uint8Array, mode: number): void {
  const before = fs.statSync(file, { throwIfNoEntry: false })
  const temporary = `${file}.${crypto.randomBytes(6).toString('hex')}`
  const handle = fs.openSync(temporary, 'wx', mode)
  try {
    fs.writeFileSync(handle, content)
    // Whatever the umask.
    fs.fchmodSync(handle, mode)
    if (before && process.geteuid?.() === 0) fs.fchownSync(handle, before.uid, before.gid)
    fs.fsyncSync(handle)
    fs.renameSync(temporary, file)
    syncPath(path.dirname(file))
  } catch (e) {
    fs.rmSync(temporary, { force: true })
    throw e
  } finally {
    fs.closeSync(handle)
  }
}

/** Lines of a file; none without a file. */
export const linesOf = (file: string): string[] => {
  const content = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  return content.split('\n').filter((line, i, all) => line !== '' || i < all.length - 1)
}

const MAX_TEXT_BYTES = 1024 * 1024

/**
 * For reading another user's file as root: only a regular file of at most a megabyte, never through a link, never waiting
 * for a pipe. Undefined for anything else, or when it is missing.
 */
export function readSmall(file: string): string | undefined {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants
  let handle: number
  try {
    handle = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (e) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes((e as NodeJS.ErrnoException).code ?? '')) return undefined
    throw e
  }
  try {
    const stat = fs.fstatSync(handle)
    return stat.isFile() && stat.size <= MAX_TEXT_BYTES ? fs.readFileSync(handle, 'utf8') : undefined
  } finally {
    fs.closeSync(handle)
  }
}
