import { isoPlus } from '../../kernel/clock.ts'
import { conflict, Fail, invalid, notFound } from '../../kernel/fail.ts'
import { HEADERS } from '../../wire/headers.ts'
import type { Job, Recording } from '../../wire/recordings.ts'
import { onOneLine } from '../../wire/scalars.ts'
import type { Incoming } from '../http/route.ts'
import { endedByLease } from '../recordings/jobs/jobs.rules.ts'
import { parseDetails, type ReceivedDetails } from '../recordings/library/renditions.rules.ts'

/** The headers of an upload, read before its first byte. */
export interface Announcement {
  /** Expected SHA-256 of the whole file, base64 (RFC 9530). */
  digest: string | undefined
  /** Seconds, rounded. */
  durationSeconds: number | undefined
  fileName: string | undefined
  jobId: string | undefined
  /** Bytes of the body, when declared. */
  length: number | undefined
  /** Present when the sender speaks the resumable protocol. */
  resumable: { complete: boolean; offset: number; total: number | undefined } | undefined
  reported: ReceivedDetails
}

const wholeNumber = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d{1,15}$/.test(value.trim()) ? Number(value) : undefined

const malformed = (header: string, why: string, reason: string): Fail =>
  invalid(`Invalid ${header} header`, [header], why, reason)

/** @throws Fail 400 naming the header that cannot be read. */
export function readAnnouncement(request: Incoming): Announcement {
  return {
    digest: digestOf(request.header(HEADERS.contentDigest)),
    durationSeconds: durationOf(request.header(HEADERS.durationSeconds)),
    fileName: fileNameOf(request.header(HEADERS.fileName)),
    jobId: request.header(HEADERS.jobId)?.trim() || undefined,
    length: wholeNumber(request.header('content-length')),
    resumable: resumableOf(request),
    reported: parseDetails(request.header(HEADERS.details)),
  }
}

const fileNameOf = (value: string | undefined): string | undefined =>
  value === undefined ? undefined : onOneLine(value).slice(0, 255)

function durationOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const seconds = value.trim() === '' ? Number.NaN : Number(value)
  if (Number.isFinite(seconds) && seconds >= 0 && seconds < 2 ** 31) return Math.round(seconds)
  throw malformed(HEADERS.durationSeconds, 'expected a number of seconds, 0 or more', 'invalid_duration')
}

function digestOf(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const [, digest] = /(?:^|[\s,])sha-256=:([A-Za-z0-9+/]{43}=):/.exec(value) ?? []
  if (!digest) throw malformed(HEADERS.contentDigest, 'expected sha-256=:<base64>:', 'invalid_digest')
  return digest
}

function resumableOf(request: Incoming): Announcement['resumable'] {
  const offset = request.header(HEADERS.uploadOffset)
  const complete = request.header(HEADERS.uploadComplete)
  const total = request.header(HEADERS.uploadLength)
  if (offset === undefined && complete === undefined && total === undefined) return undefined
  const at = wholeNumber(offset ?? '0')
  if (at === undefined) throw malformed(HEADERS.uploadOffset, 'expected a byte count', 'invalid_offset')
  if (complete !== undefined && !/^\?[01]$/.test(complete.trim()))
    throw malformed(HEADERS.uploadComplete, 'expected ?0 or ?1', 'invalid_offset')
  const length = wholeNumber(total)
  if (total !== undefined && length === undefined)
    throw malformed(HEADERS.uploadLength, 'expected a byte count', 'invalid_offset')
  return { complete: complete?.trim() !== '?0', offset: at, total: length }
}

/** @throws Fail 413 `file_too_large`. */
export function checkSize(bytes: number | undefined, maxBytes: number): void {
  if (bytes !== undefined && bytes > maxBytes)
    throw new Fail(413, 'file_too_large', `Recording cache file exceeds the maximum size of ${maxBytes} bytes`)
}

