import { isoPlus } from '../../../kernel/clock.ts'
import type { ChunkStatus, RecordingChunk } from '../../../wire/chunks.ts'
import type { RenditionDetails } from '../../../wire/recordings.ts'
import type { Db, Params } from '../../store/db.ts'
import { present } from '../../store/filter.ts'
import { FILE_HELD } from '../library/held.rules.ts'
import type { Piece } from '../library/renditions.rules.ts'
import {
  type ChunkFile,
  type ChunkRendition,
  type ChunkSet,
  type JoinGroup,
  joinAt,
  joinPause,
  joinTimes,
  storedStatus,
} from './chunks.rules.ts'

interface NewChunk extends ChunkFile {
  details?: RenditionDetails | undefined
  /** Undefined keeps the stored value. */
  durationSeconds: number | undefined
  jobId: string
  mimeType: string
  recordingId: string
  /** Number of chunks, when the sender knows it. */
  total: number | undefined
}

type SetRow = Omit<ChunkSet, 'ended'> & { ended: number }
type Row = Required<Omit<RecordingChunk, 'id'>> & Record<string, unknown>

const FILES = `(SELECT count(DISTINCT idx) FROM recording_chunk_files f WHERE f.recording_id = c.recording_id AND f.rendition`
const SET = `SELECT c.recording_id AS recordingId, c.job_id AS jobId, c.total, c.changed_at AS changedAt, c.whole_at AS wholeAt,
    c.primary_revision AS primaryRevision, c.raw_revision AS rawRevision, c.primary_joined AS primaryJoined,
    c.raw_joined AS rawJoined, c.join_attempts AS joinAttempts, c.join_event AS joinEvent, c.released_at AS releasedAt,
    NOT EXISTS (SELECT 1 FROM recording_jobs j WHERE j.recording_id = c.recording_id
      AND j.status IN ('queued', 'running', 'stop_requested')) AS ended,
    coalesce((SELECT max(idx) FROM recording_chunks k WHERE k.recording_id = c.recording_id), 0) AS highest,
    ${FILES} <> 'raw') AS primaries,
    -- Where there are masters, what came plain is the master of a chunk that could not be enhanced.
    (SELECT iif(sum(rendition = 'raw') > 0, count(DISTINCT idx), 0) FROM recording_chunk_files f
      WHERE f.recording_id = c.recording_id AND f.rendition <> 'enhanced') AS raws
  FROM chunked_recordings c`

const pathOf = (rendition: ChunkRendition, column = 'path'): string =>
  `(SELECT ${column} FROM recording_chunk_files f WHERE f.recording_id = k.recording_id AND f.idx = k.idx AND f.rendition = '${rendition}')`
const played = (column: string): string =>
  `coalesce(${pathOf('enhanced', column)}, ${pathOf('primary', column)}, ${pathOf('raw', column)})`
const chunk = (before: string): string => `SELECT k.recording_id AS recordingId, k.idx AS "index", k.status,
    k.duration_seconds AS durationSeconds, k.created_at AS createdAt, k.cached_at AS cachedAt, c.job_id AS jobId, c.total,
    coalesce(${before}, 0) AS offsetSeconds,
    coalesce(${pathOf('enhanced')}, ${pathOf('primary')}) AS cachePath, ${pathOf('raw')} AS rawCachePath,
    ${pathOf('enhanced')} AS enhancedCachePath, ${played('checksum')} AS checksum, ${played('size_bytes')} AS sizeBytes
  FROM recording_chunks k JOIN chunked_recordings c ON c.recording_id = k.recording_id WHERE k.recording_id = @id`
const ONE = chunk(
  '(SELECT sum(b.duration_seconds) FROM recording_chunks b WHERE b.recording_id = k.recording_id AND b.idx < k.idx)',
)
const ALL = chunk('sum(k.duration_seconds) OVER (ORDER BY k.idx ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)')

