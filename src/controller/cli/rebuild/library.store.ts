import type { ChunkFile, RenditionFile, TakeManifest } from '../../../wire/manifests.ts'
import type { RecordingStatus } from '../../../wire/recordings.ts'
import { distinctTags } from '../../recordings/library/recordings.rules.ts'
import type { Db, Params } from '../../store/db.ts'

type Entry = ChunkFile | RenditionFile

/** A file that nothing is told of. */
interface UnlistedFile {
  checksum: string
  durationSeconds: number
  id: string
  mimeType: string
  name: string
  path: string
  recordedAt: string
  sizeBytes: number
}

/** The folder of takes that nothing is told of. */
const UNLISTED_FOLDER = 'Rebuilt'

const known = (table: string, name: string): string => `(SELECT id FROM ${table} WHERE id = @${name})`

const NODES = `INSERT INTO nodes (id, alias, hostname, site, room, last_seen_at, created_at, updated_at)
  VALUES (@id, @alias, 'unknown', @site, @room, @at, @at, @at)
  ON CONFLICT (id) DO UPDATE SET alias = excluded.alias, site = excluded.site, room = excluded.room, updated_at = excluded.updated_at
    WHERE excluded.updated_at > updated_at`
// Of another room with that name the older one stays.
const ROOMS = `INSERT INTO rooms (id, site, name, building, floor, created_at, updated_at)
  SELECT @id, @site, @name, @building, @floor, @at, @at
    WHERE NOT EXISTS (SELECT 1 FROM rooms WHERE site = @site AND name = @name AND id <> @id)
  ON CONFLICT (id) DO UPDATE SET site = excluded.site, name = excluded.name, building = excluded.building, floor = excluded.floor,
    updated_at = excluded.updated_at WHERE excluded.updated_at > updated_at`
// Several manifests may tell of one recording: the newest word counts.
const RECORDINGS = `INSERT INTO recordings (id, name, folder, notes, transcript_snippets, source, status, health_status, recorded_at,
    duration_seconds, node_id, room_id, recording_profile_id, retention_policy_id, watchdog_policy_id, updated_at, cached)
  VALUES (@id, @name, @folder, @notes, @snippets, @source, @status, @healthStatus, @recordedAt, @durationSeconds,
    ${known('nodes', 'nodeId')}, coalesce(${known('rooms', 'roomId')}, (SELECT id FROM rooms WHERE site = @site AND name = @roomName)),
    ${known('recording_profiles', 'profileId')}, ${known('retention_policies', 'retentionId')},
    ${known('watchdog_policies', 'watchdogId')}, @at, @cached)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, folder = excluded.folder, notes = excluded.notes,
    transcript_snippets = excluded.transcript_snippets, status = excluded.status, health_status = excluded.health_status,
    recorded_at = excluded.recorded_at, duration_seconds = excluded.duration_seconds, node_id = excluded.node_id,
    room_id = excluded.room_id, updated_at = excluded.updated_at, cached = max(cached, excluded.cached)
    WHERE excluded.updated_at >= updated_at`
const FILES = `INSERT INTO recording_files (recording_id, rendition, path, checksum, size_bytes, mime_type, duration_seconds, job_id,
    joined, stored_at, details, local)
  VALUES (@id, @rendition, @path, @checksum, @sizeBytes, @mimeType, @durationSeconds, @jobId, @joined, @storedAt, @details, @local)
  ON CONFLICT (recording_id, rendition) DO UPDATE SET path = excluded.path, checksum = excluded.checksum,
    size_bytes = excluded.size_bytes, mime_type = excluded.mime_type, duration_seconds = excluded.duration_seconds,
    job_id = excluded.job_id, joined = excluded.joined, stored_at = excluded.stored_at, details = excluded.details
    WHERE excluded.stored_at > stored_at`
// With a joined file they are joined, until more come; without one they wait to be.
const SETS = `INSERT INTO chunked_recordings (recording_id, job_id, total, changed_at, primary_revision, raw_revision, primary_joined,
    raw_joined, whole_at, join_at, join_exact)
  VALUES (@id, @jobId, @total, @at, 1, 1, @primaryJoined, @rawJoined, @wholeAt, @joinAt, @exact)
  ON CONFLICT (recording_id) DO NOTHING`
