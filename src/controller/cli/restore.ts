// roomtone restore: puts a backup where the controller looks for its database.

import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { iso, systemClock } from '../../kernel/clock.ts'
import { makeDir } from '../../kernel/dirs.ts'
import { hasCode, syncDir } from '../../kernel/durable.ts'
import { misuse } from '../../kernel/fail.ts'
import { randomIds } from '../../kernel/ids.ts'
import { counted, faultWords } from '../../kernel/words.ts'
import { audit } from '../http/audit.ts'
import { systemActor } from '../http/principal.ts'
import { shutIn } from '../sealed.store.ts'
import { secretPlace } from '../secrets.ts'
import { checkDatabase } from '../store/backup.ts'
import { DATABASE_SUFFIXES, Db, lockDirectory } from '../store/db.ts'
import { embedded, schemaOf } from '../store/migrate.ts'
import { fromDestinations } from './destinations.ts'
import { fromChunks } from './refetchchunks.ts'
import { copyTakes, either, fromDirectory, type Source, type TakesReport } from './takes.ts'
import { type ControllerFiles, ENVIRONMENT_HELP, openDatabase, progress, runVerb, say } from './verb.ts'

const HELP = `usage: roomtone restore SOURCE [--force] [--takes-from-destinations]
       roomtone restore --takes-from-destinations

Replaces the controller's database with a backup (a .db file, or a directory made by roomtone backup), and restores the
audio in it. The controller must be stopped. Everybody has to log in again afterwards.

  --force   also when there is a database already: it is kept as roomtone.db.before-restore-<time>
  --takes-from-destinations
            fetches stored audio that is still missing from the destinations it was uploaded to, and checks each file
            against its checksum. Without SOURCE it does only that, for the current database; the controller may be
            running then. Files that are there are left alone: run it again to continue.

${ENVIRONMENT_HELP}
A configured SVC_SECRET_KEY, or the file secret.key, must be the one the backup was made with.
`

export const main = (args: string[]): Promise<number> =>
  runVerb(args, {
    help: HELP,
    options: { force: { type: 'boolean' }, 'takes-from-destinations': { type: 'boolean' } },
    run: async ([source, ...more], { force, 'takes-from-destinations': remote }, place) => {
      if ((!source && !remote) || more[0]) throw misuse('name one source: see roomtone restore --help')
      if (!source) return missingTakes(place)
      for (const dir of [place.config.SVC_DATA_DIR, place.takes]) makeDir(dir)
      const lock = lockDirectory(path.join(place.config.SVC_DATA_DIR, 'controller.lock'), place.addon)
      try {
        const code = await restoreDatabase(path.resolve(source), place, Boolean(force), Boolean(remote))
        return remote ? await missingTakes(place) : code
      } finally {
        lock.release()
      }
    },
  })

async function restoreDatabase(
  source: string,
  place: ControllerFiles,
  force: boolean,
  remote: boolean,
): Promise<number> {
  const directory = await isDirectory(source)
  const file = directory ? path.join(source, 'roomtone.db') : source
  const now = iso(systemClock.now())
  const draft = `${place.database}.restoring`
  try {
    await fs.copyFile(file, draft)
    const ended = prepare(draft, place, now)
    const kept = await setAside(place, now, force)
    await fs.rename(draft, place.database)
    await syncDir(path.dirname(place.database))
    if (kept) say(`The database that was here is kept as ${kept}.\n`)
    for (const line of told(ended)) say(line)
  } finally {
    // A copy that was not put in place may be as large as the database.
    for (const suffix of DATABASE_SUFFIXES) await fs.rm(draft + suffix, { force: true })
  }
  if (directory) await restoreKey(source, place)
  for (const line of missingKey(place)) say(line)
  if (!directory) return say('The database is back.\n')
  return restoreTakes(fromDirectory(path.join(source, 'recordings')), place, remote)
}

async function isDirectory(source: string): Promise<boolean> {
  try {
    return (await fs.stat(source)).isDirectory()
  } catch (e) {
    throw misuse(`The backup cannot be read: ${faultWords(e, source)}.`)
  }
}

/** Checks the copy, and ends what lets somebody in. @returns what ended */
function prepare(draft: string, { addon }: ControllerFiles, now: string): Ended {
  const fault = checkDatabase(draft, addon)
  if (fault) throw misuse(`The backup is damaged and was not restored: ${fault}.`)
  const db = new Db(draft, addon, { plain: true })
  try {
    const known = embedded().length
    if (schemaOf(db) > known || schemaOf(db) < 1)
      throw misuse(`The backup has schema ${schemaOf(db)}, this version knows 1 to ${known}.`)
    return db.tx(() => {
      const details = endCredentials(db, now)
      const entry = { action: 'controller.restored', actor: systemActor('restore'), outcome: 'succeeded' } as const
      audit(db, randomIds, 0).write({ ...entry, details: { ...details }, target: { type: 'controller' } }, now)
      queueAllManifests(db)
      return details
    })
  } finally {
    db.close()
  }
}

/** Backups and destinations give takes back without manifests of this disk; a backup of an older version knows of none. */
function queueAllManifests(db: Db): void {
  const table = db.raw.prepare("SELECT 1 FROM sqlite_master WHERE name = 'manifest_walks'").get()
  if (table) db.raw.exec("INSERT INTO manifest_walks (kind) VALUES ('all') ON CONFLICT DO UPDATE SET at = '', seq = 0")
}

interface Ended {
  bootstrapTokens: number
  displayLinks: string[]
  pairingCodes: number
}

/**
 * Ends what may have been revoked or used up since the backup, for it must not become valid again. Tokens of nodes stay: the
 * recorders hold them, and would have to be enrolled one by one.
 */