const chunkOf = (row: Row): RecordingChunk =>
  present({ ...row, id: `chunk_${row.recordingId}_${row.index}` }) as RecordingChunk

/** Takes that arrive in chunks (docs/contract/recordings.md: Chunks). Call every write inside a transaction. */
export function chunkStore(db: Db) {
  const setOf = db.stmt<{ id: string }, SetRow>(`${SET} WHERE c.recording_id = @id`)
  const one = db.stmt<{ id: string; index: number }, Row>(`${ONE} AND k.idx = @index`)
  const all = db.stmt<{ id: string }, Row>(`${ALL} ORDER BY k.idx`)
  const filesOf = db.stmt<{ id: string }, ChunkFile>(
    `SELECT idx AS "index", rendition, path, checksum, size_bytes AS sizeBytes FROM recording_chunk_files
      WHERE recording_id = @id ORDER BY idx, rendition`,
  )
  const seconds = db.stmt<{ id: string }, { n: number | null }>(
    `SELECT sum(duration_seconds) AS n FROM recording_chunks WHERE recording_id = @id AND status <> 'capturing'`,
  )
  const bytes = db.stmt<{ id: string }, { n: number | null }>(
    `SELECT sum(n) AS n FROM (SELECT max(size_bytes) AS n FROM recording_chunk_files
      WHERE recording_id = @id AND rendition <> 'raw' GROUP BY idx)`,
  )
  const move = db.stmt<{ id: string; index: number; from: string; to: ChunkStatus }>(
    `UPDATE recording_chunks SET status = @to
      WHERE recording_id = @id AND idx = @index AND status IN (SELECT value FROM json_each(@from))`,
  )

  const find = (id: string): ChunkSet | undefined => {
    const row = setOf.get({ id })
    return row && { ...row, ended: row.ended === 1 }
  }
  const get = (id: string, index: number): RecordingChunk | undefined => {
    const row = one.get({ id, index })
    return row && chunkOf(row)
  }
  const scheduled = scheduler(db, find)
  return {
    /** The set of a recording; undefined for one that arrived as one file. */
    find,
    /** One chunk; `index` counts from 1. */
    get,
    list: (recordingId: string): RecordingChunk[] => all.all({ id: recordingId }).map(chunkOf),
    files: (recordingId: string): ChunkFile[] => filesOf.all({ id: recordingId }),
    /** Bytes of the played files. */
    bytes: (recordingId: string): number => bytes.get({ id: recordingId })?.n ?? 0,
    /** Length of the chunks that have arrived, seconds. */
    seconds: (recordingId: string): number => seconds.get({ id: recordingId })?.n ?? 0,
    put: putter(db, get, scheduled.schedule),
    /** The uploads of a chunk began; false when its status does not allow it (docs/contract/recordings.md: Chunks). */
    uploading: (id: string, index: number): boolean =>
      move.run({ id, index, from: '["cached","partial","failed"]', to: 'uploading' }) === 1,
    settled: (id: string, index: number, to: 'failed' | 'partial' | 'uploaded'): boolean =>
      move.run({ id, index, from: '["uploading"]', to }) === 1,
    ...scheduled,
    ...joins(db, find),
    ...releases(db),
    ...rejoins(db, scheduled.schedule),
  }
}
export type ChunkStore = ReturnType<typeof chunkStore>

