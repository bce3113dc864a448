import { mkdir } from 'node:fs/promises'
import * as path from 'node:path'
import { Fail } from '../../kernel/fail.ts'
import { formatOf } from '../../system/host/audio.ts'
import type { Codec } from '../../wire/profiles.ts'
import { CacheFileQuery } from '../../wire/recordings.ts'
import { ConcurrencyLimit } from '../http/concurrency.ts'
import type { DiskSpace } from '../http/diskspace.ts'
import { removeFiles } from '../http/files.ts'
import { INCOMING, partsOf } from '../http/parts.ts'
import { type AnyRoute, type Commit, flow, type Incoming } from '../http/route.ts'
import { chunkAsked } from '../recordings/chunks/chunks.rules.ts'
import type { StoredRendition } from '../recordings/library/recordings.rules.ts'
import { checkSize, readAnnouncement } from './cachefile.rules.ts'
import { acceptable, isAlone, ownRecording, type StoreUploadParts, storeUpload, type Upload } from './storeupload.ts'
import { checkReceived, type KeyedLock, partSize, type Received, receive } from './uploadreceiver.ts'

interface Parts extends StoreUploadParts {
  /** Largest accepted take, bytes. */
  maxBytes: number
  diskSpace: DiskSpace
  uploadLock: KeyedLock
}

/** Unfinished uploads kept per recording; a recorder sends one after the other. */
const MAX_UNFINISHED = 8
/** Concurrent uploads of one node; a recorder uses two. */
const MAX_CONCURRENT = 32

const target = (p: { id: string }) => ({ type: 'recording', id: p.id })
const agent = { auth: 'node', permission: 'recording:control', target, query: CacheFileQuery } as const

/** Uploads of takes. Before the 201 is sent, file and row are on disk (ADR-0010). */
export const cacheFileRoutes = (parts: Parts): AnyRoute[] => {
  const places = new ConcurrencyLimit(MAX_CONCURRENT)
  return [attachRoute(parts, places), offsetRoute(parts)]
}

const attachRoute = (parts: Parts, places: ConcurrencyLimit): AnyRoute =>
  flow({
    method: 'PUT',
    path: '/recordings/:id/cache-file',
    ...agent,
    action: 'recordings.cache_file.attach',
    perMinute: 1200,
    upload: true,
    status: 201,
    otherwise: { 204: 'A part was kept: the upload goes on at Upload-Offset' },
    run: async ({ params, query, request, principal }, commit) => {
      if (places.full(principal.nodeId)) throw tooManyUploads()
      const leave = places.take(principal.nodeId)
      try {
        const upload = acceptUpload(parts, params.id, query, request, principal.nodeId)
        return await receiveUpload(parts, upload, request, commit)
      } catch (e) {
        throw e instanceof Fail ? withHealthEvent(parts, e, params.id, principal.nodeId) : e
      } finally {
        leave()
      }
    },
  })

const tooManyUploads = (): Fail =>
  new Fail(429, 'too_many_uploads', `More than ${MAX_CONCURRENT} uploads of this node at once: send fewer together`, {
    headers: { 'retry-after': '5' },
  })

/** Answers HEAD, too: how much of an interrupted upload is kept. */
const offsetRoute = (parts: Parts): AnyRoute =>
  flow({
    method: 'GET',
    path: '/recordings/:id/cache-file',
    ...agent,
    action: 'recordings.cache_file.offset',
    audit: 'telemetry',
    status: 204,
    run: async ({ params, query, request, principal }) => {
      const upload = acceptUpload(parts, params.id, query, request, principal.nodeId, true)
      const { leave } = await parts.uploadLock.enter(lockKey(upload), true)
      const size = await partSize(upload.part).finally(leave)
      return {
        data: null,
        changed: false,
        headers: { 'upload-offset': String(size), 'upload-complete': '?0', 'cache-control': 'no-store' },
      }
    },
  })

const lockKey = (u: Upload): string => `${u.recordingId} ${u.rendition} ${u.chunk?.index ?? 'whole'}`

