import { openText, SealError, seal } from '../../crypto/seal.ts'
import { conflict, Fail, found, invalid } from '../../kernel/fail.ts'
import { counted } from '../../kernel/words.ts'
import type {
  Destination,
  DestinationInput,
  DestinationKind,
  DestinationPatch,
  S3Options,
  SmbOptions,
} from '../../wire/uploads.ts'
import type { Visibility } from '../http/visibility.ts'
import { COUNTS, KEEPS_LIBRARY } from '../recordings/library/held.rules.ts'
import type { Db, Params } from '../store/db.ts'
import { COUNT_LIMIT, Lister } from '../store/filter.ts'
import { describe, isMoved, redirections, type Unavailable } from './destinations.rules.ts'

interface Row {
  displayName: string
  enabled: number
  id: string
  keepsLibrary: number
  kind: DestinationKind
  s3: string | null
  s3Secret: string | null
  smb: string | null
  smbPassword: string | null
  updatedAt: string
}

/** All a driver needs. The secrets are in plain text: pass it to a driver only. */
export interface Opened {
  kind: DestinationKind
  s3: S3Options & { secretAccessKey: string }
  smb: SmbOptions & { password: string }
}

const COLUMNS = `x.id, x.display_name AS displayName, x.kind, x.enabled, x.keeps_library AS keepsLibrary, x.smb, x.smb_password AS smbPassword, x.s3,
  x.s3_secret AS s3Secret, x.updated_at AS updatedAt`

const parsed = <T>(json: string | null): T | undefined => (json === null ? undefined : (JSON.parse(json) as T))

// Takes with a file that is at this destination and nowhere else. One that is told of as damaged may be there after all: it is lost
// when people delete it.
const ALONE = `(SELECT DISTINCT own.recording_id FROM remote_copies own JOIN recording_files f
    ON f.recording_id = own.recording_id AND f.checksum = own.checksum AND f.local = 0
  WHERE own.destination_id = @id AND NOT EXISTS (SELECT 1 FROM remote_copies c
    JOIN upload_destinations d ON d.id = c.destination_id AND ${KEEPS_LIBRARY}
    WHERE c.recording_id = own.recording_id AND c.checksum = own.checksum AND c.destination_id <> @id AND ${COUNTS}))`