function putter(
  db: Db,
  get: (id: string, index: number) => RecordingChunk | undefined,
  schedule: (id: string, now: string) => void,
) {
  const upsertSet = db.stmt<Params>(
    // A file stored before the first chunk is the whole take and stays the played one, except for a master whose chunks are
    // still to come.
    `INSERT INTO chunked_recordings (recording_id, job_id, total, changed_at, whole_at)
     VALUES (@recordingId, @jobId, @total, @now,
       (SELECT @now FROM recording_files f WHERE f.recording_id = @recordingId AND (f.rendition <> 'raw'
         OR EXISTS (SELECT 1 FROM recording_jobs j WHERE j.recording_id = @recordingId AND j.status = 'completed')) LIMIT 1))
     ON CONFLICT (recording_id) DO UPDATE SET total = coalesce(max(total, excluded.total), total, excluded.total)`,
  )
  const stretch = db.stmt<{ recordingId: string; index: number }>(
    `UPDATE chunked_recordings SET total = max(total, @index) WHERE recording_id = @recordingId AND total IS NOT NULL`,
  )
  const arrived = db.stmt<{ recordingId: string; rendition: ChunkRendition; now: string }>(
    `UPDATE chunked_recordings SET changed_at = @now, primary_revision = primary_revision + (@rendition <> 'raw'),
       raw_revision = raw_revision + (@rendition <> 'enhanced'), join_attempts = 0 WHERE recording_id = @recordingId`,
  )
  const upsertChunk = db.stmt<Params>(
    `INSERT INTO recording_chunks (recording_id, idx, status, duration_seconds, created_at, cached_at)
     VALUES (@recordingId, @index, @status, @seconds, @now, @cachedAt)
     ON CONFLICT (recording_id, idx) DO UPDATE SET status = excluded.status, duration_seconds = excluded.duration_seconds,
       cached_at = coalesce(excluded.cached_at, cached_at)`,
  )
  const current = db.stmt<Params, { path: string; checksum: string }>(
    `SELECT path, checksum FROM recording_chunk_files
      WHERE recording_id = @recordingId AND idx = @index AND rendition = @rendition`,
  )
  const upsertFile = db.stmt<Params>(
    `INSERT INTO recording_chunk_files (recording_id, idx, rendition, path, checksum, size_bytes, mime_type, stored_at, details)
     VALUES (@recordingId, @index, @rendition, @path, @checksum, @sizeBytes, @mimeType, @now, @details)
     ON CONFLICT (recording_id, idx, rendition) DO UPDATE SET path = excluded.path, checksum = excluded.checksum,
       size_bytes = excluded.size_bytes, mime_type = excluded.mime_type, stored_at = excluded.stored_at,
       details = iif(excluded.checksum = checksum, coalesce(excluded.details, details), excluded.details)`,
  )
  /**
   * Stores a chunk; the same bytes again change nothing. `replaced` is the path of the file it replaces, if that is another
   * one: delete it after the commit.
   */
  return (chunk: NewChunk, now: string): { chunk: RecordingChunk; fresh: boolean; replaced: string | undefined } => {
    const { details, durationSeconds, jobId, total = null, ...file } = chunk
    const { index, recordingId, rendition } = file
    upsertSet.run({ recordingId, jobId, total, now })
    stretch.run({ recordingId, index })
    const known = get(recordingId, index)
    const status = storedStatus(known?.status, rendition)
    const seconds = durationSeconds ?? Math.max(known?.durationSeconds ?? 0, 1)
    upsertChunk.run({ recordingId, index, status, seconds, now, cachedAt: rendition === 'raw' ? null : now })
    const before = current.get({ recordingId, index, rendition })
    upsertFile.run({ ...file, details: details ? JSON.stringify(details) : null, now })
    const fresh = before?.checksum !== file.checksum
    if (fresh) arrived.run({ recordingId, rendition, now })
    schedule(recordingId, now)
    const replaced = before?.path === file.path ? undefined : before?.path
    return { chunk: get(recordingId, index) as RecordingChunk, fresh, replaced }
  }
}

/** When the chunks of a recording are to be joined. */
function scheduler(db: Db, find: (id: string) => ChunkSet | undefined) {
  const set = db.stmt<{ id: string; at: string | null }>(
    `UPDATE chunked_recordings SET join_at = @at WHERE recording_id = @id`,
  )
  const whole = db.stmt<{ id: string; now: string }>(
    `UPDATE chunked_recordings SET whole_at = @now, join_at = NULL WHERE recording_id = @id`,
  )
  const schedule = (id: string, now: string): void => {
    const known = find(id)
    if (known) set.run({ id, at: joinAt(joinTimes(known, now)) })
  }
  return {
    /** Updates the time of the join after a chunk arrived or the job ended. */
    schedule,
    /** The take also arrived as one file, which is played. */
    whole: (id: string, now: string): void => void whole.run({ id, now }),
  }
}

