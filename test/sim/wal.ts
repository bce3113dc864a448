// SQLite writes its own files; what of its journal was not synced is cut off here as a power cut would.
import * as fs from 'node:fs'
import type { Random } from './random.ts'

const { closeSync, fstatSync, ftruncateSync, openSync, readSync } = fs

/** Up to where a WAL is on the disk. */
export interface WalMark {
  end: number
  salt: string
}

const HEADER = 32
const FRAME_HEADER = 24

/** Behind the last frame of the WAL's present run; leftovers of an earlier one do not count. `since`: an earlier answer. */
export function walEnd(fd: number, since?: WalMark): WalMark {
  const head = Buffer.alloc(HEADER)
  if (readSync(fd, head, 0, HEADER, 0) < HEADER) return { end: 0, salt: '' }
  const step = FRAME_HEADER + head.readUInt32BE(8)
  const salt = head.toString('hex', 16, 24)
  const frame = Buffer.alloc(FRAME_HEADER)
  const { size } = fstatSync(fd)
  let end = since?.salt === salt ? since.end : HEADER
  while (end + step <= size && readSync(fd, frame, 0, FRAME_HEADER, end) && frame.toString('hex', 8, 16) === salt)
    end += step
  return { end, salt }
}

/**
 * Cuts the WAL at any byte behind what was synced. Where it began anew since, all of the older run was moved into the
 * database, and synced, before.
 */
export function loseWal(file: string, synced: WalMark, random: Random): void {
  const fd = openSync(file, 'r+')
  const now = walEnd(fd)
  const safe = synced.salt === now.salt ? synced.end : Math.min(HEADER, now.end)
  ftruncateSync(fd, random.whole(Math.min(safe, now.end), now.end))
  closeSync(fd)
}
