import { conflict, found } from '../../kernel/fail.ts'
import type { Recording, RecordingFilters, RecordingStatus } from '../../wire/recordings.ts'
import type { Reach } from '../edge/reach.ts'
import type { Db, Params } from '../store/db.ts'
import { type Condition, contains, Lister, present, when } from '../store/filter.ts'
import { chosenFile, distinctTags, isActive, type StoredRendition, settledStatus } from './recordings.rules.ts'

export interface NewRecording {
  folder: string
  id: string
  name: string
  nodeId: string
  recordedAt: string
  recordingProfileId?: string | undefined
  retentionPolicyId?: string | undefined
  roomId?: string | undefined
  scheduleId?: string | undefined
  source: Recording['source']
  status: 'queued' | 'recording'
  /** Repetitions that differ only in case are dropped. */
  tags: readonly string[]
  uploadPolicyIds: readonly string[]
  watchdogPolicyId?: string | undefined
}

/** One stored rendition; `path` is relative to the takes directory. */
export interface RecordingFile {
  checksum: string
  durationSeconds: number | null
  jobId: string | null
  mimeType: string
  path: string
  recordingId: string
  rendition: StoredRendition
  sizeBytes: number
  storedAt: string
}
export type NewFile = Omit<RecordingFile, 'storedAt'>

type Aggregated = 'cached' | 'cachePath' | 'checksum' | 'enhancedCachePath' | 'rawCachePath'
type Row = { [K in Exclude<keyof Recording, Aggregated>]-?: Recording[K] | null } & {
  files: string
  tags: string
  transcriptSnippets: string | null
  uploadPolicyIds: string
}
type Files = Partial<Record<StoredRendition, { path: string; checksum: string }>>

const COLUMNS = `r.id, r.name, r.folder, r.notes, r.transcript_snippets AS transcriptSnippets, r.source, r.status,
  r.health_status AS healthStatus, r.recorded_at AS recordedAt, r.duration_seconds AS durationSeconds,
  r.node_id AS nodeId, r.room_id AS roomId, r.schedule_id AS scheduleId, r.recording_profile_id AS recordingProfileId,
  r.retention_policy_id AS retentionPolicyId, r.watchdog_policy_id AS watchdogPolicyId,
  (SELECT json_group_array(tag ORDER BY position) FROM recording_tags WHERE recording_id = r.id) AS tags,
  (SELECT json_group_array(policy_id ORDER BY position) FROM recording_upload_policies WHERE recording_id = r.id)
    AS uploadPolicyIds,
  (SELECT json_group_object(rendition, json_object('path', path, 'checksum', checksum)) FROM recording_files
    WHERE recording_id = r.id) AS files`

const FILE_COLUMNS = `recording_id AS recordingId, rendition, path, checksum, size_bytes AS sizeBytes,
  mime_type AS mimeType, duration_seconds AS durationSeconds, job_id AS jobId, stored_at AS storedAt`

/** A row of `COLUMNS` as the wire has it. */
function recordingOf(row: Row): Recording {
  const { files: stored, tags, uploadPolicyIds, transcriptSnippets, ...plain } = row
  const files = JSON.parse(stored) as Files
  const primary = chosenFile(files)
  return present({
    ...plain,
    cached: primary !== undefined,
    cachePath: primary?.path,
    checksum: primary?.checksum,
    enhancedCachePath: files.enhanced?.path,
    rawCachePath: files.raw?.path,
    tags: JSON.parse(tags),
    transcriptSnippets: transcriptSnippets && JSON.parse(transcriptSnippets),
    uploadPolicyIds: JSON.parse(uploadPolicyIds),
  }) as Recording
}