function joins(db: Db, find: (id: string) => ChunkSet | undefined) {
  const due = db.stmt<{ now: string }, { id: string }>(
    `SELECT recording_id AS id FROM chunked_recordings WHERE join_at <= @now ORDER BY join_at LIMIT 1`,
  )
  const joined = db.stmt<{
    id: string
    primary: number | null
    raw: number | null
    event: string | null
    exact: number
  }>(
    `UPDATE chunked_recordings SET primary_joined = coalesce(@primary, primary_joined), raw_joined = coalesce(@raw, raw_joined),
       join_attempts = 0, join_event = @event, join_exact = join_exact AND @exact WHERE recording_id = @id`,
  )
  const failed = db.stmt<{ id: string; at: string; event: string | null }>(
    `UPDATE chunked_recordings SET join_attempts = join_attempts + 1, join_event = @event, join_at = @at WHERE recording_id = @id`,
  )
  const encoder = db.stmt<{ id: string }, { kbps: number | null; vbr: number | null }>(
    `SELECT json_extract(command, '$.outputBitrateKbps') AS kbps, json_extract(command, '$.outputVbr') AS vbr
       FROM recording_jobs WHERE id = @id`,
  )
  const detailsOf = db.stmt<{ id: string }, { at: number; details: string | null; path: string }>(
    `SELECT f.path, f.details, coalesce(k.at, 0) AS at FROM recording_chunk_files f
       JOIN (SELECT idx, sum(duration_seconds) OVER (ORDER BY idx ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS at
         FROM recording_chunks WHERE recording_id = @id) k ON k.idx = f.idx
      WHERE f.recording_id = @id ORDER BY f.idx`,
  )
  return {
    /** The details of these files, each with its place in the take. */
    pieces(id: string, sources: readonly ChunkFile[]): Piece[] {
      const paths = new Set(sources.map(({ path }) => path))
      const rows = detailsOf.all({ id }).filter(({ path }) => paths.has(path))
      return rows.map(({ at, details }) => ({ at, details: details === null ? undefined : JSON.parse(details) }))
    },
    /** The set that has been due for longest. */
    due(now: string): ChunkSet | undefined {
      const next = due.get({ now })
      return next && find(next.id)
    },
    /** A group was joined from this revision, `exact` to the sample; `event` is the health event that is still open. */
    joined: (id: string, group: JoinGroup, revision: number, exact: boolean, event: string | null): void =>
      void joined.run({
        id,
        exact: Number(exact),
        primary: group === 'primary' ? revision : null,
        raw: group === 'raw' ? revision : null,
        event,
      }),
    /** It could not be joined, and is retried later; the chunks stay unchanged. */
    joinFailed: (set: ChunkSet, event: string | null, now: string): void =>
      void failed.run({ id: set.recordingId, event, at: isoPlus(now, joinPause(set.joinAttempts + 1)) }),
    /** The encoder settings of the job. */
    encoder: (jobId: string): { kbps: number; vbr: boolean } => {
      const row = encoder.get({ id: jobId })
      return { kbps: row?.kbps ?? 128, vbr: row?.vbr === 1 }
    },
  }
}

