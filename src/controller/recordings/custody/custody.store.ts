import type { Job } from '../../../wire/recordings.ts'
import type { Db, Params } from '../../store/db.ts'
import { LEASE_EXPIRED } from '../jobs/jobs.rules.ts'
import { COUNTS, KEEPS_LIBRARY } from '../library/held.rules.ts'
import type { KeptFile, KeptTake } from './custody.rules.ts'

// A joined file stands for the chunks it was made of, and one that came whole for what is played of them.
const STANDS = `CASE k.rendition
    WHEN 'raw' THEN s.raw_joined IS s.raw_revision
    ELSE s.primary_joined IS s.primary_revision OR s.whole_at IS NOT NULL END`
const FILES = `SELECT f.path, f.size_bytes AS sizeBytes, f.local, (SELECT min(c.verified_at) FROM remote_copies c
     JOIN upload_destinations d ON d.id = c.destination_id AND ${KEEPS_LIBRARY}
    WHERE c.recording_id = f.recording_id AND c.checksum = f.checksum AND ${COUNTS}) AS heldSince
  FROM recording_files f WHERE f.recording_id = @id
  UNION ALL SELECT k.path, k.size_bytes, 1, NULL FROM recording_chunk_files k
    JOIN chunked_recordings s ON s.recording_id = k.recording_id WHERE k.recording_id = @id AND NOT (${STANDS})`

// What is here without some of its chunks, whatever was made of the others. Retention leaves none.
const LACKS_CHUNKS = `EXISTS (SELECT 1 FROM chunked_recordings s
    JOIN recording_chunk_files k ON k.recording_id = s.recording_id AND k.rendition <> 'raw'
  WHERE s.recording_id = r.id AND s.whole_at IS NULL AND s.released_at IS NULL
  GROUP BY s.recording_id HAVING s.total IS NULL OR count(DISTINCT k.idx) < s.total)`
const raw = (table: string, where: string): string =>
  `EXISTS (SELECT 1 FROM ${table} m WHERE m.recording_id = r.id AND m.rendition = 'raw' AND ${where})`
// What was enhanced has its master beside it, where the job was to keep it.
const LACKS_MASTERS = `EXISTS (SELECT 1 FROM recording_jobs j WHERE j.recording_id = r.id AND j.status = 'completed'
    AND coalesce(json_extract(j.command, '$.enhancement.keepRaw'), 1) = 1)
  AND NOT ${raw('recording_files', 'm.joined = 0')}
  AND (EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id AND f.rendition = 'enhanced')
      AND NOT ${raw('recording_files', '1')} AND NOT ${raw('recording_chunk_files', '1')}
    OR EXISTS (SELECT 1 FROM recording_chunk_files k WHERE k.recording_id = r.id AND k.rendition = 'enhanced'
      AND NOT ${raw('recording_chunk_files', 'm.idx = k.idx')}))`
// One that was rebuilt from what lies at destinations has no job.
const COMPLETED = `(EXISTS (SELECT 1 FROM recording_jobs j WHERE j.recording_id = r.id AND j.status = 'completed')
    OR NOT EXISTS (SELECT 1 FROM recording_jobs j WHERE j.recording_id = r.id) AND (r.status IN ('completed', 'cached', 'uploaded')
      OR EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id)))
  AND NOT ${LACKS_CHUNKS} AND NOT (${LACKS_MASTERS})`

/** What a recording refers to. */
interface References {
  recordingProfileId?: string | undefined
  retentionPolicyId?: string | undefined
  roomId?: string | undefined
  scheduleId?: string | undefined
  uploadPolicyIds: readonly string[]
  watchdogPolicyId?: string | undefined
}
/** What is told of a job by whoever had it. */
export type EndedJob = Pick<Job, 'command' | 'createdAt' | 'id' | 'startedAt'>
type Known = { [K in Exclude<keyof References, 'uploadPolicyIds'>]-?: string | null }

/** How long a recorder may be away and still hear that a recording was deleted. */
const REMEMBERED_DAYS = 90

