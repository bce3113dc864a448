import { conflict, Fail, found } from '../../../kernel/fail.ts'
import type { Recording, RecordingFilters, RecordingStatus, RenditionDetails } from '../../../wire/recordings.ts'
import type { Asked } from '../../http/cursor.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister, present } from '../../store/filter.ts'
import { captureOf, type OfJob, undeliveredOf } from './capture.rules.ts'
import { captureStore, JOB_OF_RECORDING } from './captures.store.ts'
import { recordingCounts } from './counts.store.ts'
import { facetStore } from './facets.store.ts'
import { PLACES } from './held.rules.ts'
import { SMALL_SET } from './listing.rules.ts'
import { listingStore, type SearchStore, searchStore } from './listing.store.ts'
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
  /** 1: its bytes are on this disk; 0: at destinations alone. */
  local: number
  /** 1: made of the chunks of the take; 0: it came as one file. */
  joined: number
  mimeType: string
  path: string
  recordingId: string
  rendition: StoredRendition
  sizeBytes: number
  storedAt: string
}
type NewFile = Omit<RecordingFile, 'local' | 'storedAt'> & { details?: RenditionDetails | undefined }

/** The editable fields; absent keeps the value, null clears it. */
interface RecordingChanges {
  folder?: string | undefined
  name?: string | undefined
  notes?: string | null | undefined
  tags?: readonly string[] | undefined
  transcriptSnippets?: readonly string[] | null | undefined
}

