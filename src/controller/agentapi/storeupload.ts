import * as path from 'node:path'
import { checksumOf } from '../../kernel/checksum.ts'
import { place } from '../../kernel/durable.ts'
import { Fail } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import { type Codec, enhances } from '../../wire/profiles.ts'
import { CONTENT_TYPES, type Job, type Recording, type StoredFile } from '../../wire/recordings.ts'
import type { CachedChunk, Events } from '../events.ts'
import type { PathClaims } from '../http/claims.ts'
import { removeFiles } from '../http/files.ts'
import type { Commit, Done } from '../http/route.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import { checkOpen, chunkStem, isComplete, isReleased } from '../recordings/chunks/chunks.rules.ts'
import { endedByLease } from '../recordings/jobs/jobs.rules.ts'
import { isSecured, type StoredRendition } from '../recordings/library/recordings.rules.ts'
import type { ReceivedDetails } from '../recordings/library/renditions.rules.ts'
import {
  type Announcement,
  checkAgainstChunks,
  checkOtherRenditions,
  checkReplacement,
  checkSuperseded,
  owningJob,
} from './cachefile.rules.ts'
import type { Received } from './uploadreceiver.ts'

export interface StoreUploadParts {
  chunks: RecordingsApi['chunks']
  paths: PathClaims
  events: Events
  health: HealthApi['health']
  ids: Ids
  jobs: RecordingsApi['jobs']
  recordings: RecordingsApi['recordings']
  service: RecordingsApi['jobService']
  /** Directory of the stored files. */
  takes: string
}

export interface Upload {
  /** Whether a raw file is the take itself: no enhanced file will follow. */
  alone: boolean
  announced: Announcement
  /** Which chunk of the take it is; undefined for a whole take. */
  chunk: { index: number; total: number | undefined } | undefined
  nodeId: string
  part: string
  recordingId: string
  rendition: StoredRendition
}

/** A complete upload. */
interface Arrived extends Upload {
  /** Detected from its first bytes. */
  codec: Codec
}

interface Asked {
  chunked: boolean
  jobId: string | undefined
  nodeId: string
}

interface Attached {
  done: Done<object>
  replaced: string | undefined
}

/** @throws Fail 404, or 403 for another node's recording. */
export function ownRecording({ recordings }: StoreUploadParts, id: string, nodeId: string): Recording {
  const recording = recordings.get(id)
  if (recording.nodeId === nodeId) return recording
  throw new Fail(403, 'node_scope_denied', 'Node credential cannot access this recording', { outcome: 'denied' })
}

/** The job this upload belongs to; checked again when the file has arrived, because the job may have ended meanwhile. */
export function acceptable(parts: StoreUploadParts, recording: Recording, { chunked, jobId, nodeId }: Asked): Job {
  const { chunks, jobs, recordings } = parts
  const own = jobs.ofRecording(recording.id)
  if (chunked && jobId === undefined && own.length === 0)
    throw new Fail(409, 'chunk_upload_missing_job', 'Chunk upload requires an owning recording job')
  const job = owningJob(recording, own, jobId === undefined ? undefined : jobs.find(jobId), jobId, nodeId)
  const collected = chunks.find(recording.id)
  checkSuperseded(job, own, [...recordings.files(recording.id), ...(collected ? [collected] : [])])
  return job
}

/**
 * Whether no enhanced file comes with a raw one, which then is the take itself (docs/contract/recordings.md: States of a
 * recording): none was ordered, or the sender reports why it failed.
 */
export const isAlone = ({ command }: Job, { details }: ReceivedDetails): boolean =>
  !enhances(command.enhancement) || details?.enhancementFailure !== undefined

/** The stored rendition: raw chunks of a take without enhanced ones are the take, and are joined and uploaded as such. */
function renditionOf(parts: StoreUploadParts, upload: Upload, got: Received): StoredRendition {
  const { alone, chunk, rendition } = upload
  if (!alone || !chunk || rendition !== 'raw') return rendition
  const others = stored(parts, upload).filter((row) => row.rendition !== 'raw')
  const own = others.every((row) => row.rendition === 'primary' && row.checksum === checksumOf(got.sha256))
  return own ? 'primary' : 'raw'
}