/**
 * The job an upload belongs to, or the refusal (docs/contract/uploads.md: Order of checks). Without a named job the recording's
 * newest one that did not end badly is meant. `jobs` are the recording's own, newest first.
 * @throws Fail 403, 404, 409.
 */
export function owningJob(
  recording: Recording,
  jobs: readonly Job[],
  named: Job | undefined,
  jobId: string | undefined,
  nodeId: string,
): Job {
  if (jobId !== undefined && !named) throw notFound('Recording job')
  if (named && named.nodeId !== nodeId) throw denied('Node credential cannot access this job')
  if (named && named.recordingId !== recording.id) throw denied('Recording job does not match this recording')
  const usable = (job: Job) => (job.status !== 'failed' && job.status !== 'cancelled') || endedByLease(job)
  const job = named ?? jobs.find(usable)
  if (job && usable(job)) return job
  if (recording.status === 'failed')
    throw conflict('recording_terminal_failed', 'Recording is in a terminal failed state')
  throw conflict('recording_job_not_completable', 'Recording job is in a terminal state and cannot be completed')
}

const denied = (words: string): Fail => new Fail(403, 'recording_job_scope_denied', words, { outcome: 'denied' })

/**
 * A late take must not replace the audio of the retry that was started in its place.
 * @throws Fail 409 `superseded_by_retry`: the recorder keeps its file.
 */
export function checkSuperseded(job: Job, jobs: readonly Job[], files: readonly { jobId: string | null }[]): void {
  const newer = jobs.some(
    (other) =>
      other.id !== job.id && other.createdAt >= job.createdAt && !['failed', 'cancelled'].includes(other.status),
  )
  if (newer || files.some((file) => file.jobId !== null && file.jobId !== job.id))
    throw conflict('superseded_by_retry', 'A retry of this recording has taken its place; the recorder keeps this file')
}

interface FileFacts {
  checksum: string
  sizeBytes: number
}

/** How long a recorder may replace the file of a finished take. */
const CORRECTABLE_SECONDS = 24 * 3600

/**
 * A repeated upload replaces a file (docs/contract/uploads.md: Order of checks), but a finished take is never replaced by a
 * fragment, and after a day not by any other bytes: a compromised recorder must not rewrite old takes.
 * @throws Fail 409 `take_already_stored`: both sides keep what they have.
 */
export function checkReplacement(job: Job, stored: FileFacts, sent: FileFacts, now: string): void {
  if (job.status !== 'completed' || stored.checksum === sent.checksum) return
  if (job.completedAt !== undefined && isoPlus(job.completedAt, CORRECTABLE_SECONDS) < now)
    throw conflict('take_already_stored', 'This take was finished more than a day ago: what is stored of it is kept')
  if (sent.sizeBytes * 2 < stored.sizeBytes)
    throw conflict(
      'take_already_stored',
      `A file of ${stored.sizeBytes} bytes is stored already and is kept: the one sent has ${sent.sizeBytes} bytes`,
    )
}

/**
 * A finished take is played from the file that finished it: after that only a raw master is accepted.
 * @throws Fail 409 `take_already_stored`.
 */
export function checkOtherRenditions(job: Job, others: readonly { rendition: string }[], rendition: string): void {
  if (job.status === 'completed' && rendition !== 'raw' && others.length > 0)
    throw conflict(
      'take_already_stored',
      'This take is finished and is played from another rendition: that one is kept',
    )
}

/**
 * A take stored in chunks is not replaced by a single file with less than half of their bytes.
 * @throws Fail 409 `take_already_stored`.
 */
export function checkAgainstChunks(chunkBytes: number, sizeBytes: number): void {
  if (sizeBytes * 2 < chunkBytes)
    throw conflict(
      'take_already_stored',
      `Chunks of ${chunkBytes} bytes are stored already and are kept: the file sent has ${sizeBytes} bytes`,
    )
}
