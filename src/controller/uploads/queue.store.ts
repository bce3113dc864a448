import { conflict, found } from '../../kernel/fail.ts'
import type { UploadFilters, UploadItem } from '../../wire/uploads.ts'
import type { Visibility } from '../http/visibility.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import type { Db, Params } from '../store/db.ts'
import { COUNT_LIMIT, type Condition, Lister, present, when } from '../store/filter.ts'
import { freeName } from './queue.rules.ts'

type Row = { [K in keyof Required<UploadItem>]: UploadItem[K] | null }

export const ITEM_COLUMNS = `q.id, q.recording_id AS recordingId, q.provider, q.status, q.attempt_count AS attemptCount,
  q.max_attempts AS maxAttempts, q.next_attempt_at AS nextAttemptAt, q.last_error AS lastError,
  q.cache_path AS cachePath, q.checksum, q.file_name AS fileName, q.chunk_id AS chunkId, q.chunk_index AS chunkIndex,
  q.destination_id AS destinationId, q.upload_policy_id AS uploadPolicyId, q.path_override AS pathOverride, q.target,
  q.created_at AS createdAt, q.updated_at AS updatedAt`

/** Limits items to those whose recording is visible. */
export function withinRecordings(visibility: Visibility): Condition[] {
  const seen = visibility.recordings()
  if (seen.length === 0) return []
  const sql = seen.map((c) => `(${c.sql})`).join(' AND ')
  return [
    {
      sql: `EXISTS (SELECT 1 FROM recordings r WHERE r.id = q.recording_id AND ${sql})`,
      params: Object.assign({}, ...seen.map((c) => c.params)) as Params,
    },
  ]
}

const matching = ({ provider, recordingId, status }: UploadFilters): Condition[] => [
  ...when(provider, 'q.provider = @provider', (v) => ({ provider: v })),
  ...when(recordingId, 'q.recording_id = @recordingId', (v) => ({ recordingId: v })),
  ...when(status, 'q.status = @status', (v) => ({ status: v })),
]

const itemOf = (row: Row): UploadItem => present(row) as UploadItem

const progressOf = ({ provider, status, attemptCount, destinationId, lastError, uploadPolicyId }: UploadItem): object =>
  present({ provider, status, attemptCount, destinationId, lastError, uploadPolicyId })

