import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { checksumOfFile } from '../../../kernel/checksum.ts'
import { hasCode, sizeOf } from '../../../kernel/durable.ts'
import { FILE_HELD } from '../../recordings/library/held.rules.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { FileId } from '../copies.store.ts'
import type { Library } from './library.ts'

interface Parts {
  db: Db
  /** Whether destinations are looked through of which nobody knows what they hold: the look waits for that. */
  isMoving: () => boolean
  library: Pick<Library, 'here' | 'notHere'>
  /** Directory of the stored takes. */
  takes: string
}

interface Row extends FileId {
  local: number
  path: string
  sizeBytes: number
}

const EVERY_SECONDS = 5
const SLICE = 500

/**
 * Looks once, after the start, whether the files that destinations hold as well are on this disk: a database that was brought
 * to an empty disk says so of all of them, and where the disk was only not mounted, what is on it counts again. Files that are
 * nowhere else stay as they are told of.
 */
export function presenceRunner({ db, isMoving, library, takes }: Parts): Runner {
  const next = db.stmt<{ after: string; limit: number }, Row & { held: number }>(
    `SELECT f.recording_id AS recordingId, f.checksum, f.path, f.local, f.size_bytes AS sizeBytes,
       ${FILE_HELD} AS held FROM recording_files f
      WHERE f.path > @after ORDER BY f.path LIMIT @limit`,
  )
  let after: string | undefined = ''
  const tick = async () => {
    if (after === undefined || isMoving()) return { looked: 0, missing: 0 }
    const rows = next.all({ after, limit: SLICE })
    let missing = 0
    for (const row of rows)
      if (row.local === 0) await foundAgain(library, takes, row)
      else if (row.held === 1 && (await isMissing(takes, row)) && library.notHere(row)) missing++
    after = rows.length < SLICE ? undefined : rows.at(-1)?.path
    return { looked: rows.length, missing }
  }
  return { name: 'library-presence', enabled: true, intervalSeconds: EVERY_SECONDS, tick }
}

/** Only what has the very bytes. */
async function foundAgain(library: Parts['library'], takes: string, row: Row): Promise<void> {
  const file = path.join(takes, row.path)
  if ((await sizeOf(file)) !== row.sizeBytes) return
  if ((await checksumOfFile(file)) === row.checksum) library.here(row)
}

async function isMissing(takes: string, { path: relative }: Row): Promise<boolean> {
  try {
    await fs.access(path.join(takes, relative))
    return false
  } catch (e) {
    return hasCode(e, 'ENOENT')
  }
}
