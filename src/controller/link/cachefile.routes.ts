import { mkdir, rm } from 'node:fs/promises'
import * as path from 'node:path'
import { Fail, invalid } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import { CacheFileQuery, CONTENT_TYPES, type Job, type Recording, type StoredFile } from '../../wire/recordings.ts'
import { removeFiles } from '../edge/files.ts'
import { type AnyRoute, type Commit, flow, type Incoming } from '../edge/route.ts'
import type { HealthStore } from '../health/health.store.ts'
import type { JobStore } from '../jobs/jobs.store.ts'
import { endedByLease } from '../jobs/leases.rules.ts'
import type { LeaseStore } from '../jobs/leases.store.ts'
import type { StoredRendition } from '../recordings/recordings.rules.ts'
import type { RecordingStore } from '../recordings/recordings.store.ts'
import { type Announcement, announcement, checkSize, checkSuperseded, owningJob } from './cachefile.rules.ts'
import { checkReceived, INCOMING, partSize, place, type Received, receive, type Turnstile } from './intake.ts'

interface Parts {
  health: HealthStore
  ids: Ids
  jobs: JobStore
  leases: LeaseStore
  /** Largest accepted take, bytes. */
  maxBytes: number
  recordings: RecordingStore
  /** Directory of the stored files. */
  takes: string
  turnstile: Turnstile
}

interface Upload {
  announced: Announcement
  recordingId: string
  rendition: StoredRendition
  nodeId: string
  part: string
}

const target = (p: { id: string }) => ({ type: 'recording', id: p.id })
const agent = { auth: 'node', permission: 'recording:control', target, query: CacheFileQuery } as const

/** Custody of audio: once the 201 has left, file and row are on disk (decisions 7, 15 and 18). */
export const cacheFileRoutes = (parts: Parts): AnyRoute[] => [
  flow({
    method: 'PUT',
    path: '/recordings/:id/cache-file',
    ...agent,
    action: 'recordings.cache_file.attach',
    status: 201,
    run: async ({ params, query, request, who }, commit) => {
      try {
        const upload = admitted(parts, params.id, query, request, who.nodeId)
        return await received(parts, upload, request, commit)
      } catch (e) {
        throw e instanceof Fail ? withHealthEvent(parts, e, params.id, who.nodeId) : e
      }
    },
  }),
  // HEAD arrives here: how much of an interrupted upload is kept.
  flow({
    method: 'GET',
    path: '/recordings/:id/cache-file',
    ...agent,
    action: 'recordings.cache_file.offset',
    audit: 'telemetry',
    status: 204,
    run: async ({ params, query, request, who }) => {
      const upload = admitted(parts, params.id, query, request, who.nodeId, true)
      const { leave } = await parts.turnstile.enter(keyOf(upload), true)
      const size = await partSize(upload.part).finally(leave)
      return {
        data: null,
        changed: false,
        headers: { 'upload-offset': String(size), 'upload-complete': '?0', 'cache-control': 'no-store' },
      }
    },
  }),
]

const keyOf = (u: Upload): string => `${u.recordingId} ${u.rendition}`

/** Everything that can be refused before the first byte is read, in the contract's order. `kept`: about a part that is kept. */
function admitted(
  parts: Parts,
  id: string,
  query: CacheFileQuery,
  request: Incoming,
  nodeId: string,
  kept = false,
): Upload {
  const recording = ownRecording(parts, id, nodeId)
  const rendition = query.rendition === 'raw' || query.rendition === 'enhanced' ? query.rendition : 'primary'
  const announced = announcement(request)
  checkSize(announced.length, parts.maxBytes)
  checkSize(announced.resumable?.total, parts.maxBytes)
  const job = acceptable(parts, recording, announced.jobId, nodeId)
  if (query.chunk !== undefined)
    throw invalid(
      'Invalid chunk query parameter',
      ['chunk'],
      'chunked takes are not taken yet: send the take as one file',
      'invalid_chunk_index',
    )
  const name = kept || announced.resumable ? `${recording.id}.${rendition}.${job.id}` : parts.ids.uuid()
  return { announced, recordingId: id, rendition, nodeId, part: path.join(parts.takes, INCOMING, `${name}.part`) }
}

function ownRecording({ recordings }: Parts, id: string, nodeId: string): Recording {
  const recording = recordings.get(id)
  if (recording.nodeId === nodeId) return recording
  throw new Fail(403, 'node_scope_denied', 'Node credential cannot access this recording', { outcome: 'denied' })
}

/** The job this upload completes; asked again when the file has arrived, for much may happen meanwhile. */
function acceptable({ jobs, recordings }: Parts, recording: Recording, jobId: string | undefined, nodeId: string): Job {
  const own = jobs.ofRecording(recording.id)
  const job = owningJob(recording, own, jobId === undefined ? undefined : jobs.find(jobId), jobId, nodeId)
  checkSuperseded(job, own, recordings.files(recording.id))
  return job
}

async function received(parts: Parts, upload: Upload, request: Incoming, commit: Commit) {
  const { resumable } = upload.announced
  const { cancelled, leave } = await parts.turnstile.enter(keyOf(upload), resumable !== undefined)
  try {
    await mkdir(path.dirname(upload.part), { recursive: true, mode: 0o750 })
    const offset = await agreedOffset(upload)
    const { maxBytes: most } = parts
    const got = await receive({ body: request.body(), cancelled, file: upload.part, most, offset })
    if (resumable && !resumable.complete) return partKept(got)
    checkReceived(got, upload.announced.digest, resumable?.total)
    return await attached(parts, upload, got, commit)
  } catch (e) {
    if (!resumable || spoiled(e)) await rm(upload.part, { force: true })
    throw e
  } finally {
    leave()
  }
}