type Paths = 'cachePath' | 'enhancedCachePath' | 'rawCachePath'
type OfItsJob = 'capture' | 'progress' | 'undelivered'
type Aggregated = 'cached' | 'checksum' | 'held' | 'renditions' | 'waveformPreview' | OfItsJob | Paths
type Row = { [K in Exclude<keyof Recording, Aggregated>]-?: Recording[K] | null } & {
  files: string
  held: string
  job: string | null
  previews: string | null
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
    WHERE recording_id = r.id) AS files,
  ${PLACES} AS held,
  ${JOB_OF_RECORDING} AS job,
  (SELECT failure_reason FROM recording_jobs WHERE recording_id = r.id AND status = 'failed'
    AND r.status = 'failed' ORDER BY created_at DESC, id DESC LIMIT 1) AS failureReason,
  (SELECT json_group_object(checksum, json(preview)) FROM recording_waveforms WHERE recording_id = r.id) AS previews`

/** Every file of a recording: renditions and chunks. */
const PATHS = `SELECT path FROM recording_files WHERE recording_id = @id
  UNION ALL SELECT path FROM recording_chunk_files WHERE recording_id = @id`

const FILE_COLUMNS = `recording_id AS recordingId, rendition, path, checksum, size_bytes AS sizeBytes,
  mime_type AS mimeType, duration_seconds AS durationSeconds, job_id AS jobId, joined, local,
  stored_at AS storedAt`

/** A row of `COLUMNS` in its wire format. */
function recordingOf(row: Row): Recording {
  const { files: stored, held, job: told, previews, tags, uploadPolicyIds, transcriptSnippets, ...plain } = row
  const job = told === null ? undefined : (JSON.parse(told) as OfJob)
  const files = JSON.parse(stored) as Files
  const primary = chosenFile(files)
  return present({
    ...plain,
    cached: primary !== undefined,
    cachePath: primary?.path,
    capture: job && captureOf(job),
    checksum: primary?.checksum,
    enhancedCachePath: files.enhanced?.path,
    held: JSON.parse(held),
    progress: job?.progress,
    rawCachePath: files.raw?.path,
    tags: JSON.parse(tags),
    transcriptSnippets: transcriptSnippets && JSON.parse(transcriptSnippets),
    undelivered: job && undeliveredOf(job),
    uploadPolicyIds: JSON.parse(uploadPolicyIds),
    waveformPreview: previews && primary ? JSON.parse(previews)[primary.checksum] : undefined,
  }) as Recording
}

/**
 * Recordings, their tags, upload policies and stored files. Call every write inside a transaction.
 * `small`: up to how many matches a list fetches them all (listing.rules.ts).
 */
export function recordingStore(db: Db, small = SMALL_SET) {
  const search = searchStore(db)
  const captures = captureStore(db)
  const cells = recordingCounts(db)
  const listing = listingStore(db, cells, search, small)
  const rowsOf = db.stmt<{ seqs: string }, Row>(
    `SELECT ${COLUMNS} FROM json_each(@seqs) page CROSS JOIN recordings r ON r.seq = page.value ORDER BY page.key`,
  )
  const named = new Lister<{ id: string; seq: number }>(db, { columns: 'r.id, r.seq', from: 'recordings r' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM recordings r WHERE r.id = @id`)
  const filesOf = db.stmt<{ id: string }, RecordingFile>(
    `SELECT ${FILE_COLUMNS} FROM recording_files WHERE recording_id = @id ORDER BY rendition`,
  )
  const isIdle = idleness(db)
  const details = db.stmt<{ id: string }, { rendition: StoredRendition; details: string }>(
    `SELECT rendition, details FROM recording_files WHERE recording_id = @id AND details IS NOT NULL ORDER BY rendition`,
  )
  const drop = db.stmt<{ id: string }>(`DELETE FROM recordings WHERE id = @id`)
  const pathsOf = db.stmt<{ id: string }, { path: string }>(PATHS)

  const find = (id: string): Recording | undefined => {
    const row = byId.get({ id })
    return row && recordingOf(row)
  }
  const get = (id: string): Recording => found(find(id), 'Recording')
  /** @throws Fail 404, or 409 `recording_active` while a take or a job is under way. */
  const mustBeOver = (id: string): Recording => {
    const recording = get(id)
    if (!isIdle(recording)) throw conflict('recording_active', 'Active recordings cannot be deleted')
    return recording
  }
  const files = (id: string): RecordingFile[] => filesOf.all({ id })
  const whole = (seqs: number[]): Recording[] => rowsOf.all({ seqs: JSON.stringify(seqs) }).map(recordingOf)

  return {
    find,
    /** @throws Fail 404 `recording_not_found`. */
    get,
    /** The same with its microphones, and the details its recorder reported for each rendition. @throws Fail 404. */
    detailed(id: string): Recording {
      const reported = details.all({ id }).map((row) => [row.rendition, JSON.parse(row.details)])
      const job = captures.newest(id)
      const capture = job && captureOf(job)
      const renditions = reported.length > 0 ? Object.fromEntries(reported) : undefined
      return { ...get(id), ...present({ capture, renditions }) }
    },
    undelivered: captures.undelivered,
    /** The stored renditions of one recording. */
    files,
    mustBeOver,
    /** Whether it is there and neither a take nor a job is under way. */
    isOver(id: string): boolean {
      const recording = find(id)
      return recording !== undefined && isIdle(recording)
    },
    ...facetStore(db, cells),
    /** One page of what the caller may see; a total that is not `exact` is a lower bound. */
    list(visibility: Visibility, filters: RecordingFilters, limit: number, asked?: Asked) {
      const { seqs, ...page } = listing.page(visibility, filters, limit, asked)
      return { ...page, rows: whole(seqs) }
    },
    /** The whole list in slices of `size`: each one short statement, however deep. */
    *walk(visibility: Visibility, filters: RecordingFilters, size: number, from?: Asked): Generator<Recording[]> {
      for (const seqs of listing.slices(visibility, filters, size, from)) yield whole(seqs)
    },
    /**
     * The recordings with these ids, each once and in this order.
     * @throws Fail 404 (audited as denied) when the caller does not see every one of them.
     */
    selected(visibility: Visibility, ids: readonly string[]): Recording[] {
      const wanted = [...new Set(ids)]
      const among = { sql: 'r.id IN (SELECT value FROM json_each(@ids))', params: { ids: JSON.stringify(wanted) } }
      const seen = new Map(named.all([among, ...visibility.recordings()], 'r.seq').map(({ id, seq }) => [id, seq]))
      const seqs = wanted.map((id) => seen.get(id)).filter((seq) => seq !== undefined)
      if (seqs.length < wanted.length)
        throw new Fail(404, 'recordings_not_visible', 'One or more recordings are not visible', { outcome: 'denied' })
      return whole(seqs)
    },
    create: creator(db, search, get),
    edit: editor(db, search, get),
    /**
     * Removes the recording with all that belongs to it. `paths` are its files: delete them after the commit.
     * @throws Fail 404, or 409 `recording_active` while a take or a job is under way.
     */
    remove(id: string): { before: Recording; paths: string[] } {
      const before = mustBeOver(id)
      const paths = pathsOf.all({ id }).map((file) => file.path)
      drop.run({ id })
      return { before, paths }
    },
    ...lifecycle(db),
    ...attachments(db),
  }
}
export type RecordingStore = ReturnType<typeof recordingStore>