const CHUNKS = `INSERT INTO recording_chunks (recording_id, idx, status, duration_seconds, created_at, cached_at)
  VALUES (@id, @index, 'cached', @durationSeconds, @storedAt, @storedAt) ON CONFLICT DO NOTHING`
const CHUNK_FILES = `INSERT INTO recording_chunk_files (recording_id, idx, rendition, path, checksum, size_bytes, mime_type, stored_at,
    details)
  VALUES (@id, @index, @rendition, @path, @checksum, @sizeBytes, @mimeType, @storedAt, @details) ON CONFLICT DO NOTHING`

// What lies at a destination was sent there.
const UPLOADS = `INSERT INTO upload_queue (id, recording_id, destination_id, provider, status, attempt_count, max_attempts,
    next_attempt_at, cache_path, checksum, file_name, chunk_id, chunk_index, path_override, target, created_at, updated_at)
  VALUES (@uploadId, @id, @destinationId, 's3', 'succeeded', 1, 1, @at, @path, @checksum, @fileName, @chunkId, @index, @pathOverride,
    @target, @at, @at)`

const COPIES = `INSERT INTO remote_copies (recording_id, checksum, destination_id, object_key, etag, verified_at)
  VALUES (@id, @checksum, @destinationId, @key, @etag, @at) ON CONFLICT DO NOTHING`

/**
 * Writes what manifests tell into an empty database; `remote`: their files are at a destination. Call every write inside a
 * transaction.
 */
export function rebuiltLibrary(db: Db, { remote }: { remote: boolean }) {
  const local = Number(!remote)
  const file = db.stmt<Params>(FILES)
  const [set, chunk, chunkFile] = [db.stmt<Params>(SETS), db.stmt<Params>(CHUNKS), db.stmt<Params>(CHUNK_FILES)]
  const taken = db.stmt<{ id: string; path: string }, { taken: number }>(
    `SELECT EXISTS (SELECT 1 FROM recording_files WHERE path = @path AND recording_id <> @id)
       OR EXISTS (SELECT 1 FROM recording_chunk_files WHERE path = @path AND recording_id <> @id) AS taken`,
  )
  const count = db.stmt<object, { n: number }>('SELECT count(*) AS n FROM recordings')
  const [copy, upload] = [db.stmt<Params>(COPIES), db.stmt<Params>(UPLOADS)]
  const recording = recordingWriter(db)
  const isTaken = (id: string, path: string): boolean => taken.get({ id, path })?.taken === 1

  const putChunks = (
    manifest: TakeManifest,
    entries: readonly ChunkFile[],
    renditions: readonly RenditionFile[],
  ): void => {
    const { chunks, recording, writtenAt } = manifest
    if (!chunks || entries.length === 0) return
    const { exact, jobId, total = null } = chunks
    const played = renditions.find(({ rendition }) => rendition !== 'raw')
    const master = renditions.find(({ rendition }) => rendition === 'raw')
    const whole = played !== undefined && !played.joined
    set.run({
      ...{ id: recording.id, jobId, total, at: writtenAt, exact: Number(exact) },
      ...{ primaryJoined: played ? 1 : null, rawJoined: master ? 1 : null, wholeAt: whole ? writtenAt : null },
      joinAt: played ? null : writtenAt,
    })
    for (const { details, durationSeconds = 0, index, ...one } of entries) {
      const row = { ...one, details: details ? JSON.stringify(details) : null, id: recording.id, index }
      chunk.run({ durationSeconds, id: recording.id, index, storedAt: one.storedAt })
      chunkFile.run(row)
    }
  }
  return {
    /** Whether a file belongs to a recording already. */
    knows: (path: string): boolean => isTaken('', path),
    /** How many recordings there are. */
    count: (): number => count.get({})?.n ?? 0,
    /** Whether a recording has this id. */
    has: recording.has,
    /**
     * The recording of a manifest, with those of its files that are there; false when they belong to another one. What is known
     * of a recording changes only by one that is `trusted`.
     */
    put(manifest: TakeManifest, entries: readonly Entry[], trusted: boolean): boolean {
      const { id } = manifest.recording
      if (entries.some(({ path }) => isTaken(id, path))) return false
      const chunks = entries.filter((entry): entry is ChunkFile => 'index' in entry)
      const renditions = entries.filter((entry): entry is RenditionFile => 'joined' in entry)
      if (trusted || !recording.has(id)) recording.put(manifest, { cached: renditions.length > 0, remote })
      for (const { details, durationSeconds = null, jobId = null, joined, ...one } of renditions)
        file.run({
          ...one,
          ...{ durationSeconds, id, jobId, joined: Number(joined), local },
          details: details ? JSON.stringify(details) : null,
        })
      putChunks(manifest, chunks, renditions)
      return true
    },
    /** A file of a recording lies at a destination. */
    putUploaded: (row: Params): void => void upload.run(row),
    /** Where its bytes are read from. */
    putCopy: (row: Params): void => void copy.run(row),
    /** A recording that is named after its file. */
    putUnlisted({ id, name, recordedAt, durationSeconds, ...one }: UnlistedFile, now: string): void {
      recording.putBare({ id, name, folder: UNLISTED_FOLDER, recordedAt, durationSeconds, at: now })
      const row = { ...one, details: null, durationSeconds, id, jobId: null, joined: 0, local, rendition: 'primary' }
      file.run({ ...row, storedAt: now })
    },
  }
}
export type RebuiltLibrary = ReturnType<typeof rebuiltLibrary>

