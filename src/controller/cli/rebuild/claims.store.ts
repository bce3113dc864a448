// Whose manifest is believed: several tell of one recording, and whoever may write beside takes may forge another one.

import type { TakeManifest } from '../../../wire/manifests.ts'
import type { Db, Params } from '../../store/db.ts'
import { idTail } from '../../uploads/queue.rules.ts'
import type { Finding } from './findings.ts'

/** A manifest that was read, with its files. */
export type ReadManifest = Extract<Finding, { manifest: unknown }>

interface Claim {
  own: string
  place: string
  /** A JSON array of the checksums of all its files. */
  told: string
  writtenAt: string
}

/** Whether a file is named after a recording, as files here and at destinations are: by its id, or by the end of it. */
export function isNamedAfter(place: string, recordingId: string): boolean {
  const tail = idTail(recordingId)
  return tail !== '' && new RegExp(`(?:^|[/_.-])${tail}(?:[/_.-]|$)`).test(place)
}

const checksumsOf = ({ chunks, renditions }: TakeManifest): string[] =>
  [...renditions, ...(chunks?.files ?? [])].map(({ checksum }) => checksum)

const claimOf = ({ manifest, place }: ReadManifest): Claim => ({
  own: manifest.file.checksum,
  place,
  told: JSON.stringify(checksumsOf(manifest)),
  writtenAt: manifest.writtenAt,
})

const tells = ({ told }: Claim, { own }: Claim): boolean => (JSON.parse(told) as string[]).includes(own)

/** Of two manifests of one recording the newer tells of the file that the older lies beside. */
const agree = (one: Claim, other: Claim): boolean =>
  one.writtenAt <= other.writtenAt ? tells(other, one) : tells(one, other)

/** What manifests say, for as long as `db` is open. Call every write inside a transaction. */
export function claimStore(db: Db) {
  db.raw.exec(`CREATE TEMP TABLE claims (id TEXT PRIMARY KEY, place TEXT, own TEXT, told TEXT, writtenAt TEXT) WITHOUT ROWID;
    CREATE TEMP TABLE later (seq INTEGER PRIMARY KEY, found TEXT)`)
  const claim = db.stmt<{ id: string }, Claim>('SELECT place, own, told, writtenAt FROM claims WHERE id = @id')
  const keep = db.stmt<Params>(
    `INSERT INTO claims (id, place, own, told, writtenAt) VALUES (@id, @place, @own, @told, @writtenAt)
     ON CONFLICT DO UPDATE SET place = excluded.place, own = excluded.own, told = excluded.told, writtenAt = excluded.writtenAt
       WHERE excluded.writtenAt >= writtenAt`,
  )
  const defer = db.stmt<{ found: string }>('INSERT INTO later (found) VALUES (@found)')
  const deferred = db.stmt<{ limit: number }, { found: string }>(
    'DELETE FROM later WHERE seq IN (SELECT seq FROM later ORDER BY seq LIMIT @limit) RETURNING found',
  )
  return {
    /**
     * The place of a manifest that says otherwise of the same recording; undefined, and noted, when none does. One whose file is
     * not named after its recording has to be told of by another one, where there is one.
     */
    otherwise(found: ReadManifest): string | undefined {
      const { id } = found.manifest.recording
      const [mine, known] = [claimOf(found), claim.get({ id })]
      const isNamed = isNamedAfter(found.place, id)
      if (known && !(isNamed ? agree(mine, known) : tells(known, mine))) return known.place
      if (isNamed || !known) keep.run({ id, ...mine })
      return undefined
    },
    /** To be looked at when all others were. */
    defer: (found: ReadManifest): void => void defer.run({ found: JSON.stringify(found) }),
    /** Up to `limit` of what was deferred; none of them comes again. */
    deferred: (limit: number): ReadManifest[] =>
      deferred.all({ limit }).map(({ found }) => JSON.parse(found) as ReadManifest),
  }
}
export type ClaimStore = ReturnType<typeof claimStore>