/** Whether neither a take nor a job of a recording is under way. */
function idleness(db: Db): (recording: Recording) => boolean {
  const activeJob = db.stmt<{ id: string }, { id: string }>(
    `SELECT id FROM recording_jobs WHERE recording_id = @id AND status IN ('queued', 'running', 'stop_requested') LIMIT 1`,
  )
  return ({ id, status }) => !isActive(status) && !activeJob.get({ id })
}

function creator(db: Db, search: SearchStore, get: (id: string) => Recording) {
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
    const made = get(id)
    search.put(made)
    return made
  }
}

function editor(db: Db, search: SearchStore, get: (id: string) => Recording) {
  const update = db.stmt<Params>(
    `UPDATE recordings SET folder = @folder, name = @name, notes = @notes, transcript_snippets = @snippets, updated_at = @now
      WHERE id = @id`,
  )
  const untag = db.stmt<{ id: string }>(`DELETE FROM recording_tags WHERE recording_id = @id`)
  const tag = db.stmt<Params>(`INSERT INTO recording_tags (recording_id, position, tag) VALUES (@id, @position, @tag)`)
  /** @returns the recording before and after. @throws Fail 404. */
  return (id: string, changes: RecordingChanges, now: string): { before: Recording; after: Recording } => {
    const before = get(id)
    const { folder = before.folder, name = before.name, notes, tags, transcriptSnippets } = changes
    const snippets = transcriptSnippets === undefined ? before.transcriptSnippets : transcriptSnippets
    update.run({
      id,
      folder,
      name,
      notes: (notes === undefined ? before.notes : notes) || null,
      snippets: snippets?.length ? JSON.stringify(snippets) : null,
      now,
    })
    if (tags) {
      untag.run({ id })
      for (const [position, text] of distinctTags(tags).entries()) tag.run({ id, position, tag: text })
    }
    const after = get(id)
    search.put(after)
    return { before, after }
  }
}