function endCredentials(db: Db, now: string): Ended {
  // A backup of an older version lacks some of the tables.
  const tables = new Set(
    db.raw.prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all(),
  )
  const run = (table: string, sql: string, ...values: string[]): number =>
    tables.has(table) ? db.raw.prepare(sql).run(...values).changes : 0
  const names = 'SELECT name FROM display_links ORDER BY name'
  const displayLinks = tables.has('display_links') ? db.raw.prepare<[], string>(names).pluck().all() : []
  run('sessions', 'UPDATE sessions SET revoked_at = ? WHERE revoked_at IS NULL', now)
  run('sign_in_links', 'DELETE FROM sign_in_links')
  for (const table of ['display_screens', 'display_link_rooms', 'display_links']) run(table, `DELETE FROM ${table}`)
  const open = 'consumed_at IS NULL AND revoked_at IS NULL AND expires_at > ?'
  return {
    bootstrapTokens: run('bootstrap_tokens', `UPDATE bootstrap_tokens SET revoked_at = ? WHERE ${open}`, now, now),
    displayLinks,
    pairingCodes: run('pairing_codes', 'DELETE FROM pairing_codes'),
  }
}

function told({ bootstrapTokens, displayLinks, pairingCodes }: Ended): string[] {
  const [first] = displayLinks
  const unused = bootstrapTokens + pairingCodes
  return [
    ...(first ? [`Display links have ended; make new ones for: ${displayLinks.join(', ')}.\n`] : []),
    ...(unused > 0
      ? [
          `${counted(unused, 'pairing code or install command', 'pairing codes and install commands')} not used so far: ended.\n`,
        ]
      : []),
    'People and devices are those of the backup: remove again whom you removed since, and retire recorders you retired since.\n',
  ]
}

/** Moves the current database and its WAL to another name. @returns that name; undefined when there was none */
async function setAside(
  { addon, database }: ControllerFiles,
  now: string,
  force: boolean,
): Promise<string | undefined> {
  const present = DATABASE_SUFFIXES.filter((suffix) => existsSync(database + suffix))
  if (present.length === 0) return undefined
  if (!force) throw misuse('There is a database already: use --force to keep it aside and restore over it.')
  checkpointWal(database, addon)
  const kept = `${database}.before-restore-${now.replace(/[:.]/g, '-')}`
  for (const suffix of present) if (existsSync(database + suffix)) await fs.rename(database + suffix, kept + suffix)
  return kept
}

/** Moves the WAL's content into the file, so that moving one file moves everything. */
function checkpointWal(database: string, addon: object | undefined): void {
  try {
    const db = new Db(database, addon, { plain: true })
    db.raw.pragma('wal_checkpoint(TRUNCATE)')
    db.close()
  } catch (e) {
    // A damaged database is a reason to restore: it is kept as it is, with its WAL.
    process.stderr.write(`The old database cannot be read (${faultWords(e)}); it is kept as it is.\n`)
  }
}

/** What is sealed in the database and does not open here: a controller that starts without the key would make another one. */
function missingKey({ addon, config, database }: ControllerFiles): string[] {
  const db = new Db(database, addon, { plain: true })
  try {
    // A backup of an older version has fewer tables: the doctor looks once the controller has started.
    if (schemaOf(db) !== embedded().length) return []
    const { all, shut } = shutIn(db, config)
    if (shut === 0) return []
    const sealed = shut === all ? counted(all, 'sealed secret', 'sealed secrets') : `${shut} of ${all} sealed secrets`
    return [
      `The key that opens ${sealed} of this database is not here: put the one the backup was made with into ${secretPlace(config)} before the controller starts.\n`,
    ]
  } finally {
    db.close()
  }
}

async function restoreKey(source: string, { config }: ControllerFiles): Promise<void> {
  const [from, to] = [path.join(source, 'secret.key'), path.join(config.SVC_DATA_DIR, 'secret.key')]
  try {
    await fs.copyFile(from, to, fs.constants.COPYFILE_EXCL)
    await fs.chmod(to, 0o600)
  } catch (e) {
    if (hasCode(e, 'ENOENT')) return
    // An existing key stays: it may be the same, and other data may be sealed with it.
    if (!hasCode(e, 'EEXIST')) throw e
    if (!(await fs.readFile(from)).equals(await fs.readFile(to)))
      say(`The backup's key differs from ${to}: put the right one in place before the controller starts.\n`)
  }
}

/** `more`: another source follows, so that missing files are not reported yet. */
async function restoreTakes(from: Source, place: ControllerFiles, more: boolean): Promise<number> {
  const db = new Db(place.database, place.addon, { plain: true })
  try {
    const report = await copyTakes(db, from, place.takes, progress())
    return more ? 0 : reportTakes('The database is back; audio', 'not in the backup and not here', report)
  } finally {
    db.close()
  }
}

async function missingTakes(place: ControllerFiles): Promise<number> {
  makeDir(place.takes)
  const db = openDatabase(place)
  try {
    const uploaded = fromDestinations(db, place, (line) => say(`${line}\n`))
    const from = either(uploaded, fromChunks(db, place, uploaded))
    const report = await copyTakes(db, from, place.takes, progress())
    if (report.copied > 0) db.tx(() => queueAllManifests(db))
    return reportTakes('Audio from destinations', 'at no destination and not here', report)
  } finally {
    db.close()
  }
}

function reportTakes(what: string, lost: string, { copied, damaged, files, missing }: TakesReport): number {
  say(`${what}: ${counted(files, 'file')} in place, ${copied} copied now.\n`)
  for (const file of missing) say(`${lost}: ${file}\n`)
  for (const file of damaged) say(`not what was stored: ${file}\n`)
  return missing.length + damaged.length > 0 ? 1 : 0
}
