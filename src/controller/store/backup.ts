import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { hasCode, removeGently, syncDir } from '../../kernel/durable.ts'
import { Db } from './db.ts'

/** Pages of the copy made between two looks at the time. */
const PAGES_PER_STEP = 2000

interface CopyProgress {
  pages: number
  total: number
}

/**
 * One consistent copy of an open database as a single file, durable when it settles; writers go on meanwhile. The copy
 * is made beside `file` and takes its name only whole and checked.
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

/** A second name for the copy that is about to be replaced: its gigabytes must not go away at once. */
async function linkOld(file: string): Promise<string> {
  const old = `${file}.old`
  await removeGently(old)
  try {
    await fs.link(file, old)
  } catch (e) {
    // There was none, or the file system knows no second names: it is replaced in one go.
    if (!['ENOENT', 'ENOSYS', 'ENOTSUP', 'EPERM'].some((code) => hasCode(e, code))) throw e
  }
  return old
}

async function copyPages(from: Db, part: string, onProgress: (progress: CopyProgress) => void): Promise<void> {
  // A read transaction of our own: the copy is of this moment and does not begin anew with each write.
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

// Step by step: were gigabytes left to be written at the end, every commit of the running controller would wait behind them.
function flushFile(file: string): void {
  const to = openSync(file, 'r+')
  try {
    fdatasyncSync(to)
  } finally {
    closeSync(to)
  }
}

/** What SQLite finds wrong with a database file, as one line; undefined when nothing is. Leaves it a single file. */
export function checkDatabase(file: string, addon: object | undefined): string | undefined {
  const db = new Db(file, addon, { plain: true })
  try {
    db.raw.pragma('journal_mode = DELETE')
    const said = db.raw.pragma('quick_check', { simple: true }) as string
    return said === 'ok' ? undefined : said.split('\n')[0]
  } finally {
    db.close()
  }
}