/** The guarded changes of state (docs/contract/recordings.md: States of a recording). */
function lifecycle(db: Db) {
  const begin = db.stmt<{ id: string; now: string }>(
    `UPDATE recordings SET status = 'recording', updated_at = @now WHERE id = @id AND status = 'queued'`,
  )
  const finish = db.stmt<{ id: string; now: string }>(
    `UPDATE recordings SET status = 'completed', duration_seconds = max(duration_seconds, 1), updated_at = @now
      WHERE id = @id AND status IN ('queued', 'recording')`,
  )
  const state = db.stmt<{ id: string }, { status: RecordingStatus; hasFile: number }>(
    `SELECT status, EXISTS (SELECT 1 FROM recording_files WHERE recording_id = recordings.id)
         OR EXISTS (SELECT 1 FROM recording_chunks WHERE recording_id = recordings.id AND status NOT IN ('capturing', 'failed')) AS hasFile
       FROM recordings WHERE id = @id`,
  )
  const settle = db.stmt<{ id: string; status: RecordingStatus; now: string }>(
    `UPDATE recordings SET status = @status, updated_at = @now WHERE id = @id`,
  )
  return {
    /** A job was claimed: queued -> recording. */
    begin: (id: string, now: string): boolean => begin.run({ id, now }) === 1,
    /** Operator stop: queued or recording -> completed, at least one second long. False when there was nothing to stop. */
    finish: (id: string, now: string): boolean => finish.run({ id, now }) === 1,
    /**
     * The take ended as `to` (a file arrived, the agent cancelled, the job failed). @returns the new status
     * @throws Fail 404.
     */
    settle(id: string, to: 'cached' | 'completed' | 'failed' | 'partial', now: string): RecordingStatus {
      const { status: from, hasFile } = found(state.get({ id }), 'Recording')
      const status = settledStatus(from, to, hasFile === 1)
      if (status !== from) settle.run({ id, status, now })
      return status
    },
  }
}

function attachments(db: Db) {
  const current = db.stmt<{ id: string; rendition: string }, { path: string }>(
    `SELECT path FROM recording_files WHERE recording_id = @id AND rendition = @rendition`,
  )
  const upsert = db.stmt<Params>(
    `INSERT INTO recording_files
       (recording_id, rendition, path, checksum, size_bytes, mime_type, duration_seconds, job_id, joined, stored_at, details)
     VALUES (@recordingId, @rendition, @path, @checksum, @sizeBytes, @mimeType, @durationSeconds, @jobId, @joined, @now,
       @details)
     ON CONFLICT (recording_id, rendition) DO UPDATE SET path = excluded.path, checksum = excluded.checksum,
       size_bytes = excluded.size_bytes, mime_type = excluded.mime_type, duration_seconds = excluded.duration_seconds,
       job_id = excluded.job_id, joined = excluded.joined, local = 1, stored_at = excluded.stored_at,
       details = iif(excluded.checksum = checksum, coalesce(excluded.details, details), excluded.details)`,
  )
  const lengthen = db.stmt<{ id: string; seconds: number; now: string }>(
    `UPDATE recordings SET duration_seconds = @seconds, updated_at = @now WHERE id = @id`,
  )
  const pathsOf = db.stmt<{ id: string }, { path: string }>(PATHS)
  const forget = ['recording_files', 'chunked_recordings', 'upload_queue', 'remote_copies'].map((table) =>
    db.stmt<{ id: string }>(`DELETE FROM ${table} WHERE recording_id = @id`),
  )
  const restart = db.stmt<{ id: string; now: string }>(
    `UPDATE recordings SET status = 'recording', health_status = 'unknown', duration_seconds = 0, recorded_at = @now,
       updated_at = @now WHERE id = @id`,
  )
  return {
    /**
     * Stores a rendition; the length of a primary one becomes the recording's. Returns the path of the file it replaces, if that
     * is another one: delete it after the commit.
     */
    attach(file: NewFile, now: string): string | undefined {
      const { recordingId: id, rendition, durationSeconds: seconds } = file
      const before = current.get({ id, rendition })?.path
      upsert.run({ ...file, details: file.details ? JSON.stringify(file.details) : null, now })
      if (rendition !== 'raw' && seconds !== null) lengthen.run({ id, seconds, now })
      return before === file.path ? undefined : before
    },
    /** Sets the length of a take that arrives in chunks. */
    lengthen: (id: string, seconds: number, now: string): void => void lengthen.run({ id, seconds, now }),
    /**
     * A retry restarts the take (docs/contract/recordings.md: States of a recording); returns the paths to delete after the
     * commit.
     */
    restart(id: string, now: string): string[] {
      const paths = pathsOf.all({ id }).map((file) => file.path)
      for (const statement of forget) statement.run({ id })
      restart.run({ id, now })
      return paths
    },
  }
}
