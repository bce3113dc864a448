// The doctor of a controller, beside the running service or in place of one.
import * as path from 'node:path'
import { iso, systemClock } from '../../../kernel/clock.ts'
import { Fail } from '../../../kernel/fail.ts'
import { faultWords } from '../../../kernel/words.ts'
import { clockOf, programOf, spaceOf, syncOf } from '../../../system/checks/box.ts'
import { examine, fail, ok, skipped } from '../../../system/checks/examine.ts'
import { goOnAsOwnerOf, goOnAsUser } from '../../../system/host/owner.ts'
import { PLACES, UNITS, USERS } from '../../../system/host/places.ts'
import { advice, command, type DoctorReport, type Finding } from '../../../wire/doctor.ts'
import type { Config } from '../../config.ts'
import { Certificates } from '../../http/certificates.ts'
import type { Db } from '../../store/db.ts'
import { lastBackup } from '../stamp.ts'
import { type ControllerFiles, filesOf, installedConfig } from '../verb.ts'
import { judgeBackup, judgeCertificate, judgeOffline, judgeUploads } from './controller.rules.ts'
import { askDatabase, databaseIntegrity, databaseWritable, keyMatches, openedDatabase, ROOM } from './database.ts'
import { judgeChannels, judgeLinks, judgeTold } from './notifications.rules.ts'
import { pairChecks } from './pair.ts'
import { runnersAlive } from './running.ts'

const DAY_MS = 86_400_000

/**
 * Examines the installed controller, or the one that the environment names. As root it goes on as the user of the service:
 * what that one may not do is what is looked for. `isUser`: whether this system has the user of the service.
 * @throws UserError for settings that cannot be read or used
 */
export async function examineController(isUser: (name: string) => boolean): Promise<DoctorReport> {
  const config = installedConfig()
  const { SVC_DATA_DIR: dir } = config
  if (dir === PLACES.controllerHome && isUser(USERS.controller)) goOnAsUser(USERS.controller)
  else goOnAsOwnerOf(dir)
  const place = filesOf(config)
  const db = openedDatabase(place)
  try {
    return await examine('controller', probesOf(place, db))
  } finally {
    db?.close()
  }
}

function probesOf(place: ControllerFiles, db: Db | undefined): Parameters<typeof examine<'controller'>>[1] {
  const { config } = place
  const { SVC_DATA_DIR: dir, SVC_RECORDING_CACHE_DIR: takes } = config
  const env = { LC_ALL: 'C', PATH: config.programDirs.join(':') }
  const now = systemClock.now()
  const pair = pairChecks(config)
  const program = (name: string, args: string[], packages: string, signal: AbortSignal) =>
    programOf(name, args, { env, fix: command(`sudo apt-get install ${packages}`), signal })
  return {
    'backup.age': () => backupAge(config, now),
    'clock.synced': clockOf(),
    'database.integrity': databaseIntegrity(place),
    'database.writable': (signal) => databaseWritable(place, signal),
    'disk.space': () => spaceOf([dir, takes], ROOM),
    'disk.sync': syncOf(dir, { owner: USERS.controller, room: ROOM }),
    ffmpeg: (signal) => program('ffmpeg', ['-version'], 'ffmpeg', signal),
    'key.matches': () => keyMatches(db, place.config),
    'nodes.offline': () =>
      askDatabase(db, (facts) => {
        const { all, offline } = facts.nodes(iso(now), config.SVC_NODE_OFFLINE_AFTER_SECONDS)
        return judgeOffline(offline, all)
      }),
    'notifications.channels': () => askDatabase(db, (facts) => judgeChannels(facts.told())),
    'notifications.links': () => askDatabase(db, (facts) => judgeLinks(facts.told(), config)),
    'notifications.rules': () => askDatabase(db, (facts) => judgeTold(facts.told(), config)),
    'pair.copy': pair.copy,
    'pair.lease': pair.lease,
    'pair.other': pair.other,
    'runners.alive': (signal) => runnersAlive(config, signal),
    smbclient: (signal) => shares(db, () => program('smbclient', ['--version'], 'smbclient', signal)),
    'tls.expiry': () => certificate(config, now),
    'uploads.stuck': () => askDatabase(db, (facts) => judgeUploads(facts.uploads(iso(now - DAY_MS)))),
  }
}

function backupAge({ SVC_DATABASE_REPLICATED: replicated, SVC_DATA_DIR: dir }: Config, now: number): Finding {
  const stamp = lastBackup(dir)
  return judgeBackup({ at: stamp?.at, now, replicated, target: stamp?.target })
}

/** Only a share needs it. */
async function shares(db: Db | undefined, look: () => Promise<Finding>): Promise<Finding> {
  const used = askDatabase(db, (facts) => (facts.sharesInUse() ? ok('') : skipped('No destination is an SMB share')))
  return used.status === 'ok' ? await look() : used
}

function certificate({ tls }: Config, now: number): Finding {
  if (!tls) return skipped('The controller serves plain HTTP: there is no certificate')
  const ours = path.dirname(tls.cert) === PLACES.tls
  const renew = ours
    ? command(`sudo roomtone tls renew && sudo systemctl enable --now ${UNITS.tlsRenewTimer}`)
    : advice(`Put a new certificate and its key at ${tls.cert} and ${tls.key}: the controller takes them by itself`)
  try {
    return judgeCertificate(new Certificates(tls, now).served.expiresAt, now, renew)
  } catch (e) {
    if (!(e instanceof Fail)) throw e
    return fail(`The certificate cannot be used: ${faultWords(e)}`, renew)
  }
}
