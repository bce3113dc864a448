// roomtone rebuild: a new database from what lies beside the takes, when there is neither backup nor replica.
import { existsSync } from 'node:fs'
import * as path from 'node:path'
import { iso, systemClock } from '../../../kernel/clock.ts'
import { makeDir } from '../../../kernel/dirs.ts'
import { Fail, misuse } from '../../../kernel/fail.ts'
import { randomIds } from '../../../kernel/ids.ts'
import { counted } from '../../../kernel/words.ts'
import { CONTENT_TYPES } from '../../../wire/recordings.ts'
import { onOneLine } from '../../../wire/scalars.ts'
import { audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import { codecOfPath } from '../../recordings/chunks/chunks.rules.ts'
import { DATABASE_SUFFIXES, type Db, lockDirectory } from '../../store/db.ts'
import { type ControllerFiles, ENVIRONMENT_HELP, progress, runVerb, say } from '../verb.ts'
import { type BucketOptions, bucketOf } from './bucket.ts'
import { type ClaimStore, claimStore, isNamedAfter, type ReadManifest } from './claims.store.ts'
import { openDraft } from './draft.store.ts'
import type { Finding, Unlisted } from './findings.ts'
import { type RebuiltLibrary, rebuiltLibrary } from './library.store.ts'
import { inBucket, onDisk, type Place } from './place.ts'

const HELP = `usage: roomtone rebuild [--from-destination S3-URL]

Makes a new database from the takes on the disk and the manifests beside them, when there is neither a backup nor a replica.
The controller must be stopped. Where there is a database nothing is changed.

The library comes back with its rooms; recorders come back as "provisioning" and have to join anew. Accounts, schedules,
policies and the audit log are not in manifests: an owner is created as on a fresh install. A take without a manifest is
listed under the name of its file, in the folder "Rebuilt". May be broken off and run again.

  --from-destination S3-URL
            takes in a bucket instead, and the manifests beside them: s3://BUCKET/FOLDER, for other services than AWS with
            ?endpoint=https://S3.EXAMPLE&region=REGION. It is read with SVC_REBUILD_S3_ACCESS_KEY_ID and
            SVC_REBUILD_S3_SECRET_ACCESS_KEY, and is the destination that keeps the library of the new database: takes
            are played from there. "roomtone restore --takes-from-destinations" fetches those in pieces.

${ENVIRONMENT_HELP}
Exit code 1: there is a database.
`

// Manifests per transaction.
const BATCH = 500

interface Counts {
  /** Manifests that say otherwise of a recording than another one. */
  contradicting: number
  /** Files that do not have the length their manifest says. */
  changed: number
  /** Manifests that could not be used. */
  damaged: number
  recordings: number
  unlisted: number
}

export const main = (args: string[]): Promise<number> =>
  runVerb(args, {
    help: HELP,
    options: { 'from-destination': { type: 'string' } },
    run: async ([extra], { 'from-destination': from }, files) => {
      if (extra) throw misuse(`unexpected argument "${extra}": see roomtone rebuild --help`)
      if (DATABASE_SUFFIXES.some((suffix) => existsSync(files.database + suffix))) return refused(files)
      const bucket = typeof from === 'string' ? bucketOf(from, files.config) : undefined
      if (!bucket && !existsSync(files.takes)) throw misuse(`There are no takes at ${files.takes}: set SVC_DATA_DIR.`)
      for (const dir of [files.config.SVC_DATA_DIR, files.takes]) makeDir(dir)
      const lock = lockDirectory(path.join(files.config.SVC_DATA_DIR, 'controller.lock'), files.addon)
      try {
        return told(await rebuild(files, bucket))
      } finally {
        lock.release()
      }
    },
  })

function refused({ database }: ControllerFiles): number {
  process.stderr.write(`There is a database already, ${database}: nothing was changed. Move it away to rebuild it.\n`)
  return 1
}

async function rebuild(files: ControllerFiles, bucket: BucketOptions | undefined): Promise<Counts> {
  const tell = progress()
  const draft = await openDraft(`${files.database}.rebuilding`, files.addon)
  try {
    const counts = await fill(
      draft.db,
      bucket ? await inBucket(bucket, draft.db, files, randomIds) : onDisk(files.takes),
      tell,
    )
    if (counts.recordings === 0)
      throw misuse('Nothing was found to make a database of: nothing was changed. Check that this is the right place')
    draft.complete(tell)
    auditRebuild(draft.db, counts)
    await draft.putInPlace(files.database)
    return counts
  } catch (e) {
    await draft.discard()
    throw e
  }
}

/** What a rebuild works with. */
interface Filling {
  claims: ClaimStore
  counts: Counts
  db: Db
  library: RebuiltLibrary
  place: Place
}

/**
 * Takes in what is found, manifests in batches; those whose file is named after their recording come first. What is refused is
 * listed as if it had no manifest.
 */
async function fill(db: Db, place: Place, tell: (line: string) => void): Promise<Counts> {
  const counts: Counts = { changed: 0, contradicting: 0, damaged: 0, recordings: 0, unlisted: 0 }
  const filling = { claims: claimStore(db), counts, db, library: rebuiltLibrary(db, place), place }
  let batch: Finding[] = []
  let seen = 0
  const flush = async () => {
    const found = batch
    batch = []
    await takeIn(filling, found, (told) => isNamedAfter(told.place, told.manifest.recording.id))
    seen += found.length
    tell(`manifests: ${seen} so far, ${counts.damaged} of them damaged; ${counts.unlisted} takes without`)
  }
  const settle = async () => {
    await flush()
    const later = () => db.tx(() => filling.claims.deferred(BATCH))
    for (let slice = later(); slice.length > 0; slice = later()) await takeIn(filling, slice, () => true)
  }
  try {
    for await (const found of place.findings(filling.library, settle)) {
      const unlisted = 'modifiedAt' in found
      if (!unlisted) batch.push(found)
      if (unlisted || batch.length === BATCH) await flush()
      if (unlisted) await takeUnlisted(filling, found)
    }
    await settle()
  } finally {
    place.close()
  }
  return { ...counts, recordings: filling.library.count() }
}

/** Manifests in one transaction; those that are not `due` are looked at later. */
async function takeIn(
  filling: Filling,
  batch: readonly Finding[],
  due: (told: ReadManifest) => boolean,
): Promise<void> {
  const refused = filling.db.tx(() => batch.filter((found) => !put(filling, found, due)))
  for (const found of refused) if ('unlisted' in found && found.unlisted) await takeUnlisted(filling, found.unlisted)
}

/** False, and said, when a manifest cannot be used. */
function put(filling: Filling, found: Finding, due: (told: ReadManifest) => boolean): boolean {
  const { claims, counts } = filling
  const isDue = 'damaged' in found || due(found)
  if (!isDue) claims.defer(found)
  if (!isDue) return true
  const why = 'damaged' in found ? found.damaged : tryImport(filling, found)
  const shown = onOneLine(found.place)
  if (typeof why === 'string') {
    counts.damaged++
    say(`damaged manifest: ${shown} (${onOneLine(why)})\n`)
  } else if (why) {
    counts.contradicting++
    const both = `${shown} and ${onOneLine(why.other)}`
    say(`conflicting manifests: ${both} describe the same recording but list different files\n`)
  }
  if ('isChanged' in found && found.isChanged) {
    counts.changed++
    say(`length differs from its manifest, may be truncated: ${shown}\n`)
  }
  return why === undefined
}

/** Why it cannot be used: what is wrong with it, or where another one lies that says otherwise. */
function tryImport(
  { claims, db, library, place }: Filling,
  found: ReadManifest,
): string | { other: string } | undefined {
  const { entries, etag, manifest, place: where } = found
  const [own] = entries
  try {
    return db.tx(() => {
      const other = claims.otherwise(found)
      if (other !== undefined) return { other }
      const put = library.put(manifest, entries, isNamedAfter(where, manifest.recording.id))
      if (put && own) place.keep({ entry: own, etag, place: where, recordingId: manifest.recording.id }, library)
      return put ? undefined : 'its file belongs to another recording'
    })
  } catch (e) {
    // Two of its files claim one place.
    if (e instanceof Fail && e.status === 409) return 'it contradicts another manifest'
    throw e
  }
}

/** Lists a take that nothing is told of under the name of its file. */
async function takeUnlisted({ counts, db, library, place }: Filling, found: Unlisted): Promise<void> {
  counts.unlisted++
  const name = onOneLine(path.basename(found.place)).slice(0, 200)
  say(`without manifest: ${onOneLine(found.place)}\n`)
  const [, named] = /^(rec_[0-9a-f-]{36})\./.exec(name) ?? []
  const id = named && !library.has(named) ? named : randomIds.make('rec')
  const read = await place.read(found, id)
  const row = {
    ...{ ...read, id, name, recordedAt: iso(found.modifiedAt), sizeBytes: found.sizeBytes },
    mimeType: CONTENT_TYPES[codecOfPath(name) ?? 'wav'],
  }
  db.tx(() => {
    library.putUnlisted(row, iso(systemClock.now()))
    place.keep({ entry: read, etag: found.etag, place: found.place, recordingId: id }, library)
  })
}

/** `untold`: what audit rows call unlisted files since they were first written. */
function auditRebuild(db: Db, { unlisted: untold, ...counts }: Counts): void {
  const entry = { action: 'controller.rebuilt', actor: systemActor('rebuild'), outcome: 'succeeded' } as const
  const now = iso(systemClock.now())
  db.tx(() =>
    audit(db, randomIds, 0).write({ ...entry, details: { ...counts, untold }, target: { type: 'controller' } }, now),
  )
}

function told({ changed, contradicting, damaged, recordings, unlisted }: Counts): number {
  const found = `${counted(recordings, 'take')} found; ${counted(damaged, 'manifest')} damaged`
  say(`${found}; ${counted(unlisted, 'file')} without manifest.\n`)
  if (contradicting > 0)
    say(`${counted(contradicting, 'manifest')} ignored because another contradicts them; both are named above.\n`)
  if (changed > 0) say(`${counted(changed, 'file is', 'files are')} not as long as the manifest says: named above.\n`)
  return say('The database is rebuilt. Start the controller and create an owner; recorders join anew.\n')
}
