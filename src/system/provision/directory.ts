// The directory of a setup file: a local one, a boot partition, or a mounted stick. Its content is not trusted.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { UserError } from '../../kernel/fail.ts'
import { SETUP_FILE, SETUP_FILE_MAX } from '../../wire/provision.ts'
import { replaceFile } from '../host/files.ts'

export const RESULT_FILE = 'roomtone-result.txt'
/** Bytes; a longer result file is started over. */
const RESULT_MAX = 65_536

/** What is written back to a stick. */
export interface Report {
  /** New content of the setup file; undefined: unchanged. */
  file?: string | undefined
  /** One line. */
  words: string
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = fs.constants

const code = (e: unknown): string => (e as NodeJS.ErrnoException).code ?? 'error'

/** Opens a regular file: never follows a link, waits for a pipe or reads a device. @throws UserError */
function opened(file: string): { handle: number; size: number } {
  let handle: number
  try {
    handle = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (e) {
    if (code(e) === 'ENOENT') throw new UserError(`No ${path.basename(file)} found in ${path.dirname(file)}.`)
    if (code(e) === 'ELOOP') throw new UserError(`${file} is a symbolic link: replace it with the file itself.`)
    throw new UserError(`${file} cannot be read: ${code(e)}.`)
  }
  const stat = fs.fstatSync(handle)
  if (stat.isFile()) return { handle, size: stat.size }
  fs.closeSync(handle)
  throw new UserError(`${file} is not a regular file.`)
}

/** The bytes of a setup file, one more than allowed at most. @throws UserError */
export function readFileStrictly(file: string): Uint8Array {
  const { handle, size } = opened(file)
  try {
    if (size > SETUP_FILE_MAX) throw new UserError(`${file} is larger than ${SETUP_FILE_MAX / 1024} KiB.`)
    const bytes = Buffer.alloc(SETUP_FILE_MAX + 1)
    let filled = 0
    for (;;) {
      const read = fs.readSync(handle, bytes, filled, bytes.length - filled, null)
      filled += read
      if (read === 0 || filled === bytes.length) return bytes.subarray(0, filled)
    }
  } catch (e) {
    throw e instanceof UserError ? e : new UserError(`${file} cannot be read: ${code(e)}. The stick may be damaged.`)
  } finally {
    fs.closeSync(handle)
  }
}

export const readDirectory = (dir: string): Uint8Array => readFileStrictly(path.join(dir, SETUP_FILE))

/** Appends a line to the result and replaces the setup file where a new one is given; synced when this returns. */
export function reportInto(dir: string, { file, words }: Report): void {
  const result = path.join(dir, RESULT_FILE)
  const long = (fs.lstatSync(result, { throwIfNoEntry: false })?.size ?? 0) > RESULT_MAX
  const handle = fs.openSync(result, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | (long ? O_TRUNC : O_APPEND), 0o644)
  try {
    if (!fs.fstatSync(handle).isFile()) throw new Error(`${RESULT_FILE} is not a plain file`)
    // CRLF, for Windows editors.
    fs.writeSync(handle, `${words}\r\n`)
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
  if (file !== undefined) replaceFile(path.join(dir, SETUP_FILE), file, 0o600)
}

/** Overwritten, then removed: it holds a token. */
export function discardFile(file: string): void {
  const { handle: reading, size } = opened(file)
  fs.closeSync(reading)
  const handle = fs.openSync(file, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    fs.writeSync(handle, Buffer.alloc(Math.min(size, SETUP_FILE_MAX), ' '), 0, undefined, 0)
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
  fs.rmSync(file)
}