/** Upload destinations. Secrets are sealed on arrival, bound to their row, and leave only through `open`. */
export function destinationStore(db: Db, key: () => Uint8Array, unavailable: Unavailable) {
  const list = new Lister<Row>(db, { columns: COLUMNS, from: 'upload_destinations x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM upload_destinations x WHERE x.id = @id`)
  const insert = db.stmt<Params>(
    `INSERT INTO upload_destinations (id, display_name, kind, enabled, keeps_library, smb, smb_password, s3, s3_secret,
       created_at, updated_at)
     VALUES (@id, @displayName, @kind, @enabled, @keepsLibrary, @smb, @smbPassword, @s3, @s3Secret, @now, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE upload_destinations SET display_name = @displayName, enabled = @enabled, keeps_library = @keepsLibrary, smb = @smb,
       smb_password = @smbPassword, s3 = @s3, s3_secret = @s3Secret, place = place + @moved, updated_at = @now WHERE id = @id`,
  )
  const drop = db.stmt<{ id: string }>(`DELETE FROM upload_destinations WHERE id = @id`)
  const users = db.stmt<{ id: string }, { id: string; name: string }>(
    `SELECT id, name FROM upload_policies WHERE destination_id = @id ORDER BY name, id`,
  )

  const alone = new Lister<object>(db, { columns: '1', from: ALONE })
  /** @throws Fail 409 while takes are at this destination alone; the count ends at `COUNT_LIMIT`. */
  const requireNoneAlone = (id: string): void => {
    const count = alone.count([{ sql: '1', params: { id } }], COUNT_LIMIT)
    if (count === 0) return
    const takes = `${count === COUNT_LIMIT ? 'at least ' : ''}${counted(count, 'take is', 'takes are')}`
    const way = 'Upload them to another destination that keeps the library first, or delete them.'
    const message = `${takes} at this destination alone. ${way}`
    throw conflict('upload_destination_holds_library', message, { count, exact: count < COUNT_LIMIT })
  }

  const shown = (row: Row): Destination =>
    describe(
      {
        ...row,
        enabled: row.enabled === 1,
        hasS3SecretAccessKey: row.s3Secret !== null,
        hasSmbPassword: row.smbPassword !== null,
        keepsLibrary: row.keepsLibrary === 1,
        s3: parsed<S3Options>(row.s3),
        smb: parsed<SmbOptions>(row.smb),
      },
      unavailable,
    )
  const find = (id: string): Destination | undefined => {
    const row = byId.get({ id })
    return row && shown(row)
  }
  const get = (id: string): Destination => found(find(id), 'Upload destination')
  const place = (id: string, column: string): string => `upload_destinations/${id}/${column}`
  const sealed = (id: string, column: string, given: string | undefined, kept: string | null): string | null =>
    given === undefined ? kept : given === '' ? null : seal(key(), place(id, column), given)
  const columns = (row: Row, fields: DestinationPatch, now: string): Params => ({
    id: row.id,
    displayName: fields.displayName ?? row.displayName,
    enabled: Number(fields.enabled ?? row.enabled),
    keepsLibrary: Number(fields.keepsLibrary ?? row.keepsLibrary),
    smb: fields.smb ? JSON.stringify(fields.smb) : row.smb,
    smbPassword: sealed(row.id, 'smb_password', fields.smbPassword, row.smbPassword),
    s3: fields.s3 ? JSON.stringify(fields.s3) : row.s3,
    s3Secret: sealed(row.id, 's3_secret', fields.s3SecretAccessKey, row.s3Secret),
    now,
  })
  const opened = (id: string, column: string, text: string | null): string =>
    text === null ? '' : openText(key(), place(id, column), text)

  return {
    find,
    /** @throws Fail 404 `upload_destination_not_found`. */
    get,
    /** By name. */
    list: (visibility: Visibility): Destination[] =>
      list.all(visibility.own('upload_destination'), 'x.display_name COLLATE NOCASE, x.id').map(shown),
    /** Whether it exists and is visible. */
    visible: (id: string, visibility: Visibility): boolean =>
      list.count([{ sql: 'x.id = @wanted', params: { wanted: id } }, ...visibility.own('upload_destination')], 1) === 1,
    /** @throws Fail 409 `upload_destination_exists`. */
    create(id: string, input: DestinationInput, now: string): Destination {
      if (byId.get({ id })) throw conflict('upload_destination_exists', 'Upload destination already exists')
      const { displayName, kind } = input
      const nothing = { s3: null, s3Secret: null, smb: null, smbPassword: null }
      const blank = { displayName, enabled: 0, id, keepsLibrary: 0, kind, ...nothing }
      requireObjects(kind, input)
      insert.run({ ...columns({ ...blank, updatedAt: now }, input, now), kind })
      return get(id)
    },
    /**
     * @throws Fail 404; 400 `upload_destination_secret_required` for another server without its secret; 409
     * `upload_destination_holds_library` for what would make takes unreadable that are nowhere else.
     */
    patch(id: string, patch: DestinationPatch, now: string): { before: Destination; after: Destination } {
      const before = found(byId.get({ id }), 'Upload destination')
      requireObjects(before.kind, patch)
      requireSecretAgain(before, patch)
      if (leavesLibrary(before, patch)) requireNoneAlone(id)
      update.run({ ...columns(before, patch, now), moved: Number(becomesAnother(before, patch)) })
      return { before: shown(before), after: get(id) }
    },
    /**
     * @throws Fail 404; 409 `upload_destination_in_use` with the policies that use it, `upload_destination_holds_library` with
     * the number of takes that are nowhere else.
     */
    remove(id: string): Destination {
      const before = get(id)
      const policies = users.all({ id })
      if (policies.length > 0)
        throw conflict('upload_destination_in_use', 'Upload destination is used by upload policies', { policies })
      requireNoneAlone(id)
      drop.run({ id })
      return before
    },
    /** @throws Fail 409 `destination_secret_unreadable` when the secret key changed since. */
    open(id: string): Opened {
      const row = found(byId.get({ id }), 'Upload destination')
      try {
        return {
          kind: row.kind,
          s3: { ...parsed<S3Options>(row.s3), secretAccessKey: opened(id, 's3_secret', row.s3Secret) },
          smb: { ...parsed<SmbOptions>(row.smb), password: opened(id, 'smb_password', row.smbPassword) },
        }
      } catch (e) {
        if (!(e instanceof SealError)) throw e
        throw new Fail(
          409,
          'destination_secret_unreadable',
          'The secret of this destination cannot be decrypted and has to be entered again',
        )
      }
    },
  }
}
export type DestinationStore = ReturnType<typeof destinationStore>

/** @throws Fail 400 `library_needs_s3`: only objects can be read from the middle. */
function requireObjects(kind: DestinationKind, { keepsLibrary }: DestinationPatch): void {
  if (kind === 's3' || !keepsLibrary) return
  throw invalid(
    'Invalid upload destination',
    ['keepsLibrary'],
    'only S3 destinations keep the library',
    'library_needs_s3',
  )
}

/** Whether a patch makes the takes unreadable that are at the destination alone. */
function leavesLibrary({ enabled, keepsLibrary, s3 }: Row, patch: DestinationPatch): boolean {
  const off = patch.enabled === false || patch.keepsLibrary === false
  const moved = patch.s3 !== undefined && patch.s3.bucket !== parsed<S3Options>(s3)?.bucket
  return (enabled === 1 && keepsLibrary === 1 && off) || moved
}

/** Whether a patch makes it another place (docs/contract/uploads.md: Queue). */
function becomesAnother(before: Row, { s3, smb }: DestinationPatch): boolean {
  if (s3) return isMoved.s3(parsed<S3Options>(before.s3), s3)
  return smb !== undefined && isMoved.smb(parsed<SmbOptions>(before.smb), smb)
}

/** A stored secret is used only for the server it was entered for: another server needs it to be entered again. */
function requireSecretAgain(before: Row, { s3, s3SecretAccessKey, smb, smbPassword }: DestinationPatch): void {
  const ask = (field: string, changed: string[]): void => {
    if (changed.length === 0) return
    const why = `${changed.join(' and ')} changed: enter the ${field === 'smbPassword' ? 'password' : 'secret key'} again`
    throw invalid('Invalid upload destination', [field], why, 'upload_destination_secret_required')
  }
  if (smb && before.smbPassword !== null && smbPassword === undefined)
    ask('smbPassword', redirections.smb(parsed<SmbOptions>(before.smb), smb))
  if (s3 && before.s3Secret !== null && s3SecretAccessKey === undefined)
    ask('s3SecretAccessKey', redirections.s3(parsed<S3Options>(before.s3), s3))
}