/** The upload queue as people see it. */
export function uploadQueueStore(db: Db, counts: RecordingsApi['counts']) {
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${ITEM_COLUMNS} FROM upload_queue q WHERE q.id = @id`)
  const ofRecording = db.stmt<{ id: string }, Row>(
    `SELECT ${ITEM_COLUMNS} FROM upload_queue q WHERE q.recording_id = @id ORDER BY q.created_at, q.rowid`,
  )
  const retry = db.stmt<Params>(
    `UPDATE upload_queue SET status = 'retrying', attempt_count = 0, last_error = 'provider_not_configured',
       next_attempt_at = @now, updated_at = @now, cache_path = @cachePath, checksum = @checksum,
       file_name = @fileName WHERE id = @id AND status IN ('failed', 'cancelled')`,
  )
  const visible = new Lister<{ id: string }>(db, { columns: 'r.id', from: 'recordings r' })

  const find = (id: string): UploadItem | undefined => {
    const row = byId.get({ id })
    return row && itemOf(row)
  }
  const get = (id: string): UploadItem => found(find(id), 'Upload queue item')

  return {
    find,
    /** @throws Fail 404 `upload_queue_item_not_found`. */
    get,
    /** Oldest first. */
    ofRecording: (id: string): UploadItem[] => ofRecording.all({ id }).map(itemOf),
    ...listing(db, counts),
    /** The uploads of each chunk, by its index (docs/contract/recordings.md: Chunks). */
    chunkUploads(recordingId: string): Map<number, object[]> {
      const pieces = ofRecording
        .all({ id: recordingId })
        .map(itemOf)
        .filter((item) => item.chunkIndex !== undefined)
      const byIndex = Map.groupBy(pieces, (item) => item.chunkIndex as number)
      return new Map([...byIndex].map(([index, own]) => [index, own.map(progressOf)]))
    },
    /** Which of these recordings the caller sees. */
    visibleRecordings(visibility: Visibility, ids: readonly string[]): Set<string> {
      const named = { sql: 'r.id IN (SELECT value FROM json_each(@wanted))', params: { wanted: JSON.stringify(ids) } }
      return new Set(visible.rows([named, ...visibility.recordings()], 'r.id', ids.length, 0).map((row) => row.id))
    },
    /**
     * Makes an ended item due again with all its attempts, for `file`, the recording's current file.
     * @throws Fail 404, or 409 `upload_queue_item_not_retryable`.
     */
    retry(
      id: string,
      file: { path: string; checksum: string } | undefined,
      now: string,
    ): { before: UploadItem; after: UploadItem } {
      const before = get(id)
      const cachePath = file?.path ?? before.cachePath ?? ''
      const checksum = file?.checksum ?? before.checksum ?? ''
      const fileName = freeName(
        before.fileName ?? '',
        checksum,
        ofRecording.all({ id: before.recordingId }).map(itemOf),
      )
      if (retry.run({ id, cachePath, checksum, fileName, now }) === 0)
        throw conflict('upload_queue_item_not_retryable', 'Upload queue item is not retryable')
      return { before, after: get(id) }
    },
  }
}
export type UploadQueueStore = ReturnType<typeof uploadQueueStore>

interface UploadPage {
  /** False when `total` is a lower bound. */
  exact: boolean
  rows: UploadItem[]
  total: number
}

// Up to this many visible items are fetched and sorted; more are found quickly by walking the list.
const SMALL = 8000
// Rows of a walk that are read to count visible items.
const LOOKED_AT = 10_000
const ORDER = 'q.next_attempt_at, q.id'

/**
 * A page in the order of due times. Visibility is decided by an item's scope, which is part of every index: few visible items
 * are fetched by scope, many are found by walking the list.
 */
function listing(db: Db, counts: RecordingsApi['counts']) {
  // Ids first: a walk or a sort must not carry rows that are not on the page.
  const ids = new Lister<{ id: string }>(db, { columns: 'q.id', from: 'upload_queue q' })
  const rowsOf = db.stmt<{ ids: string }, Row>(
    `SELECT ${ITEM_COLUMNS} FROM json_each(@ids) page CROSS JOIN upload_queue q ON q.id = page.value ORDER BY page.key`,
  )
  const scoped = new Lister<{ id: string }>(db, {
    columns: 'q.id',
    from: 'json_each(@scopes) s CROSS JOIN upload_queue q ON q.scope_id = s.value',
  })
  const heads = new Map<string, Lister<object>>()
  /** The first rows of the list, to be counted: one statement for each combination of filters. */
  const head = (own: Condition[]): Lister<object> => {
    const where = own.length > 0 ? `WHERE ${own.map((c) => c.sql).join(' AND ')}` : ''
    const made = heads.get(where) ?? new Lister<object>(db, { columns: '1', from: headOf(where) })
    heads.set(where, made)
    return made
  }
  const whole = (found: { id: string }[]): UploadItem[] =>
    rowsOf.all({ ids: JSON.stringify(found.map((row) => row.id)) }).map(itemOf)
  const paged = (
    lister: Lister<{ id: string }>,
    conditions: Condition[],
    limit: number,
    offset: number,
  ): UploadPage => {
    const { rows, total } = lister.page(conditions, ORDER, limit, offset)
    return { exact: total < offset + limit + COUNT_LIMIT, rows: whole(rows), total }
  }

  const walked = (own: Condition[], within: Condition, limit: number, offset: number): UploadPage => {
    // One more than the limit: that tells whether there is a next page, however far the count goes.
    const found = ids.rows([...own, within], ORDER, limit + 1, offset)
    const rows = whole(found.slice(0, limit))
    if (found.length <= limit && (found.length > 0 || offset === 0))
      return { exact: true, rows, total: offset + found.length }
    const first = head(own)
    const looked = first.count([bound(own)], LOOKED_AT)
    const seen = first.count([bound(own), within], LOOKED_AT)
    return { exact: looked < LOOKED_AT, rows, total: Math.max(seen, found.length > 0 ? offset + found.length : 0) }
  }

  return {
    /** Items in the order they are due. */
    list(visibility: Visibility, filters: UploadFilters, limit: number): UploadPage {
      const { offset = 0, recordingId } = filters
      const own = matching(filters)
      if (visibility.recordings().length === 0) return paged(ids, own, limit, offset)
      if (recordingId !== undefined) return paged(ids, [...own, ...withinRecordings(visibility)], limit, offset)
      const { also, not } = counts.exceptions(visibility)
      const rare = own.length > 0 && ids.count(own, SMALL + 1) <= SMALL
      const scopes = JSON.stringify(counts.scopes(visibility))
      const few = [{ sql: '1', params: { scopes } }, ...own]
      const plain = also.length === 0 && not.length === 0
      if (plain && !rare && scoped.count(few, SMALL + 1) <= SMALL) return paged(scoped, few, limit, offset)
      return walked(own, plain ? byScope(scopes) : withExceptions(scopes, also, not), limit, offset)
    },
  }
}

const headOf = (where: string): string =>
  `(SELECT q.scope_id, q.recording_id FROM upload_queue q ${where} ORDER BY ${ORDER} LIMIT ${LOOKED_AT}) q`

const bound = (own: Condition[]): Condition => ({ sql: '1', params: Object.assign({}, ...own.map((c) => c.params)) })

// `+` makes the planner walk the list instead of fetching and sorting whole scopes.
const byScope = (scopes: string): Condition => ({
  sql: '+q.scope_id IN (SELECT value FROM json_each(@scopes))',
  params: { scopes },
})

// Recordings named individually by grants or denials.
const withExceptions = (scopes: string, also: number[], not: number[]): Condition => ({
  sql: `(+q.scope_id IN (SELECT value FROM json_each(@scopes))
      AND q.recording_id NOT IN (SELECT r.id FROM recordings r WHERE r.seq IN (SELECT value FROM json_each(@not))))
    OR +q.recording_id IN (SELECT r.id FROM recordings r WHERE r.seq IN (SELECT value FROM json_each(@also)))`,
  params: { also: JSON.stringify(also), not: JSON.stringify(not), scopes },
})