/** All checks that need no byte of the body, in the contract's order. `kept`: the request is about a kept part. */
function acceptUpload(
  parts: Parts,
  id: string,
  query: CacheFileQuery,
  request: Incoming,
  nodeId: string,
  kept = false,
): Upload {
  const recording = ownRecording(parts, id, nodeId)
  const rendition: StoredRendition =
    query.rendition === 'raw' || query.rendition === 'enhanced' ? query.rendition : 'primary'
  const announced = readAnnouncement(request)
  checkSize(announced.length, parts.maxBytes)
  checkSize(announced.resumable?.total, parts.maxBytes)
  const asked = { chunked: query.chunk !== undefined, jobId: announced.jobId, nodeId }
  const job = acceptable(parts, recording, asked)
  const chunk = chunkAsked(query)
  const slot = [recording.id, rendition, ...(chunk ? [chunk.index] : []), job.id].join('.')
  const name = kept || announced.resumable ? slot : parts.ids.uuid()
  const part = path.join(parts.takes, INCOMING, `${name}.part`)
  return { alone: isAlone(job, announced.reported), announced, chunk, nodeId, part, recordingId: id, rendition }
}

async function receiveUpload(parts: Parts, upload: Upload, request: Incoming, commit: Commit) {
  const { resumable } = upload.announced
  const { cancelled, leave } = await parts.uploadLock.enter(lockKey(upload), resumable !== undefined)
  try {
    await mkdir(path.dirname(upload.part), { recursive: true, mode: 0o750 })
    if (resumable) await checkParts(parts, upload)
    const offset = await agreedOffset(upload)
    const { maxBytes: most, diskSpace } = parts
    const { length = 0 } = upload.announced
    await diskSpace.check(resumable?.total === undefined ? length : resumable.total - offset)
    const got = await receive({
      body: request.body(),
      cancelled,
      file: upload.part,
      maxBytes: most,
      offset,
      disk: diskSpace,
    })
    if (resumable && !resumable.complete) return partKept(got)
    // The recording may have been deleted meanwhile, and the received part with it.
    ownRecording(parts, upload.recordingId, upload.nodeId)
    checkReceived(got, upload.announced.digest, resumable?.total)
    return await storeUpload(parts, { ...upload, codec: await codecOf(upload.part) }, got, commit)
  } catch (e) {
    if (!resumable || isUnusable(e)) await removeFiles(parts.takes, [path.relative(parts.takes, upload.part)])
    throw e
  } finally {
    leave()
  }
}

// A part with wrong bytes cannot be resumed; one that merely broke off can.
const isUnusable = (e: unknown): boolean =>
  e instanceof Fail &&
  ['digest_mismatch', 'empty_file', 'file_too_large', 'incomplete_file', 'unsupported_audio'].includes(e.reason)

/** The codec by content, whatever the name says: programs later read the file as that. @throws Fail 415. */
async function codecOf(part: string): Promise<Codec> {
  const codec = await formatOf(part)
  if (codec) return codec
  throw new Fail(415, 'unsupported_audio', 'Not a WAV, FLAC or MP3 file; nothing was stored', {
    outcome: 'denied',
  })
}

/** @throws Fail 429 for a new upload when too many are unfinished; those may continue. */
async function checkParts({ takes }: Parts, { part, recordingId }: Upload): Promise<void> {
  const own = path.basename(part)
  const ofJob = `.${own.split('.').at(-2)}.part`
  const names = (await partsOf(takes, [recordingId])).map((name) => path.basename(name))
  if (names.includes(own) || names.filter((name) => name.endsWith(ofJob)).length < MAX_UNFINISHED) return
  throw new Fail(
    429,
    'too_many_unfinished_uploads',
    `${MAX_UNFINISHED} uploads of this recording are unfinished; finish one of them first`,
    { headers: { 'retry-after': '60' } },
  )
}

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

const HEALTH_SEVERITY: Record<string, 'critical' | 'warning'> = {
  cache_write_failed: 'critical',
  empty_file: 'critical',
  file_too_large: 'warning',
  invalid_chunk_index: 'warning',
  invalid_duration: 'warning',
  unsupported_audio: 'critical',
}

/**
 * A refused upload that needs attention also opens a health event (docs/contract/uploads.md: Order of
 * checks).
 */
function withHealthEvent({ health }: Parts, e: Fail, recordingId: string, nodeId: string): Fail {
  const severity = HEALTH_SEVERITY[e.reason]
  if (!severity) return e
  const details = { message: e.message, reason: e.reason, source: 'cache_file' }
  const also = (now: string) =>
    void health.open(
      { type: 'controller.recording.cache_file_failed', severity, nodeId, recordingId, openedAt: now, details },
      now,
    )
  return new Fail(e.status, e.reason, e.message, { ...e.extra, also })
}
