// Loads the SQLite addon out of the executable. Outside of it the package finds its own prebuilt file.
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { assetBytes, inExecutable } from '../../kernel/assets.ts'

interface Addon {
  /** Goes into better-sqlite3's `nativeBinding`. */
  binding: object
  /** What a worker thread opens with `sharedAddon`, so that the process keeps ONE copy of SQLite. */
  path: string
  /** `nameless:<dir>`, `named:<dir>` or `shared`, for the log. */
  how: string
}

const O_TMPFILE = 0o20000000 | fs.constants.O_DIRECTORY

// The one deliberate piece of module state: a second copy of SQLite in a process silently drops the POSIX locks
// of the first (closing any descriptor of a file releases them), so a second call must get the first one's addon.
let loaded: Addon | undefined

/**
 * The addon inside the executable, `undefined` outside of it. Tries the directories in order and needs one that is
 * writable and allows execution; nothing is left behind in it.
 * @throws Error naming every directory and why it failed.
 */
export function loadAddon(dirs: readonly string[]): Addon | undefined {
  if (inExecutable) loaded ??= unpackAddon(assetBytes('native/better_sqlite3.node'), dirs)
  return loaded
}

/** In a worker thread: the addon that the main thread loaded, by its `path`. */
export const sharedAddon = (file: string): Addon => ({ binding: dlopen(file), path: file, how: 'shared' })

/** `loadAddon` for given bytes, without the cache; separate so that a test can point it at bad directories. */
export function unpackAddon(bytes: Uint8Array, dirs: readonly string[]): Addon {
  const refused: string[] = []
  for (const dir of new Set(dirs)) {
    for (const unpack of [nameless, named]) {
      try {
        return unpack(dir, bytes)
      } catch (e) {
        // Read-only, noexec, missing, no O_TMPFILE: the next attempt may work, and the final error lists them all.
        refused.push(`${dir} (${unpack.name}): ${(e as Error).message.split('\n')[0]}`)
      }
    }
  }
  const hint = 'Set SVC_NATIVE_DIR to a writable directory on a file system that is not mounted noexec.'
  throw new Error(`The SQLite addon cannot be loaded. ${hint} Tried: ${refused.join('; ') || 'no directory'}`)
}

// No name: nothing to clean up, nobody can swap it, any number of starts at once.
function nameless(dir: string, bytes: Uint8Array): Addon {
  return map(fs.openSync(dir, O_TMPFILE | fs.constants.O_RDWR, 0o700), bytes, `nameless:${dir}`)
}

// File systems without O_TMPFILE (some overlays, NFS): a private 0700 directory, gone again once the file is open.
function named(dir: string, bytes: Uint8Array): Addon {
  const own = fs.mkdtempSync(path.join(dir, 'roomtone-'))
  try {
    return map(fs.openSync(path.join(own, 'better_sqlite3.node'), 'wx+', 0o700), bytes, `named:${dir}`)
  } finally {
    fs.rmSync(own, { recursive: true, force: true })
  }
}

function map(fd: number, bytes: Uint8Array, how: string): Addon {
  try {
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(fd, bytes, at)
    const file = `/proc/self/fd/${fd}`
    // The descriptor stays open on purpose: workers dlopen the same path and glibc hands them the same mapping.
    return { binding: dlopen(file), path: file, how }
  } catch (e) {
    fs.closeSync(fd)
    throw e
  }
}

function dlopen(file: string): object {
  const module = { exports: {} }
  process.dlopen(module, file, os.constants.dlopen.RTLD_NOW)
  return module.exports
}
