// Where a setup file comes from: a file, a directory, a stick, or the image of one.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { UserError } from '../../kernel/fail.ts'
import { SETUP_FILE, SETUP_FILE_MAX } from '../../wire/provision.ts'
import { discardFile, type Report, readFileStrictly, reportInto } from './directory.ts'
import type { Permits } from './permits.ts'
import { errand } from './stick.ts'

export interface Source {
  /** Overwrites and removes the setup file. */
  discard(): void
  /** @throws UserError */
  read(): Promise<Uint8Array>
  /** Writes the result back to where the file came from. Throws on failure. */
  report(report: Report): Promise<void>
}

/** The first of these places that has a setup file. @throws UserError when none has */
export function sourceOf(places: readonly string[], permits: Permits, signal: AbortSignal): Source {
  for (const place of places) {
    const source = sourceAt(place, permits, signal)
    if (source) return source
  }
  throw new UserError(`No ${SETUP_FILE} found in ${places.join(', ')}.`)
}

function sourceAt(place: string, permits: Permits, signal: AbortSignal): Source | undefined {
  // Devices (/dev/disk/by-label) and directories may be links; the file itself may not.
  const stat = fs.statSync(place, { throwIfNoEntry: false })
  if (!stat) return undefined
  if (stat.isBlockDevice()) return device(place, permits, signal)
  if (stat.isDirectory()) {
    const file = path.join(place, SETUP_FILE)
    return fs.lstatSync(file, { throwIfNoEntry: false }) ? plain(file) : undefined
  }
  return stat.isFile() && stat.size > SETUP_FILE_MAX && !beginsAsJson(place)
    ? device(place, permits, signal)
    : plain(place)
}

const plain = (file: string): Source => ({
  discard: () => discardFile(file),
  read: async () => readFileStrictly(file),
  report: async (report) => reportInto(path.dirname(file), report),
})

const device = (place: string, { fileSystems }: Permits, signal: AbortSignal): Source => ({
  discard: () => {
    throw new UserError(
      `The file on ${place} was not removed: write the stick with --write-back to have its entry removed.`,
    )
  },
  read: () => errand(fs.realpathSync(place), { fileSystems, task: 'read' }, signal),
  report: async (report) =>
    void (await errand(fs.realpathSync(place), { fileSystems, task: 'report', ...report }, signal)),
})

/** Tells an oversized setup file from an image. */
function beginsAsJson(file: string): boolean {
  const handle = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  try {
    const bytes = Buffer.alloc(64)
    fs.readSync(handle, bytes, 0, bytes.length, 0)
    return /^\uFEFF?\s*\{/.test(bytes.toString('utf8'))
  } finally {
    fs.closeSync(handle)
  }
}