// A part whose bytes are wrong is of no use to a resumed upload; one that merely broke off is.
const spoiled = (e: unknown): boolean =>
  e instanceof Fail && ['digest_mismatch', 'empty_file', 'file_too_large', 'incomplete_file'].includes(e.reason)

async function agreedOffset({ announced: { resumable }, part }: Upload): Promise<number> {
  if (!resumable || resumable.offset === 0) return 0
  const have = await partSize(part)
  if (resumable.offset === have) return have
  throw new Fail(409, 'upload_offset_mismatch', `This upload goes on at byte ${have}`, {
    headers: { 'upload-offset': String(have) },
  })
}

const partKept = ({ size }: Received) => ({
  data: null,
  changed: false,
  status: 204 as const,
  headers: { 'upload-offset': String(size), 'upload-complete': '?0' },
})

async function attached(parts: Parts, upload: Upload, got: Received, commit: Commit) {
  const { recordings, takes } = parts
  const file = freePath(parts, upload, got)
  await place(upload.part, path.join(takes, file))
  let replaced: string | undefined
  try {
    const done = await commit((now) => {
      const outcome = attach(parts, upload, got, file, now)
      replaced = outcome.replaced
      return outcome.done
    })
    if (replaced) await removeFiles(takes, [replaced])
    return done
  } catch (e) {
    // Not attached, so nobody knows the file: it must not stay. A row that names it would be somebody else's take.
    if (!recordings.files(upload.recordingId).some((row) => row.path === file)) await removeFiles(takes, [file])
    throw e
  }
}

/**
 * `ad-hoc/<id>.<ext>`, or with a part of the checksum where that name is taken: no file is ever overwritten, but by its
 * own bytes: a sender that never heard our 201 comes again, and a crash between commit and unlink must leave no second file.
 */
function freePath({ ids, recordings }: Parts, { announced, recordingId, rendition }: Upload, got: Received): string {
  const folder = recordings.get(recordingId).source === 'schedule' ? 'scheduled' : 'ad-hoc'
  const stem = `${folder}/${recordingId}${rendition === 'raw' ? '.raw' : ''}`
  const rows = recordings.files(recordingId)
  const same = rows.find((row) => row.rendition === rendition && row.checksum === `sha256:${got.sha256}`)
  if (same?.path.endsWith(`.${announced.codec}`)) return same.path
  const taken = new Set(rows.map((row) => row.path))
  const names = [stem, `${stem}.${got.sha256.slice(0, 12)}`].map((name) => `${name}.${announced.codec}`)
  return names.find((name) => !taken.has(name)) ?? `${stem}.${ids.uuid()}.${announced.codec}`
}

/** The write: row of the file, end of the job, state of the recording, in one transaction. */
function attach(parts: Parts, upload: Upload, got: Received, file: string, now: string) {
  const { jobs, leases, recordings, health } = parts
  const { announced, recordingId, rendition, nodeId } = upload
  const before = ownRecording(parts, recordingId, nodeId)
  const job = acceptable(parts, before, announced.jobId, nodeId)
  const stored: StoredFile = {
    cachePath: file,
    checksum: `sha256:${got.sha256}`,
    durationSeconds: announced.durationSeconds ?? Math.max(before.durationSeconds, 1),
    fileName: announced.fileName ?? path.basename(file),
    mimeType: CONTENT_TYPES[announced.codec],
    size: got.size,
  }
  const { checksum, mimeType, durationSeconds = null } = stored
  const row = {
    checksum,
    durationSeconds,
    jobId: job.id,
    mimeType,
    path: file,
    recordingId,
    rendition,
    sizeBytes: got.size,
  }
  const replaced = recordings.attach(row, now)
  const late = rendition !== 'raw' && endedByLease(job)
  if (rendition !== 'raw') {
    if (late) leases.revive(job.id, now)
    else leases.end(job.id, 'completed', null, now)
    recordings.settle(recordingId, 'cached', now)
    health.delivered(recordingId, job.id, now)
  }
  health.judge(recordingId, now)
  const recording = recordings.get(recordingId)
  return {
    replaced,
    done: {
      data: { file: stored, recording, uploadQueueItems: [] },
      before,
      after: recording,
      changed: true,
      correlation: { recordingId, recordingJobId: job.id },
      details: {
        ...stored,
        rendition,
        jobStatus: jobs.get(job.id).status,
        ...(late ? { lateDelivery: true, endedAs: job.failureReason } : {}),
      },
    },
  }
}

const TOLD: Record<string, 'critical' | 'warning'> = {
  cache_write_failed: 'critical',
  empty_file: 'critical',
  file_too_large: 'warning',
  invalid_chunk_index: 'warning',
  invalid_duration: 'warning',
}

/** A refused upload that somebody should look at opens a health event beside its audit row (contract A, 7.7). */
function withHealthEvent({ health }: Parts, e: Fail, recordingId: string, nodeId: string): Fail {
  const severity = TOLD[e.reason]
  if (!severity) return e
  const details = { message: e.message, reason: e.reason, source: 'cache_file' }
  const also = (now: string) =>
    void health.open(
      { type: 'controller.recording.cache_file_failed', severity, nodeId, recordingId, openedAt: now, details },
      now,
    )
  return new Fail(e.status, e.reason, e.message, { ...e.extra, also })
}