/** Moves a received file to its place and writes its row; removes it again when the write fails. */
export async function storeUpload(
  parts: StoreUploadParts,
  arrived: Arrived,
  got: Received,
  commit: Commit,
): Promise<Done<object>> {
  const { paths, takes } = parts
  const upload = { ...arrived, rendition: renditionOf(parts, arrived, got) }
  const file = claimed(parts, upload, got)
  try {
    await place(upload.part, path.join(takes, file))
    const { done } = await paths.removing((discard) =>
      commit((now) => {
        const outcome = attach(parts, upload, got, file, now)
        if (outcome.replaced) discard([outcome.replaced])
        return outcome.done
      }),
    )
    return done
  } finally {
    // Without a row nobody knows the file: it must not stay.
    if (!stored(parts, upload).some((row) => row.path === file)) await removeFiles(takes, [file])
    paths.release(file)
  }
}

/** The files already stored of the same take or chunk. */
const stored = ({ chunks, recordings }: StoreUploadParts, { chunk, recordingId }: Upload) =>
  chunk ? chunks.files(recordingId).filter((file) => file.index === chunk.index) : recordings.files(recordingId)

/**
 * `ad-hoc/<id>.<ext>`, or with a part of the checksum when that name is taken. A file is only ever overwritten by the same
 * bytes: a sender that missed our 201 repeats, and a crash between commit and unlink must leave no second file.
 */
function claimed(parts: StoreUploadParts, upload: Arrived, got: Received): string {
  const { chunk, codec, recordingId, rendition } = upload
  const folder = parts.recordings.get(recordingId).source === 'schedule' ? 'scheduled' : 'ad-hoc'
  const whole = `${recordingId}${rendition === 'raw' ? '.raw' : ''}`
  const stem = `${folder}/${chunk ? chunkStem(recordingId, chunk.index, rendition) : whole}`
  const rows = stored(parts, upload)
  const same = rows.find((row) => row.rendition === rendition && row.checksum === checksumOf(got.sha256))
  const own = same?.path.endsWith(`.${codec}`) ? [same.path] : []
  const stems = [stem, `${stem}.${got.sha256.slice(0, 12)}`, `${stem}.${parts.ids.uuid()}`]
  const taken = new Set(rows.map((row) => row.path).filter((name) => !own.includes(name)))
  return parts.paths.claim([...own, ...stems.map((name) => `${name}.${codec}`)], taken)
}

/** The write: row of the file, end of the job, state of the recording, in one transaction. */
function attach(parts: StoreUploadParts, upload: Arrived, got: Received, file: string, now: string): Attached {
  const { announced, chunk, codec, nodeId, recordingId } = upload
  const before = ownRecording(parts, recordingId, nodeId)
  const job = acceptable(parts, before, { chunked: chunk !== undefined, jobId: announced.jobId, nodeId })
  const known = stored(parts, upload)
  const same = known.find((row) => row.rendition === upload.rendition)
  if (same) checkReplacement(job, same, { checksum: checksumOf(got.sha256), sizeBytes: got.size }, now)
  // A playable chunk may arrive after its raw one, when another chunk has completed the job already.
  else checkOtherRenditions(job, chunk ? known.filter((row) => row.rendition !== 'raw') : known, upload.rendition)
  const described: StoredFile = {
    cachePath: file,
    checksum: checksumOf(got.sha256),
    ...(announced.durationSeconds === undefined ? {} : { durationSeconds: announced.durationSeconds }),
    fileName: announced.fileName ?? path.basename(file),
    mimeType: CONTENT_TYPES[codec],
    size: got.size,
  }
  const late = endedByLease(job)
  const { answer, completed, replaced } = chunk
    ? attachChunk(parts, { ...upload, chunk }, job, described, now)
    : attachWhole(parts, upload, job, described, before, now)
  parts.health.judge(recordingId, now)
  const recording = parts.recordings.get(recordingId)
  return {
    replaced,
    done: {
      data: { ...answer, recording },
      before,
      after: recording,
      changed: true,
      correlation: { recordingId, recordingJobId: job.id },
      details: {
        ...described,
        ...(chunk ? { chunkIndex: chunk.index } : {}),
        ...(announced.reported.fault ? { renditionDetails: announced.reported.fault } : {}),
        rendition: upload.rendition,
        jobStatus: parts.jobs.get(job.id).status,
        ...(late && completed ? { lateDelivery: true, endedAs: job.failureReason } : {}),
      },
    },
  }
}

