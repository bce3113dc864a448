import type { ChunkFile, RenditionFile } from '../../../wire/manifests.ts'
import type { Db, Params } from '../../store/db.ts'
import { present } from '../../store/filter.ts'
import type { RecordingStore } from '../library/recordings.store.ts'
import { type Described, listedChunks, manifestFields, type Queued } from './manifests.rules.ts'

type Nullable<T> = { [K in keyof T]: T[K] | null }
type FileRow = Nullable<Omit<RenditionFile, 'details' | 'joined'>> & { details: string | null; joined: number }
type ChunkRow = Nullable<Omit<ChunkFile, 'details'>> & { details: string | null }
interface Walk extends Record<string, string | number> {
  at: string
  id: string
  kind: string
  seq: number
}

const FILE = `path, checksum, rendition, size_bytes AS sizeBytes, mime_type AS mimeType, stored_at AS storedAt, details`
const REQUEUE = "ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = ''"
/** How the recordings of a walk follow each other, each along an index. */
const WALKS: Record<string, string> = {
  all: 'r.seq > @seq AND @id = @id AND @at = @at ORDER BY r.seq',
  node: 'r.node_id = @id AND (r.recorded_at, r.seq) > (@at, @seq) ORDER BY r.recorded_at, r.seq',
  room: 'r.room_id = @id AND (r.recorded_at, r.seq) > (@at, @seq) ORDER BY r.recorded_at, r.seq',
  schedule: 'r.schedule_id = @id AND (r.recorded_at, r.seq) > (@at, @seq) ORDER BY r.recorded_at, r.seq',
}

/** Which manifests are to be written, and what they tell. Triggers queue them (sql/0029_take_manifests.sql). */
export function manifestStore(db: Db, recordings: Pick<RecordingStore, 'detailed' | 'find'>) {
  const due = db.stmt<{ destinationId: string; limit: number; now: string }, Queued>(
    `SELECT recording_id AS recordingId, revision, attempts FROM manifest_queue
      WHERE destination_id = @destinationId AND due_at <= @now ORDER BY due_at LIMIT @limit`,
  )
  const destinations = db.stmt<{ now: string }, { id: string }>(
    `SELECT DISTINCT destination_id AS id FROM manifest_queue WHERE destination_id > '' AND due_at <= @now`,
  )
  const written = db.stmt<Params>(
    `DELETE FROM manifest_queue WHERE recording_id = @recordingId AND destination_id = @destinationId AND revision = @revision`,
  )
  const failed = db.stmt<Params>(
    `UPDATE manifest_queue SET attempts = attempts + 1, due_at = @at
      WHERE recording_id = @recordingId AND destination_id = @destinationId AND revision = @revision`,
  )
  const forget = db.stmt<{ destinationId: string }>(`DELETE FROM manifest_queue WHERE destination_id = @destinationId`)
  return {
    /** Up to `limit` recordings whose manifests at a destination ('': here) are to be written. */
    due: (destinationId: string, now: string, limit: number): Queued[] => due.all({ destinationId, limit, now }),
    /** Destinations at which manifests are to be written. */
    destinationsDue: (now: string): string[] => destinations.all({ now }).map(({ id }) => id),
    /** A change that came meanwhile leaves it queued. */
    written: ({ recordingId, revision }: Queued, destinationId: string): void =>
      void written.run({ recordingId, destinationId, revision }),
    /** To be tried again at `at`. */
    failed: ({ recordingId, revision }: Queued, destinationId: string, at: string): void =>
      void failed.run({ recordingId, destinationId, revision, at }),
    /** The destination is gone. */
    forget: (destinationId: string): void => void forget.run({ destinationId }),
    queueSome: walker(db),
    describe: describer(db, recordings),
  }
}
export type ManifestStore = ReturnType<typeof manifestStore>