/** Recordings, their tags, upload policies and stored files. Every write is meant to run inside a transaction. */
export function recordingStore(db: Db) {
  // A page is chosen by id and its rows are read after: a sort must not carry, nor aggregate, rows outside of the page.
  const list = new Lister<{ id: string }>(db, { columns: 'r.id', from: 'recordings r' })
  const rowsOf = db.stmt<{ ids: string }, Row>(
    `SELECT ${COLUMNS} FROM json_each(@ids) page CROSS JOIN recordings r ON r.id = page.value ORDER BY page.key`,
  )
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM recordings r WHERE r.id = @id`)
  const filesOf = db.stmt<{ id: string }, RecordingFile>(
    `SELECT ${FILE_COLUMNS} FROM recording_files WHERE recording_id = @id ORDER BY rendition`,
  )
  const activeJob = db.stmt<{ id: string }, { id: string }>(
    `SELECT id FROM recording_jobs WHERE recording_id = @id AND status IN ('queued', 'running', 'stop_requested') LIMIT 1`,
  )
  const drop = db.stmt<{ id: string }>(`DELETE FROM recordings WHERE id = @id`)

  const find = (id: string): Recording | undefined => {
    const row = byId.get({ id })
    return row && recordingOf(row)
  }
  const get = (id: string): Recording => found(find(id), 'Recording')
  const files = (id: string): RecordingFile[] => filesOf.all({ id })
  const whole = (rows: { id: string }[]): Recording[] =>
    rowsOf.all({ ids: JSON.stringify(rows.map((row) => row.id)) }).map(recordingOf)

  return {
    find,
    /** @throws Fail 404 `recording_not_found`. */
    get,
    /** The stored renditions of one recording. */
    files,
    /** One page of what the caller may see. */
    list(reach: Reach, filters: RecordingFilters, limit: number): { rows: Recording[]; total: number } {
      const conditions = [...reach.recordings(), ...matching(filters)]
      const { rows, total } = list.page(conditions, orderOf(filters), limit, filters.offset ?? 0)
      return { rows: whole(rows), total }
    },
    /** The same without counting, for lists that are read to their end; nothing newer than `until` is in them. */
    slice(reach: Reach, filters: RecordingFilters, until: string, limit: number, offset: number): Recording[] {
      const settled = { sql: 'r.recorded_at <= @until', params: { until } }
      return whole(list.rows([settled, ...reach.recordings(), ...matching(filters)], orderOf(filters), limit, offset))
    },
    create: creator(db, get),
    /**
     * Removes the recording with all that belongs to it. `paths` are its files: unlink them after the commit.
     * @throws Fail 404, or 409 `recording_active` while a take or a job is under way.
     */
    remove(id: string): { before: Recording; paths: string[] } {
      const before = get(id)
      if (isActive(before.status) || activeJob.get({ id }))
        throw conflict('recording_active', 'Active recordings cannot be deleted')
      const paths = files(id).map((file) => file.path)
      drop.run({ id })
      return { before, paths }
    },
    ...lifecycle(db),
    ...attachments(db, files),
  }
}
export type RecordingStore = ReturnType<typeof recordingStore>

function creator(db: Db, get: (id: string) => Recording) {
  const insert = db.stmt<Params>(
    `INSERT INTO recordings (id, name, folder, source, status, recorded_at, node_id, room_id, schedule_id,
       recording_profile_id, retention_policy_id, watchdog_policy_id, updated_at)
     VALUES (@id, @name, @folder, @source, @status, @recordedAt, @nodeId, @roomId, @scheduleId,
       @recordingProfileId, @retentionPolicyId, @watchdogPolicyId, @now)`,
  )
  const tag = db.stmt<Params>(`INSERT INTO recording_tags (recording_id, position, tag) VALUES (@id, @position, @tag)`)
  const policy = db.stmt<Params>(
    `INSERT INTO recording_upload_policies (recording_id, position, policy_id) VALUES (@id, @position, @policyId)`,
  )
  return (recording: NewRecording, now: string): Recording => {
    const { id, tags, uploadPolicyIds, ...plain } = recording
    insert.run({
      ...plain,
      id,
      recordingProfileId: plain.recordingProfileId ?? null,
      retentionPolicyId: plain.retentionPolicyId ?? null,
      roomId: plain.roomId ?? null,
      scheduleId: plain.scheduleId ?? null,
      watchdogPolicyId: plain.watchdogPolicyId ?? null,
      now,
    })
    for (const [position, text] of distinctTags(tags).entries()) tag.run({ id, position, tag: text })
    for (const [position, policyId] of [...new Set(uploadPolicyIds)].entries()) policy.run({ id, position, policyId })
    return get(id)
  }
}

/** The guarded moves of contract A, 4.4. */
function lifecycle(db: Db) {
  const begin = db.stmt<{ id: string; now: string }>(
    `UPDATE recordings SET status = 'recording', updated_at = @now WHERE id = @id AND status = 'queued'`,
  )
  const finish = db.stmt<{ id: string; now: string }>(
    `UPDATE recordings SET status = 'completed', duration_seconds = max(duration_seconds, 1), updated_at = @now
      WHERE id = @id AND status IN ('queued', 'recording')`,
  )
  const state = db.stmt<{ id: string }, { status: RecordingStatus; hasFile: number }>(
    `SELECT status, EXISTS (SELECT 1 FROM recording_files WHERE recording_id = recordings.id) AS hasFile
       FROM recordings WHERE id = @id`,
  )
  const settle = db.stmt<{ id: string; status: RecordingStatus; now: string }>(
    `UPDATE recordings SET status = @status, updated_at = @now WHERE id = @id`,
  )
  return {
    /** A job was handed out: queued -> recording. */
    begin: (id: string, now: string): boolean => begin.run({ id, now }) === 1,
    /** Operator stop: queued or recording -> completed, at least one second long. False when nothing was to stop. */
    finish: (id: string, now: string): boolean => finish.run({ id, now }) === 1,
    /**
     * The take ended as `to` (a file arrived, the agent cancelled, the job failed); gives the status it has now.
     * @throws Fail 404.
     */
    settle(id: string, to: 'cached' | 'completed' | 'failed', now: string): RecordingStatus {
      const { status: from, hasFile } = found(state.get({ id }), 'Recording')
      const status = settledStatus(from, to, hasFile === 1)
      if (status !== from) settle.run({ id, status, now })
      return status
    },
  }
}

function attachments(db: Db, files: (id: string) => RecordingFile[]) {
  const current = db.stmt<{ id: string; rendition: string }, { path: string }>(
    `SELECT path FROM recording_files WHERE recording_id = @id AND rendition = @rendition`,
  )
  const upsert = db.stmt<Params>(
    `INSERT INTO recording_files
       (recording_id, rendition, path, checksum, size_bytes, mime_type, duration_seconds, job_id, stored_at)
     VALUES (@recordingId, @rendition, @path, @checksum, @sizeBytes, @mimeType, @durationSeconds, @jobId, @now)
     ON CONFLICT (recording_id, rendition) DO UPDATE SET path = excluded.path, checksum = excluded.checksum,
       size_bytes = excluded.size_bytes, mime_type = excluded.mime_type, duration_seconds = excluded.duration_seconds,
       job_id = excluded.job_id, stored_at = excluded.stored_at`,
  )
  const lengthen = db.stmt<{ id: string; seconds: number; now: string }>(
    `UPDATE recordings SET duration_seconds = @seconds, updated_at = @now WHERE id = @id`,
  )
  const forget = db.stmt<{ id: string }>(`DELETE FROM recording_files WHERE recording_id = @id`)
  const restart = db.stmt<{ id: string; now: string }>(
    `UPDATE recordings SET status = 'recording', health_status = 'unknown', duration_seconds = 0, recorded_at = @now,
       updated_at = @now WHERE id = @id`,
  )
  return {
    /**
     * Files a rendition; the length of a primary one becomes the recording's. Gives the path of the file it
     * replaces when that is another one: unlink it after the commit.
     */
    attach(file: NewFile, now: string): string | undefined {
      const { recordingId: id, rendition, durationSeconds: seconds } = file
      const before = current.get({ id, rendition })?.path
      upsert.run({ ...file, now })
      if (rendition !== 'raw' && seconds !== null) lengthen.run({ id, seconds, now })
      return before === file.path ? undefined : before
    },
    /** A retry begins the take anew (contract A, 4.4); gives the paths to unlink after the commit. */
    restart(id: string, now: string): string[] {
      const paths = files(id).map((file) => file.path)
      forget.run({ id })
      restart.run({ id, now })
      return paths
    },
  }
}

const SEARCHED = [
  ...['folder', 'id', 'name', 'notes', 'node_id', 'recording_profile_id', 'schedule_id', 'source', 'status'].map(
    (column) => `r.${column} LIKE @search ESCAPE '\\'`,
  ),
  ...[
    ['recording_upload_policies', 'policy_id'],
    ['recording_tags', 'tag'],
  ].map(
    ([table, column]) =>
      `EXISTS (SELECT 1 FROM ${table} WHERE recording_id = r.id AND ${column} LIKE @search ESCAPE '\\')`,
  ),
  `EXISTS (SELECT 1 FROM json_each(r.transcript_snippets) WHERE value LIKE @search ESCAPE '\\')`,
].join(' OR ')

const HAS_FILE = 'EXISTS (SELECT 1 FROM recording_files WHERE recording_id = r.id)'

const matching = (f: RecordingFilters): Condition[] => [
  ...when(f.search, SEARCHED, (text) => ({ search: contains(text) })),
  ...when(f.folder, `r.folder LIKE @folder ESCAPE '\\'`, (text) => ({ folder: contains(text) })),
  ...when(f.status, 'r.status = @status', (status) => ({ status })),
  ...when(f.healthStatus, 'r.health_status = @healthStatus', (healthStatus) => ({ healthStatus })),
  ...when(f.cacheState, f.cacheState === 'cached' ? HAS_FILE : `NOT ${HAS_FILE}`, () => ({})),
  ...when(f.nodeId, 'r.node_id = @nodeId', (nodeId) => ({ nodeId })),
  ...when(f.recordingProfileId, 'r.recording_profile_id = @profileId', (profileId) => ({ profileId })),
  ...when(f.scheduleId, 'r.schedule_id = @scheduleId', (scheduleId) => ({ scheduleId })),
  ...when(
    f.uploadPolicyId,
    'r.id IN (SELECT recording_id FROM recording_upload_policies WHERE policy_id = @policyId)',
    (policyId) => ({ policyId }),
  ),
  ...when(f.tag, 'r.id IN (SELECT recording_id FROM recording_tags WHERE tag = @tag)', (tag) => ({ tag })),
  // Split takes are a thing of the past: no recording belongs to a track group.
  ...when(f.trackGroupId, '0', () => ({})),
  ...when(f.recordedFrom, 'r.recorded_at >= @recordedFrom', (recordedFrom) => ({ recordedFrom })),
  ...when(f.recordedTo, 'r.recorded_at <= @recordedTo', (recordedTo) => ({ recordedTo })),
]

const SORTS: Record<NonNullable<RecordingFilters['sortBy']>, { column: string; order: 'asc' | 'desc' }> = {
  durationSeconds: { column: 'r.duration_seconds', order: 'desc' },
  folder: { column: 'r.folder COLLATE NOCASE', order: 'asc' },
  healthStatus: { column: 'r.health_status', order: 'asc' },
  name: { column: 'r.name COLLATE NOCASE', order: 'asc' },
  recordedAt: { column: 'r.recorded_at', order: 'desc' },
  source: { column: 'r.source', order: 'asc' },
  status: { column: 'r.status', order: 'asc' },
}

function orderOf({ sortBy = 'recordedAt', sortOrder }: RecordingFilters): string {
  const { column, order } = SORTS[sortBy]
  return `${column} ${sortOrder ?? order}, r.id`
}
