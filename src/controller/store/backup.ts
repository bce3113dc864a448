import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { hasCode, removeGently, syncDir } from '../../kernel/durable.ts'
import { Db } from './db.ts'

/** Pages copied before other work gets the event loop. */
const PAGES_PER_STEP = 2000

interface CopyProgress {
  pages: number
  total: number
}

/**
 * One consistent copy of an open database as a single file, durable when it settles; writers continue meanwhile. The copy
 * is made next to `file` and gets that name only when it is complete and checked.
 * @throws Error when the copy does not pass SQLite's check.
 */
export async function copyDatabase(
  from: Db,
  file: string,
  addon: object | undefined,
  onProgress: (progress: CopyProgress) => void = () => {},
): Promise<void> {
  const part = `${file}.part`
  await removeGently(part)
  await copyPages(from, part, onProgress)
  const fault = checkDatabase(part, addon)
  if (fault) throw new Error(`The copy of the database is damaged: ${fault}.`)
  const handle = await fs.open(part, 'r+')
  await handle.sync()
  await handle.close()
  const old = await linkOld(file)
  await fs.rename(part, file)
  await syncDir(path.dirname(file))
  await removeGently(old)
}

/** Links the copy that is about to be replaced to a second name: deleting gigabytes at once would block the disk. */
async function linkOld(file: string): Promise<string> {
  const old = `${file}.old`
  await removeGently(old)
  try {
    await fs.link(file, old)
  } catch (e) {
    // There was none, or the file system has no hard links: it is replaced in one go.
    if (!['ENOENT', 'ENOSYS', 'ENOTSUP', 'EPERM'].some((code) => hasCode(e, code))) throw e
  }
  return old
}

async function copyPages(from: Db, part: string, onProgress: (progress: CopyProgress) => void): Promise<void> {
  // A read transaction of our own: the copy is a snapshot of now, and a write does not restart it.
  from.raw.exec('BEGIN')
  try {
    from.raw.prepare('SELECT count(*) FROM sqlite_schema').get()
    await from.raw.backup(part, {
      progress: ({ remainingPages, totalPages }) => {
        onProgress({ pages: totalPages - remainingPages, total: totalPages })
        flushFile(part)
        return PAGES_PER_STEP
      },
    })
  } finally {
    from.raw.exec('ROLLBACK')
  }
}

// After each step: flushing gigabytes once at the end would make every commit of the running controller wait.
function flushFile(file: string): void {
  const to = openSync(file, 'r+')
  try {
    fdatasyncSync(to)
  } finally {
    closeSync(to)
  }
}

/** What SQLite finds wrong with a database file, one line; undefined when nothing is. Leaves a single file, without a WAL. */
export function checkDatabase(file: string, addon: object | undefined): string | undefined {
  const db = new Db(file, addon, { plain: true })
  try {
    db.raw.pragma('journal_mode = DELETE')
    const verdict = db.raw.pragma('quick_check', { simple: true }) as string
    return verdict === 'ok' ? undefined : verdict.split('\n')[0]
  } finally {
    db.close()
  }
}