/** Deletes files of chunks that are no longer needed. */
function releases(db: Db) {
  // Complete, joined without loss, nothing more expected, nothing left to upload.
  const due = db.stmt<{ before: string; limit: number }, { id: string; jobId: string }>(
    `SELECT c.recording_id AS id, c.job_id AS jobId FROM chunked_recordings c
      WHERE c.released_at IS NULL AND c.join_at IS NULL AND c.changed_at <= @before AND c.join_exact = 1
        AND c.total = (SELECT count(DISTINCT idx) FROM recording_chunk_files f
          WHERE f.recording_id = c.recording_id AND f.rendition <> 'raw')
        AND c.primary_joined = c.primary_revision
        AND (c.raw_joined = c.raw_revision OR NOT EXISTS (SELECT 1 FROM recording_chunk_files f
          WHERE f.recording_id = c.recording_id AND f.rendition = 'raw'))
        AND NOT EXISTS (SELECT 1 FROM recording_jobs j WHERE j.recording_id = c.recording_id
          AND j.status IN ('queued', 'running', 'stop_requested'))
        AND NOT EXISTS (SELECT 1 FROM upload_queue q WHERE q.recording_id = c.recording_id
          AND q.chunk_index IS NOT NULL AND (q.status <> 'succeeded' OR q.release_pending = 1))
      ORDER BY c.changed_at LIMIT @limit`,
  )
  const paths = db.stmt<{ id: string }, { path: string; bytes: number }>(
    `SELECT path, size_bytes AS bytes FROM recording_chunk_files WHERE recording_id = @id`,
  )
  const forget = db.stmt<{ id: string }>(`DELETE FROM recording_chunk_files WHERE recording_id = @id`)
  const mark = db.stmt<{ id: string; now: string }>(
    `UPDATE chunked_recordings SET released_at = @now WHERE recording_id = @id`,
  )
  return {
    /** Sets unchanged since `before` whose files are no longer needed, oldest first. */
    releasable: (before: string, limit: number): { id: string; jobId: string }[] => due.all({ before, limit }),
    /** Removes the rows of a set's files: delete the files after the commit. */
    release(id: string, now: string): { bytes: number; paths: string[] } {
      const files = paths.all({ id })
      forget.run({ id })
      mark.run({ id, now })
      return { bytes: files.reduce((sum, file) => sum + file.bytes, 0), paths: files.map(({ path }) => path) }
    },
  }
}

/** Whether a stored file is on this disk, all of it: a power cut may leave an empty one. */
export type IsHere = (file: Pick<ChunkFile, 'path' | 'sizeBytes'>) => boolean

/** What becomes of chunks whose joined file got lost. */
function rejoins(db: Db, schedule: (id: string, now: string) => void) {
  const joined = db.stmt<{ id: string }, { local: number; path: string; sizeBytes: number }>(
    `SELECT f.path, f.local, f.size_bytes AS sizeBytes FROM recording_files f
      WHERE f.recording_id = @id AND f.joined = 1 AND NOT ${FILE_HELD}`,
  )
  const restart = db.stmt<{ id: string }>(
    `UPDATE chunked_recordings SET primary_joined = NULL, raw_joined = NULL, released_at = NULL, join_at = NULL
      WHERE recording_id = @id AND coalesce(primary_joined, raw_joined, released_at) IS NOT NULL`,
  )
  const files = db.stmt<{ id: string }, Pick<ChunkFile, 'path' | 'sizeBytes'>>(
    `SELECT path, size_bytes AS sizeBytes FROM recording_chunk_files WHERE recording_id = @id`,
  )
  const forget = db.stmt<{ id: string; path: string }>(
    `DELETE FROM recording_chunk_files WHERE recording_id = @id AND path = @path`,
  )
  return {
    /**
     * Where a joined file is neither here nor at a destination: what is here of its chunks is joined again, together with what
     * is delivered again. False where nothing was lost.
     */
    rejoin(id: string, isHere: IsHere, now: string): boolean {
      const lost = joined.all({ id }).some((file) => file.local === 0 || !isHere(file))
      if (!lost || restart.run({ id }) === 0) return false
      for (const file of files.all({ id })) if (!isHere(file)) forget.run({ id, path: file.path })
      schedule(id, now)
      return true
    },
  }
}
