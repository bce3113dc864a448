import { conflict } from '../../kernel/fail.ts'
import { Db } from './db.ts'

/**
 * One controller per data directory: an exclusive lock on a small database of its own, which the kernel releases
 * with the process, however it ends. @throws Fail 409 when another controller holds it.
 */
export function lockDirectory(file: string, addon: object | undefined): { release(): void } {
  const db = new Db(file, addon, { waitMs: 0, plain: true })
  try {
    db.raw.exec('BEGIN EXCLUSIVE')
  } catch (e) {
    db.close()
    if ((e as { code?: string }).code === 'SQLITE_BUSY')
      throw conflict('data_directory_in_use', 'A controller uses this data directory already: stop it first')
    throw e
  }
  return { release: () => db.close() }
}
