// Checks of the controller's database, and of the key that opens what is sealed in it.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openText } from '../../../crypto/seal.ts'
import { hasCode } from '../../../kernel/durable.ts'
import { faultWords } from '../../../kernel/words.ts'
import { remounted, unwritable, type Written } from '../../../system/checks/box.ts'
import { fail, ok, type Probe, skipped, warn } from '../../../system/checks/examine.ts'
import { ownArguments } from '../../../system/host/owner.ts'
import { UNITS, USERS } from '../../../system/host/places.ts'
import { run } from '../../../system/host/run.ts'
import { advice, command, type Finding, type Fix } from '../../../wire/doctor.ts'
import { shellWord } from '../../../wire/install.ts'
import type { Config } from '../../config.ts'
import { opens, sealedStore, shutIn } from '../../sealed.store.ts'
import { sealKeys, secretHere, secretPlace } from '../../secrets.ts'
import { Db } from '../../store/db.ts'
import { lastBackup } from '../stamp.ts'
import type { ControllerFiles } from '../verb.ts'
import { doctorFacts } from './facts.store.ts'

const INTEGRITY_MS = 9000
const BUSY_MS = 3000
const PAUSE_MS = 50
export const ROOM = advice(
  'Let a retention policy delete takes that were uploaded (Settings in the console), or move them to a larger disk with SVC_RECORDING_CACHE_DIR. What is large here:',
  'sudo du -xh / | sort -h | tail',
)

/** Brings the last backup back, from where it was made to. */
function restored(words: string, { config }: ControllerFiles): Fix {
  const from = shellWord(lastBackup(config.SVC_DATA_DIR)?.target ?? '/backup/roomtone')
  return advice(
    words,
    `sudo systemctl stop ${UNITS.controller} && sudo roomtone restore ${from} --force && sudo systemctl start ${UNITS.controller}`,
  )
}

const damaged = (place: ControllerFiles): Fix =>
  restored(
    'Check the disk (dmesg, smartctl) before it damages the next one. The last backup is brought back by:',
    place,
  )

/** Also for who may see it by a capability alone, which `existsSync` leaves out (access(2)). */
const isThere = (file: string): boolean => fs.statSync(file, { throwIfNoEntry: false }) !== undefined

const missing = (place: ControllerFiles): Finding | undefined =>
  isThere(place.database)
    ? undefined
    : fail(
        `There is no database at ${place.database}`,
        restored('A new controller makes one when it starts. After a loss the last backup is brought back by:', place),
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
        advice(
          'A newer database needs the version of Roomtone that wrote it. An older one is brought up to date by:',
          `sudo systemctl restart ${UNITS.controller}`,
        ),
      )
    // No sign of damage: a database is never put back because somebody may not read it.
    if (said.some((line) => /as this user/.test(line)))
      return skipped(`${said.join('; ')} Run it as root: sudo roomtone doctor`)
    return fail(
      `${said.slice(0, 3).join('; ')}${said.length > 3 ? `; and ${said.length - 3} more` : ''}`,
      damaged(place),
    )
  },
})

/** Opens the database as it is; undefined while it cannot be read. The caller closes it. */
export function openedDatabase({ addon, database }: ControllerFiles): Db | undefined {
  if (!isThere(database)) return undefined
  try {
    return new Db(database, addon, { plain: true, waitMs: 0 })
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
  const written: Written = { owner: USERS.controller, room: ROOM }
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
      return warn(
        'Another program has locked the database for seconds',
        advice('Which it is:', `sudo fuser -v ${shellWord(place.database)}`),
      )
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

function refusedWrite(e: unknown, place: ControllerFiles, { owner, room }: Written): Finding {
  const { code = '' } = e as { code?: string }
  const message = `The database cannot be written: ${faultWords(e)}`
  const dir = path.dirname(place.database)
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return fail(message, damaged(place))
  if (code === 'SQLITE_FULL') return fail(message, room)
  if (isReadOnly(dir)) return fail(message, remounted(dir))
  return fail(message, command(`sudo chown -R ${owner}: ${shellWord(dir)}`))
}

function isReadOnly(dir: string): boolean {
  try {
    fs.accessSync(dir, fs.constants.W_OK)
    return false
  } catch (e) {
    return hasCode(e, 'EROFS')
  }
}

/** What the sealed secrets are in plain text, as far as they open: whoever packs a file has to know them. */
export function sealedSecrets(db: Db, { config }: ControllerFiles, secret: string): string[] {
  const keys = sealKeys({ nodeSshKey: config.SVC_NODE_SSH_MASTER_KEY ?? secret, settingsKey: secret })
  return sealedStore(db)
    .all()
    .filter((one) => opens(one, keys))
    .map(({ key, place, sealed }) => openText(key === 'node' ? keys.node : keys.settings(), place, sealed))
}

/** Whether what is sealed opens with the secrets of the settings. */
export function keyMatches(db: Db | undefined, config: Config): Finding {
  const [secret, from] = [secretHere(config), secretPlace(config)]
  const put = advice(
    `Put the key back with which the data was written: ${from}, from the place where it is kept safe (roomtone backup --key packs it). If it is lost, renew the SSH key of each recorder (its page, Maintenance) and enter the passwords of destinations, switchers and notification channels again. Then:`,
    `sudo systemctl restart ${UNITS.controller}`,
  )
  return askDatabase(db, () => {
    const { all, shut } = shutIn(db as Db, config)
    if (all === 0) return ok('Nothing is sealed yet')
    if (secret === undefined) return fail(`The key that opens ${all} sealed secrets is not there: ${from}`, put)
    return shut === 0
      ? ok(`The key opens all ${all} sealed secrets`)
      : fail(`The key does not open ${shut} of ${all} sealed secrets`, put)
  })
}
