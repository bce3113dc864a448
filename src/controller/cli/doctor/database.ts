// Checks of the controller's database, and of the key that opens what is sealed in it.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { deriveKey, open, openText, SealError } from '../../../crypto/seal.ts'
import { hasCode } from '../../../kernel/durable.ts'
import { faultWords } from '../../../kernel/words.ts'
import { unwritable } from '../../../system/checks/box.ts'
import { fail, ok, type Probe, skipped, warn } from '../../../system/checks/examine.ts'
import { ownArguments } from '../../../system/host/owner.ts'
import { UNITS, USERS } from '../../../system/host/places.ts'
import { run } from '../../../system/host/run.ts'
import type { Finding } from '../../../wire/doctor.ts'
import { Db } from '../../store/db.ts'
import type { ControllerFiles } from '../verb.ts'
import { doctorFacts, type Sealed } from './facts.store.ts'

const INTEGRITY_MS = 9000
const BUSY_MS = 3000
const PAUSE_MS = 50
const RESTORE = `sudo systemctl stop ${UNITS.controller} && sudo roomtone restore /backup/roomtone --force && sudo systemctl start ${UNITS.controller}; then check the disk (smartctl -a, dmesg)`
export const ROOM =
  'Let a retention policy delete takes that were uploaded (Settings in the console), or move them to a larger disk with SVC_RECORDING_CACHE_DIR; sudo du -xh / | sort -h | tail shows what else is large'

/** Also for who may see it by a capability alone, which `existsSync` leaves out (access(2)). */
const isThere = (file: string): boolean => fs.statSync(file, { throwIfNoEntry: false }) !== undefined

const missing = ({ database }: ControllerFiles): Finding | undefined =>
  isThere(database)
    ? undefined
    : fail(
        `There is no database at ${database}`,
        `sudo systemctl start ${UNITS.controller} makes a new one; after a loss bring the last backup back: sudo roomtone restore /backup/roomtone`,
      )

/** In a program of its own: it takes as long as the database is large, and nothing else could be looked at meanwhile. */
export const databaseIntegrity = (place: ControllerFiles): Probe => ({
  limitMs: INTEGRITY_MS + 1000,
  async look(signal) {
    const none = missing(place)
    if (none) return none
    const args = [...ownArguments(), 'check', '--database']
    const { code, stderr, stdout, timedOut } = await run(process.execPath, args, {
      signal,
      timeoutMs: INTEGRITY_MS,
    })
    if (timedOut)
      return skipped(
        `The database is too large to be read within ${INTEGRITY_MS / 1000} s: sudo roomtone check reads all of it`,
      )
    if (code === 0) return ok('The database is whole')
    const said = (stdout.trim() || stderr.trim().replace(/^roomtone check: /, '')).split('\n')
    if (said.some((line) => /it has schema/.test(line)))
      return fail(
        said.join('; '),
        `sudo systemctl restart ${UNITS.controller} brings an older database up to date; a newer one needs the version that wrote it`,
      )
    // No sign of damage: a database is never put back because somebody may not read it.
    if (said.some((line) => /as this user/.test(line)))
      return skipped(`${said.join('; ')} Run it as root: sudo roomtone doctor`)
    return fail(`${said.slice(0, 3).join('; ')}${said.length > 3 ? `; and ${said.length - 3} more` : ''}`, RESTORE)
  },
})

/** Opens the database as it is; undefined while it cannot be read. The caller closes it. */
export function openedDatabase({ addon, database }: ControllerFiles): Db | undefined {
  if (!isThere(database)) return undefined
  try {
    return new Db(database, addon, { lazy: true, plain: true, waitMs: 0 })
  } catch {
    // What it has is what `database.integrity` and `database.writable` say.
    return undefined
  }
}

/** Looks something up; a damaged or newer database cannot be asked, and others say so. */
export function askDatabase(db: Db | undefined, look: (facts: ReturnType<typeof doctorFacts>) => Finding): Finding {
  if (!db) return skipped('The database cannot be read (database.integrity)')
  try {
    return look(doctorFacts(db))
  } catch (e) {
    return skipped(`The database cannot be read (database.integrity): ${faultWords(e)}`)
  }
}