/** What is known of takes that recorders keep, and of recordings that are no longer. */
export function custodyStore(db: Db) {
  const one = db.stmt<{ id: string; nodeId: string }, { completed: number }>(
    `SELECT (${COMPLETED}) AS completed FROM recordings r WHERE r.id = @id AND r.node_id = @nodeId`,
  )
  const known = db.stmt<{ id: string }, { id: string }>(`SELECT id FROM recordings WHERE id = @id`)
  const files = db.stmt<{ id: string }, KeptFile>(FILES)
  const deleted = db.stmt<{ id: string }, { id: string }>(`SELECT id FROM deleted_recordings WHERE id = @id`)
  const remember = db.stmt<{ id: string; now: string }>(
    `INSERT INTO deleted_recordings (id, deleted_at) VALUES (@id, @now) ON CONFLICT (id) DO NOTHING`,
  )
  const forget = db.stmt<{ now: string }>(
    `DELETE FROM deleted_recordings WHERE deleted_at < strftime('%Y-%m-%dT%H:%M:%fZ', @now, '-${REMEMBERED_DAYS} days')`,
  )
  const references = db.stmt<{ [K in keyof Known]: string | null }, Known>(
    `SELECT (SELECT id FROM recording_profiles WHERE id = @recordingProfileId) AS recordingProfileId,
       (SELECT id FROM retention_policies WHERE id = @retentionPolicyId) AS retentionPolicyId,
       (SELECT id FROM rooms WHERE id = @roomId) AS roomId, (SELECT id FROM schedules WHERE id = @scheduleId) AS scheduleId,
       (SELECT id FROM watchdog_policies WHERE id = @watchdogPolicyId) AS watchdogPolicyId`,
  )
  const policies = db.stmt<{ ids: string }, { id: string }>(
    `SELECT p.id FROM json_each(@ids) wanted CROSS JOIN upload_policies p ON p.id = wanted.value ORDER BY wanted.key`,
  )
  // A master alone is not the take, unless it was stored as such.
  const stored = db.stmt<{ id: string; jobId: string }, { at: string | null }>(
    `SELECT max(f.stored_at) AS at FROM recording_files f JOIN recordings r ON r.id = f.recording_id
      WHERE f.recording_id = @id AND coalesce(f.job_id, @jobId) = @jobId
        AND (f.rendition <> 'raw' OR r.status IN ('cached', 'uploaded'))`,
  )
  const ended = db.stmt<Params>(
    `INSERT INTO recording_jobs (id, recording_id, node_id, status, command, created_at, claimed_by, started_at, completed_at,
         failure_reason)
       VALUES (@id, @recordingId, @nodeId, iif(@storedAt IS NULL, 'failed', 'completed'), @command, @createdAt, @nodeId, @startedAt,
         coalesce(@storedAt, @now), iif(@storedAt IS NULL, '${LEASE_EXPIRED}', NULL))`,
  )
  return {
    /** A take of a node; undefined where the node has no such recording. */
    take(id: string, nodeId: string): KeptTake | undefined {
      const row = one.get({ id, nodeId })
      return row && { completed: row.completed === 1, files: files.all({ id }) }
    },
    isKnown: (id: string): boolean => known.get({ id }) !== undefined,
    isDeleted: (id: string): boolean => deleted.get({ id }) !== undefined,
    deleted: (id: string, now: string): void => void remember.run({ id, now }),
    /** Forgets what was deleted long ago; only while the clock is trusted, because what is forgotten would come back. */
    prune: (now: string): void => void forget.run({ now }),
    /** The same references without what is not here. */
    known({ uploadPolicyIds, ...named }: References): References {
      const { recordingProfileId = null, retentionPolicyId = null, roomId = null, scheduleId = null } = named
      const { watchdogPolicyId = null } = named
      const row = references.get({ recordingProfileId, retentionPolicyId, roomId, scheduleId, watchdogPolicyId })
      const there = Object.fromEntries(Object.entries(row ?? {}).filter(([, id]) => id !== null))
      return { ...there, uploadPolicyIds: policies.all({ ids: JSON.stringify(uploadPolicyIds) }).map(({ id }) => id) }
    },
    /**
     * Adds a job that was claimed under an earlier controller and has ended: with what is stored of it, which nothing replaces
     * then, or as one whose lease ran out, which is delivered late. It never was active: another one of the recording may be.
     */
    addEnded(
      { command, createdAt, id, startedAt = createdAt }: EndedJob,
      recordingId: string,
      nodeId: string,
      now: string,
    ): void {
      const storedAt = stored.get({ id: recordingId, jobId: id })?.at ?? null
      ended.run({ command: JSON.stringify(command), createdAt, id, nodeId, now, recordingId, startedAt, storedAt })
    },
  }
}
export type CustodyStore = ReturnType<typeof custodyStore>