interface Filed {
  answer: object
  /** Whether the job is completed by this file. */
  completed: boolean
  replaced: string | undefined
}

/** The row of a stored file, whole take or chunk. */
const rowOf = <F extends StoredFile>(file: F, { announced, recordingId, rendition }: Upload, job: Job) => ({
  checksum: file.checksum,
  details: announced.reported.details,
  durationSeconds: file.durationSeconds as F['durationSeconds'],
  jobId: job.id,
  mimeType: file.mimeType,
  path: file.cachePath,
  joined: 0,
  recordingId,
  rendition,
  sizeBytes: file.size,
})

function attachWhole(
  parts: StoreUploadParts,
  upload: Upload,
  job: Job,
  described: StoredFile,
  before: Recording,
  now: string,
): Filed {
  const { chunks, recordings } = parts
  const { alone, recordingId, rendition } = upload
  const file = { ...described, durationSeconds: described.durationSeconds ?? Math.max(before.durationSeconds, 1) }
  const { checksum, durationSeconds } = file
  const known = recordings.files(recordingId)
  const repeated = known.some((f) => f.rendition === rendition && f.checksum === checksum)
  const replaced = recordings.attach(rowOf(file, upload, job), now)
  const completed = rendition !== 'raw' || (alone && known.every((f) => f.rendition === 'raw'))
  if (completed) {
    checkAgainstChunks(chunks.bytes(recordingId), file.size)
    parts.service.complete(job, now)
    recordings.lengthen(recordingId, durationSeconds, now)
    // A repetition of the same bytes does not change a secured take.
    if (!repeated || !isSecured(before.status)) recordings.settle(recordingId, 'cached', now)
    chunks.whole(recordingId, now)
  }
  const items = queued(parts, recordingId, now, completed ? undefined : 'master')
  // The answer to a raw master lists no items (ADR-0023); the queue does.
  return { answer: { file, uploadQueueItems: completed ? items : [] }, completed, replaced }
}

function attachChunk(
  parts: StoreUploadParts,
  upload: Upload & { chunk: NonNullable<Upload['chunk']> },
  job: Job,
  file: StoredFile,
  now: string,
): Filed {
  const { chunks, recordings } = parts
  const {
    chunk: { index, total },
    recordingId,
    rendition,
  } = upload
  const known = chunks.get(recordingId, index)
  const set = chunks.find(recordingId)
  if (set) checkOpen(set, Math.max(index, total ?? 0))
  // A repetition long after the join: accepted, so that the sender forgets it, but not stored again.
  if (known && isReleased(set, index, rendition))
    return { answer: { chunk: known, file, uploadQueueItems: [] }, completed: false, replaced: undefined }
  const { cachePath: path, checksum } = file
  const played = rendition !== 'raw'
  const { chunk, fresh, replaced } = chunks.put(
    { ...rowOf(file, upload, job), index, total: played ? total : undefined },
    now,
  )
  const completed = played && total !== undefined
  if (completed) parts.service.complete(job, now)
  if (played) {
    settle(parts, recordingId, fresh, now)
    // Once a whole file has arrived, that one is played and has the length.
    if (!chunks.find(recordingId)?.wholeAt) recordings.lengthen(recordingId, chunks.seconds(recordingId), now)
  }
  chunks.schedule(recordingId, now)
  parts.events.emit('chunk.stored', { recordingId })
  const uploadQueueItems = played ? queued(parts, recordingId, now, { checksum, id: chunk.id, index, path }) : []
  return { answer: { chunk, file, uploadQueueItems }, completed, replaced }
}

/** Settles a chunked take: complete, or with gaps once its job has ended; a repetition changes nothing. */
function settle({ chunks, recordings }: StoreUploadParts, recordingId: string, fresh: boolean, now: string): void {
  const set = chunks.find(recordingId)
  if (!set?.ended) return
  const { status } = recordings.get(recordingId)
  if (!fresh && isSecured(status)) return
  recordings.settle(recordingId, isComplete(set) ? 'cached' : 'partial', now)
}

/** Announces a file that can be uploaded. @returns the uploads queued for it (docs/contract/uploads.md: Queue) */
function queued(
  { events }: StoreUploadParts,
  recordingId: string,
  now: string,
  piece?: CachedChunk | 'master',
): object[] {
  const items: object[] = []
  events.emit('recording.cached', { now, piece, queued: items, recordingId })
  return items
}