/** Writes what is there already, and waits a moment for whoever holds the lock. */
export async function databaseWritable(place: ControllerFiles, signal: AbortSignal): Promise<Finding> {
  const none = missing(place)
  if (none) return none
  const dir = path.dirname(place.database)
  const written = { owner: USERS.controller, room: ROOM }
  try {
    for (const file of [dir, place.database]) fs.accessSync(file, fs.constants.W_OK)
  } catch (e) {
    return unwritable(e, dir, written)
  }
  for (let waited = 0; ; waited += PAUSE_MS) {
    const e = writeFault(place)
    if (e === undefined) return ok('The database can be written')
    const busy = hasCode(e, 'SQLITE_BUSY')
    if (busy && waited < BUSY_MS) await sleep(PAUSE_MS, undefined, { signal })
    else if (busy)
      return warn('Another program has locked the database for seconds', `sudo fuser -v ${place.database} names it`)
    else return refusedWrite(e, place, written)
  }
}

function writeFault({ addon, database }: ControllerFiles): unknown {
  let db: Db | undefined
  try {
    db = new Db(database, addon, { plain: true, waitMs: 0 })
    const { raw } = db
    raw.transaction(() => raw.pragma(`user_version = ${raw.pragma('user_version', { simple: true })}`)).immediate()
    return undefined
  } catch (e) {
    return e
  } finally {
    db?.close()
  }
}

function refusedWrite(e: unknown, { database }: ControllerFiles, written: { owner: string; room: string }): Finding {
  const { code = '' } = e as { code?: string }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return fail(`The database cannot be written: ${faultWords(e)}`, RESTORE)
  if (code === 'SQLITE_FULL') return fail(`The database cannot be written: ${faultWords(e)}`, written.room)
  return fail(
    `The database cannot be written: ${faultWords(e)}`,
    `sudo chown -R ${written.owner}: ${path.dirname(database)}; if the disk is read-only: dmesg says why, and sudo mount -o remount,rw "$(findmnt -no TARGET -T ${database})"`,
  )
}

/** What the sealed secrets are in plain text, as far as they open: whoever packs a file has to know them. */
export function sealedSecrets(db: Db, { config }: ControllerFiles, secret: string): string[] {
  const settings = deriveKey(secret)
  const node = config.SVC_NODE_SSH_MASTER_KEY ? deriveKey(config.SVC_NODE_SSH_MASTER_KEY) : settings
  return doctorFacts(db)
    .sealed()
    .filter((one) => opens(one, { node, settings }))
    .map(({ key, place, sealed }) => openText(key === 'node' ? node : settings, place, sealed))
}

/** Whether what is sealed opens with the secrets of the settings. */
export function keyMatches(db: Db | undefined, { config }: ControllerFiles): Finding {
  const file = path.join(config.SVC_DATA_DIR, 'secret.key')
  const secret = config.SVC_SECRET_KEY ?? (isThere(file) ? fs.readFileSync(file, 'utf8').trim() : undefined)
  const from = config.SVC_SECRET_KEY ? 'SVC_SECRET_KEY' : file
  const put = `Put the key back with which the data was written: ${from}, from the place where it is kept safe (roomtone backup --key packs it), then sudo systemctl restart ${UNITS.controller}. If it is lost: renew the SSH key of each recorder (its page, Maintenance) and enter the passwords of destinations and switchers again`
  return askDatabase(db, (facts) => {
    const sealed = facts.sealed()
    if (sealed.length === 0) return ok('Nothing is sealed yet')
    if (secret === undefined)
      return fail(`The key that opens ${sealed.length} sealed secrets is not there: ${from}`, put)
    const settings = deriveKey(secret)
    const node = config.SVC_NODE_SSH_MASTER_KEY ? deriveKey(config.SVC_NODE_SSH_MASTER_KEY) : settings
    const keys = { node, settings }
    const shut = sealed.filter((one) => !opens(one, keys))
    return shut.length === 0
      ? ok(`The key opens all ${sealed.length} sealed secrets`)
      : fail(`The key does not open ${shut.length} of ${sealed.length} sealed secrets`, put)
  })
}

function opens({ key, place, sealed }: Sealed, keys: Record<Sealed['key'], Uint8Array>): boolean {
  try {
    open(keys[key], place, sealed)
    return true
  } catch (e) {
    if (e instanceof SealError) return false
    throw e
  }
}
