// roomtone check: whether the database and every file it names are there and intact.

import * as path from 'node:path'
import { systemClock } from '../../kernel/clock.ts'
import { sizeOf } from '../../kernel/durable.ts'
import { misuse } from '../../kernel/fail.ts'
import { orphans } from '../recordings/retention/orphans.ts'
import type { Db } from '../store/db.ts'
import { embedded, schemaOf } from '../store/migrate.ts'
import { checksumOf, type StoredFile, storedFiles } from './takes.ts'
import { type ControllerFiles, ENVIRONMENT_HELP, openDatabase, progress, runVerb, say } from './verb.ts'

const HELP = `usage: roomtone check [--deep | --database]

Checks the controller's database, that every stored take is there with its size, and which files in the takes
directory belong to nothing. Changes nothing; the controller may be running.

  --deep       also reads every take and compares its checksum
  --database   the database alone

${ENVIRONMENT_HELP}
Exit code 1: faults were found, one per line. Files that belong to nothing are listed, but are no fault.
`

/** A younger file may not be in the database yet. */
const FRESH_MS = 3_600_000

export const main = (args: string[]): Promise<number> =>
  runVerb(args, {
    help: HELP,
    options: { database: { type: 'boolean' }, deep: { type: 'boolean' } },
    run: async (positionals, { database, deep }, place) => {
      if (positionals[0]) throw misuse('roomtone check takes no argument: see roomtone check --help.')
      if (database && deep) throw misuse('--database leaves the takes out, --deep reads them: keep one of the two.')
      const db = openDatabase(place)
      try {
        return database ? checkDatabase(db) : await checkAll(db, place, Boolean(deep))
      } finally {
        db.close()
      }
    },
  })

function checkDatabase(db: Db): number {
  const faults = databaseFaults(db)
  say(faults.length === 0 ? 'The database is whole.\n' : faults.map((fault) => `${fault}\n`).join(''))
  return faults.length === 0 ? 0 : 1
}

async function checkAll(db: Db, place: ControllerFiles, deep: boolean): Promise<number> {
  let faults = databaseFaults(db)
  const tell = progress()
  let known = 0
  for (const file of storedFiles(db)) {
    known++
    faults = faults.concat(await takeFault(place.takes, file, deep))
    tell(`audio: ${known} files so far`)
  }
  const orphanFiles: string[] = []
  for await (const stranger of orphans(db, place.takes, systemClock.now(), FRESH_MS)) orphanFiles.push(stranger.path)
  for (const fault of faults) say(`${fault}\n`)
  for (const file of orphanFiles) say(`belongs to nothing: ${file}\n`)
  const takes = `${known} files ${deep ? 'read and compared' : 'in place'}`
  say(
    `${faults.length === 0 ? `The database is whole, ${takes}` : `${faults.length} faults`}; ${orphanFiles.length} files belong to nothing.\n`,
  )
  return faults.length === 0 ? 0 : 1
}

function databaseFaults(db: Db): string[] {
  const faults = (db.raw.pragma('integrity_check') as { integrity_check: string }[])
    .map((row) => row.integrity_check)
    .filter((line) => line !== 'ok')
    .map((line) => `database: ${line}`)
  for (const row of db.raw.pragma('foreign_key_check') as { parent: string; rowid: number; table: string }[])
    faults.push(`database: row ${row.rowid} of ${row.table} names a row of ${row.parent} that is not there`)
  const [have, known] = [schemaOf(db), embedded().length]
  if (have !== known) faults.push(`database: it has schema ${have}, this version has ${known}`)
  return faults
}

async function takeFault(root: string, { checksum, path: relative, sizeBytes }: StoredFile, deep: boolean) {
  const file = path.join(root, relative)
  const size = await sizeOf(file)
  if (size === undefined) return [`missing: ${relative}`]
  if (size !== sizeBytes) return [`damaged: ${relative} has ${size} bytes, was stored with ${sizeBytes}`]
  if (deep && (await checksumOf(file)) !== checksum) return [`damaged: ${relative} is not what was stored`]
  return []
}