/** What is no longer under way when its job is gone, and what nobody can vouch for without the destination. */
function statusOf(status: RecordingStatus, remote: boolean): RecordingStatus {
  if (status === 'queued' || status === 'recording') return 'partial'
  return status === 'uploaded' && !remote ? 'cached' : status
}

function recordingWriter(db: Db) {
  const [node, room, insert] = [db.stmt<Params>(NODES), db.stmt<Params>(ROOMS), db.stmt<Params>(RECORDINGS)]
  const exists = db.stmt<{ id: string }, { id: string }>('SELECT id FROM recordings WHERE id = @id')
  const untag = db.stmt<{ id: string }>('DELETE FROM recording_tags WHERE recording_id = @id')
  const tag = db.stmt<Params>('INSERT INTO recording_tags (recording_id, position, tag) VALUES (@id, @position, @tag)')
  const policy = db.stmt<Params>(
    `INSERT INTO recording_upload_policies (recording_id, position, policy_id)
       SELECT @id, @position, id FROM upload_policies WHERE id = @policyId ON CONFLICT DO NOTHING`,
  )
  const bare = db.stmt<Params>(
    `INSERT INTO recordings (id, name, folder, source, status, recorded_at, duration_seconds, updated_at, cached)
     VALUES (@id, @name, @folder, 'ad_hoc', 'cached', @recordedAt, @durationSeconds, @at, 1)`,
  )
  const has = (id: string): boolean => exists.get({ id }) !== undefined
  return {
    has,
    putBare: (row: Params): void => void bare.run(row),
    put(manifest: TakeManifest, { cached, remote }: { cached: boolean; remote: boolean }): void {
      const { recording: r, writtenAt: at } = manifest
      if (manifest.node) node.run({ ...manifest.node, at })
      if (manifest.room) room.run({ building: null, floor: null, ...manifest.room, at })
      const again = has(r.id)
      const told = insert.run({
        ...{ id: r.id, name: r.name, folder: r.folder, notes: r.notes || null, source: r.source },
        ...{ healthStatus: r.healthStatus, recordedAt: r.recordedAt, durationSeconds: r.durationSeconds },
        ...{ snippets: r.transcriptSnippets?.length ? JSON.stringify(r.transcriptSnippets) : null },
        ...{ nodeId: r.nodeId ?? null, roomId: r.roomId ?? null, profileId: r.recordingProfileId ?? null },
        ...{ retentionId: r.retentionPolicyId ?? null, watchdogId: r.watchdogPolicyId ?? null },
        ...{ site: manifest.room?.site ?? null, roomName: manifest.room?.name ?? null },
        ...{ status: statusOf(r.status, remote), at, cached: Number(cached) },
      })
      if (told === 0) return
      if (again) untag.run({ id: r.id })
      for (const [position, text] of distinctTags(r.tags).entries()) tag.run({ id: r.id, position, tag: text })
      for (const [position, policyId] of r.uploadPolicyIds.entries()) policy.run({ id: r.id, position, policyId })
    },
  }
}