/** Queues up to `limit` recordings of what was renamed, or of all; false when nothing is left to queue. */
function walker(db: Db): (limit: number) => boolean {
  const next = db.stmt<object, Walk>(`SELECT kind, id, at, seq FROM manifest_walks LIMIT 1`)
  const slices = Object.fromEntries(
    Object.entries(WALKS).map(([kind, order]) => [
      kind,
      db.stmt<Params, { at: string; cached: number; id: string; seq: number }>(
        `SELECT r.id, r.seq, r.recorded_at AS at, r.cached OR EXISTS (SELECT 1 FROM recording_chunk_files f WHERE f.recording_id = r.id)
            AS cached FROM recordings r WHERE ${order} LIMIT @limit`,
      ),
    ]),
  )
  const queue = db.stmt<{ id: string }>(`INSERT INTO manifest_queue (recording_id) VALUES (@id) ${REQUEUE}`)
  const move = db.stmt<Params>(`UPDATE manifest_walks SET at = @at, seq = @seq WHERE kind = @kind AND id = @id`)
  const end = db.stmt<Params>(`DELETE FROM manifest_walks WHERE kind = @kind AND id = @id`)
  return (limit) => {
    const walk = next.get({})
    if (!walk) return false
    const { kind, id } = walk
    const rows = slices[kind]?.all({ id, at: walk.at, seq: walk.seq, limit }) ?? []
    for (const row of rows) if (row.cached) queue.run({ id: row.id })
    const last = rows.at(-1)
    if (last) move.run({ kind, id, at: kind === 'all' ? '' : last.at, seq: last.seq })
    if (rows.length < limit) end.run({ kind, id })
    return true
  }
}

/** Reads what the manifests of a recording tell; undefined when it is gone. */
function describer(db: Db, recordings: Pick<RecordingStore, 'detailed' | 'find'>) {
  const files = db.stmt<{ id: string }, FileRow>(
    `SELECT ${FILE}, duration_seconds AS durationSeconds, job_id AS jobId, joined FROM recording_files
      WHERE recording_id = @id ORDER BY rendition`,
  )
  const pieces = db.stmt<{ id: string }, ChunkRow>(
    `SELECT f.idx AS "index", ${FILE}, k.duration_seconds AS durationSeconds FROM recording_chunk_files f
       JOIN recording_chunks k ON k.recording_id = f.recording_id AND k.idx = f.idx
      WHERE f.recording_id = @id ORDER BY f.idx, f.rendition`,
  )
  const set = db.stmt<{ id: string }, { exact: number; jobId: string; total: number | null }>(
    `SELECT job_id AS jobId, total, join_exact AS exact FROM chunked_recordings WHERE recording_id = @id`,
  )
  const node = db.stmt<{ id: string }, NonNullable<Described['node']>>(
    `SELECT id, alias, site, room FROM nodes WHERE id = @id`,
  )
  const room = db.stmt<{ id: string }, NonNullable<Described['room']>>(
    `SELECT id, site, name, building, floor FROM rooms WHERE id = @id`,
  )
  const schedule = db.stmt<{ id: string }, { id: string; name: string }>(
    `SELECT id, name FROM schedules WHERE id = @id`,
  )
  const detailed = <R extends { details: string | null }>(row: R) =>
    present({ ...row, details: row.details && JSON.parse(row.details) })
  const chunksOf = (id: string): Described['chunks'] => {
    const chunked = set.get({ id })
    return chunked && listedChunks(pieces.all({ id }).map(detailed) as ChunkFile[], chunked)
  }
  return (id: string): Described | undefined => {
    if (!recordings.find(id)) return undefined
    const recording = recordings.detailed(id)
    const { capture, nodeId, roomId, scheduleId } = recording
    const row = roomId === undefined ? undefined : room.get({ id: roomId })
    return present({
      capture,
      chunks: chunksOf(id),
      node: nodeId === undefined ? undefined : node.get({ id: nodeId }),
      recording: manifestFields(recording),
      renditions: files.all({ id }).map((file) => ({ ...detailed(file), joined: file.joined === 1 })),
      room: row && present({ ...row }),
      schedule: scheduleId === undefined ? undefined : schedule.get({ id: scheduleId }),
    }) as unknown as Described
  }
}
