// The stamp of the last backup, in the data directory: `roomtone doctor` reads it.
import * as path from 'node:path'
import { jsonOf } from '../../kernel/http.ts'
import { asOwnerOf } from '../../system/host/accounts.ts'
import { readSmall, replaceFile } from '../../system/host/files.ts'

interface BackupStamp {
  /** ISO 8601. */
  at: string
  /** Where the backup was made, on that machine. */
  target: string
}

const stampFile = (dataDir: string): string => path.join(dataDir, 'last-backup.json')

/** With the rights of the directory's owner, whoever makes the backup. Throws errors of the disk. */
export const stampBackup = (dataDir: string, stamp: BackupStamp): void =>
  asOwnerOf(dataDir, () => replaceFile(stampFile(dataDir), `${JSON.stringify(stamp)}\n`, 0o640))

/** Undefined when none was made, or the stamp cannot be read. */
export function lastBackup(dataDir: string): BackupStamp | undefined {
  const file = stampFile(dataDir)
  const { at, target } = Object(jsonOf(readSmall(file) ?? '')) as Partial<BackupStamp>
  return typeof at === 'string' && !Number.isNaN(Date.parse(at)) && typeof target === 'string'
    ? { at, target }
    : undefined
}
