import { conflict, Fail, found, invalid } from '../../kernel/fail.ts'
import type { UploadPolicy, UploadPolicyInput, UploadPolicyPatch } from '../../wire/uploads.ts'
import type { Visibility } from '../http/visibility.ts'
import type { Db, Params } from '../store/db.ts'
import { Lister, present } from '../store/filter.ts'
import type { DestinationStore } from './destinations.store.ts'

type Flag = 'deleteCacheAfterUpload' | 'enabled'
type Row = { [K in Exclude<keyof Required<UploadPolicy>, Flag>]: UploadPolicy[K] | null } & Record<Flag, number>

const COLUMNS = `x.id, x.name, x.destination_id AS destinationId, x.enabled, x.trigger_kind AS "trigger",
  x.max_attempts AS maxAttempts, x.path_override AS pathOverride,
  x.delete_cache_after_upload AS deleteCacheAfterUpload, x.updated_at AS updatedAt`

const policyOf = (row: Row): UploadPolicy =>
  present({
    ...row,
    deleteCacheAfterUpload: row.deleteCacheAfterUpload === 1,
    enabled: row.enabled === 1,
    pathOverride: row.pathOverride || null,
  }) as UploadPolicy

const columns = (policy: UploadPolicy, now: string): Params => ({
  id: policy.id,
  name: policy.name,
  destinationId: policy.destinationId ?? null,
  enabled: Number(policy.enabled),
  trigger: policy.trigger,
  maxAttempts: policy.maxAttempts,
  pathOverride: policy.pathOverride || null,
  deleteCache: Number(policy.deleteCacheAfterUpload),
  now,
})

/** Upload policies. `attempts`: the default number of attempts. */
export function uploadPolicyStore(db: Db, destinations: DestinationStore, attempts: number) {
  const list = new Lister<Row>(db, { columns: COLUMNS, from: 'upload_policies x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM upload_policies x WHERE x.id = @id`)
  const ofRecording = db.stmt<{ id: string }, Row>(
    `SELECT ${COLUMNS} FROM recording_upload_policies p JOIN upload_policies x ON x.id = p.policy_id
      WHERE p.recording_id = @id ORDER BY p.position`,
  )
  const insert = db.stmt<Params>(
    `INSERT INTO upload_policies (id, name, destination_id, enabled, trigger_kind, max_attempts, path_override,
       delete_cache_after_upload, updated_at)
     VALUES (@id, @name, @destinationId, @enabled, @trigger, @maxAttempts, @pathOverride, @deleteCache, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE upload_policies SET name = @name, destination_id = @destinationId, enabled = @enabled,
       trigger_kind = @trigger, max_attempts = @maxAttempts, path_override = @pathOverride,
       delete_cache_after_upload = @deleteCache, updated_at = @now WHERE id = @id`,
  )
  const find = (id: string): UploadPolicy | undefined => {
    const row = byId.get({ id })
    return row && policyOf(row)
  }
  const get = (id: string): UploadPolicy => found(find(id), 'Upload policy')

  /** A policy may only use a destination that its author may manage. */
  const checkDestination = (id: string, visibility: Visibility): void => {
    if (!destinations.find(id))
      throw invalid('Unknown upload destination', ['destinationId'], 'no such destination', 'destination_not_found')
    if (!destinations.visible(id, visibility))
      throw new Fail(403, 'missing_resource_scope', 'Forbidden', { outcome: 'denied' })
  }

  return {
    find,
    /** @throws Fail 404 `upload_policy_not_found`. */
    get,
    /** By name. */
    list: (visibility: Visibility): UploadPolicy[] =>
      list.all(visibility.own('upload_policy'), 'x.name COLLATE NOCASE, x.id').map(policyOf),
    /** The policies of a recording, in its order. */
    ofRecording: (id: string): UploadPolicy[] => ofRecording.all({ id }).map(policyOf),
    /** @throws Fail 400 without a destination or with an unknown one, 403 out of scope, 409 `upload_policy_exists`. */
    create(id: string, input: UploadPolicyInput, visibility: Visibility, now: string): UploadPolicy {
      const { destinationId } = input
      if (destinationId === undefined)
        throw invalid(
          'An upload policy must target a destination',
          ['destinationId'],
          'required',
          'destination_required',
        )
      checkDestination(destinationId, visibility)
      if (byId.get({ id })) throw conflict('upload_policy_exists', 'Upload policy already exists')
      const defaults = {
        deleteCacheAfterUpload: false,
        enabled: true,
        maxAttempts: attempts,
        trigger: 'manual',
      } as const
      insert.run(columns({ ...defaults, ...present(input), id, name: input.name, updatedAt: now }, now))
      return get(id)
    },
    patch(
      id: string,
      patch: UploadPolicyPatch,
      visibility: Visibility,
      now: string,
    ): { before: UploadPolicy; after: UploadPolicy } {
      const before = get(id)
      if (patch.destinationId !== undefined) checkDestination(patch.destinationId, visibility)
      update.run(columns({ ...before, ...present(patch) }, now))
      return { before, after: get(id) }
    },
  }
}
export type UploadPolicyStore = ReturnType<typeof uploadPolicyStore>
