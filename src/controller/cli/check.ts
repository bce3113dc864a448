// roomtone check: whether the database and every file it names are there and intact.

import * as path from 'node:path'
import { checksumOfFile } from '../../kernel/checksum.ts'
import { systemClock } from '../../kernel/clock.ts'
import { sizeOf } from '../../kernel/durable.ts'
import { misuse } from '../../kernel/fail.ts'
import { counted } from '../../kernel/words.ts'
import { orphans } from '../recordings/retention/orphans.ts'
import type { Db } from '../store/db.ts'
import { embedded, schemaOf } from '../store/migrate.ts'
import { Elsewhere, remoteFiles } from './remotecheck.ts'
import { type StoredFile, storedFiles } from './takes.ts'
import { type ControllerFiles, ENVIRONMENT_HELP, interruption, openDatabase, progress, runVerb, say } from './verb.ts'

const HELP = `usage: roomtone check [--deep | --database]

Checks the controller's database, that every stored take is there with its size, and which files in the takes
directory belong to nothing. Changes nothing; the controller may be running.

  --deep       also reads every take and compares its checksum; those at destinations alone are read there, all their bytes.
               Ctrl-C ends it, and tells what was found until then
  --database   the database alone

${ENVIRONMENT_HELP}
Exit code 1: faults were found, one per line, or not all was read that was to be. Files that belong to nothing are listed, but are no fault.
`

/** A younger file may not be in the database yet. */
const FRESH_MS = 3_600_000

export const main = (args: string[]): Promise<number> =>
  runVerb(args, {
    help: HELP,
    options: { database: { type: 'boolean' }, deep: { type: 'boolean' } },
    run: async (positionals, { database, deep }, place) => {
      if (positionals[0]) throw misuse(`unexpected argument "${positionals[0]}": see roomtone check --help`)
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

interface Counts {
  /** Files that are at destinations alone. */
  elsewhere: number
  faults: number
  /** Files on this disk. */
  here: number
  strangers: number
  /** Files that were to be read and were not. */
  unread: number
}

/** A check under way: what it has counted, and how it ends early. */
interface Check {
  counts: Counts
  db: Db
  place: ControllerFiles
  signal: AbortSignal
  /** Shows where it is. */
  tell: (line: string) => void
}

async function checkAll(db: Db, place: ControllerFiles, deep: boolean): Promise<number> {
  const counts = { elsewhere: 0, faults: 0, here: 0, strangers: 0, unread: 0 }
  const ending = interruption()
  const check: Check = { counts, db, place, signal: ending.signal, tell: progress() }
  for (const line of databaseFaults(db)) fault(counts, line)
  try {
    await checkHere(check, deep)
    await checkElsewhere(check, deep)
    for await (const { path: stranger } of orphans(db, place.takes, systemClock.now(), FRESH_MS)) {
      counts.strangers++
      say(`belongs to nothing: ${stranger}\n`)
    }
  } catch (e) {
    if (!check.signal.aborted) throw e
  } finally {
    ending.over()
  }
  return told(counts, deep, check.signal.aborted)
}

function fault(counts: Counts, line: string): void {
  counts.faults++
  say(`${line}\n`)
}

async function checkHere({ counts, db, place, signal, tell }: Check, deep: boolean): Promise<void> {
  for (const file of storedFiles(db)) {
    signal.throwIfAborted()
    for (const line of await takeFault(place.takes, file, deep, signal)) fault(counts, line)
    counts.here++
    tell(`audio: ${counts.here} files so far`)
  }
}

/** What is at destinations alone: read there, or only counted. */
async function checkElsewhere({ counts, db, place, signal, tell }: Check, deep: boolean): Promise<void> {
  let reader: Elsewhere | undefined
  try {
    for (const file of remoteFiles(db)) {
      if (deep) reader ??= new Elsewhere(db, place.config, (line) => say(`${line}\n`))
      const outcome = reader ? await reader.read(file, signal) : file.held ? 'sound' : 'damaged'
      counts.elsewhere++
      if (outcome === 'damaged') fault(counts, `lost: ${file.path} is not here, and no sound copy is at a destination`)
      if (outcome === 'unread') counts.unread++
      tell(`audio at destinations: ${counts.elsewhere} files so far`)
    }
  } finally {
    await reader?.close()
  }
}

function told({ elsewhere, faults, here, strangers, unread }: Counts, deep: boolean, isBrokenOff: boolean): number {
  const isWhole = faults === 0 && unread === 0 && !isBrokenOff
  const head = isWhole ? 'The database is whole, ' : `${counted(faults, 'fault')}; `
  const done = deep
    ? `${counted(here + elsewhere - unread, 'file')} read and compared`
    : `${counted(here, 'file')} in place`
  const rest = `${counted(strangers, 'file belongs', 'files belong')} to nothing`
  say(`${isBrokenOff ? 'Broken off: ' : ''}${head}${done}; ${rest}.\n`)
  if (!deep && elsewhere > 0)
    say(`${counted(elsewhere, 'file')} at destinations alone: not looked at. --deep reads them.\n`)
  if (unread > 0) say(`${counted(unread, 'file')} at destinations could not be read: run it again when they answer.\n`)
  return isWhole ? 0 : 1
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

async function takeFault(
  root: string,
  { checksum, path: relative, sizeBytes }: StoredFile,
  deep: boolean,
  signal: AbortSignal,
): Promise<string[]> {
  const file = path.join(root, relative)
  const size = await sizeOf(file)
  if (size === undefined) return [`missing: ${relative}`]
  if (size !== sizeBytes) return [`damaged: ${relative} has ${size} bytes, was stored with ${sizeBytes}`]
  if (deep && (await checksumOfFile(file, signal)) !== checksum) return [`damaged: ${relative} is not what was stored`]
  return []
}
