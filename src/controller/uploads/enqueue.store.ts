import { conflict, Fail } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import type { Recording } from '../../wire/recordings.ts'
import type { Destination, UploadItem, UploadPolicy } from '../../wire/uploads.ts'
import type { Audit } from '../http/audit.ts'
import { systemActor } from '../http/principal.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import { byRendition, chosenFile, isSecured } from '../recordings/library/recordings.rules.ts'
import type { Db, Params } from '../store/db.ts'
import { targetWith } from './destinations.rules.ts'
import type { DestinationStore } from './destinations.store.ts'
import type { UploadPolicyStore } from './policies.store.ts'
import { freeName, isActive, isMaster, remoteName } from './queue.rules.ts'
import type { UploadQueueStore } from './queue.store.ts'

/** The file to send, as it was when it was queued. */
interface Source {
  checksum: string
  path: string
}

/** One chunk of a take that arrived in chunks. */
interface ChunkSource extends Source {
  /** `chunk_<recordingId>_<index>`. */
  id: string
  /** From 1. */
  index: number
}

/** What was cached other than a file that came whole: a chunk, the file joined of all of them, or the raw master. */
type Piece = ChunkSource | 'joined' | 'master'

interface Parts {
  db: Db
  destinations: DestinationStore
  ids: Ids
  /** Whether the raw master is sent to the same places as the file that is played. */
  masters: boolean
  policies: UploadPolicyStore
  queue: UploadQueueStore
  recordings: RecordingsApi['recordings']
}

// The `lastError` of an item before its first attempt (docs/contract/uploads.md: Queue).
const NOT_TRIED_YET = 'provider_not_configured'

/** Puts files into the upload queue. Every write is meant to run inside a transaction. */
export function enqueueStore(parts: Parts) {
  const { db, destinations, ids, masters, policies, queue, recordings } = parts
  const insert = db.stmt<Params>(
    `INSERT INTO upload_queue (id, recording_id, upload_policy_id, destination_id, provider, status, max_attempts,
       next_attempt_at, last_error, cache_path, checksum, file_name, chunk_id, chunk_index, path_override, target,
       created_at, updated_at)
     VALUES (@id, @recordingId, @policyId, @destinationId, @provider, 'queued', @maxAttempts, @now, @lastError, @cachePath,
       @checksum, @fileName, @chunkId, @chunkIndex, @pathOverride, @target, @now, @now)`,
  )
  // A newer file replaces one that waits to be sent: the item starts over, and an attempt under way no longer counts.
  const repoint = db.stmt<Params>(
    `UPDATE upload_queue SET status = 'queued', claim = NULL, attempt_count = 0, next_attempt_at = @now,
       cache_path = @cachePath, checksum = @checksum, file_name = @fileName, updated_at = @now WHERE id = @id`,
  )

  const playedOf = (id: string): Source | undefined => chosenFile(byRendition(recordings.files(id)))
  const masterOf = (id: string): Source | undefined => byRendition(recordings.files(id)).raw

  /** A library without the masters would be less than what it stands for. */
  const takesMasters = ({ keepsLibrary }: Destination): boolean => masters || keepsLibrary

  /** The played file comes first; its master is a separate item, because it may arrive later and fail by itself. */
  const sourcesOf = (id: string, to: Destination): Source[] => {
    const [played, master] = [playedOf(id), takesMasters(to) ? masterOf(id) : undefined]
    return [played, ...(master?.path === played?.path ? [] : [master])].filter((source) => source !== undefined)
  }

  /** A master that arrives before the played file waits for it: until then the recording is not cached. */
  const lateMaster = ({ id, status }: Recording, to: Destination): Source[] =>
    takesMasters(to) && isSecured(status) ? [masterOf(id)].filter((source) => source !== undefined) : []

  /** What is sent to a destination: chunks are, so that a joined file goes only where it is to be played from. */
  const piecesOf = (recording: Recording, to: Destination, piece: Piece | undefined): Source[] => {
    if (piece === undefined) return sourcesOf(recording.id, to)
    if (piece === 'master') return lateMaster(recording, to)
    if (piece !== 'joined') return [piece]
    return to.keepsLibrary ? [playedOf(recording.id)].filter((source) => source !== undefined) : []
  }

  const add = (
    recording: Recording,
    source: Source,
    policy: UploadPolicy,
    destination: Destination,
    reason: string | undefined,
    now: string,
    chunk?: ChunkSource,
  ): UploadItem => {
    const { checksum, path: cachePath } = source
    const all = queue.ofRecording(recording.id)
    const fileName = freeName(remoteName(recording, cachePath, chunk?.index), checksum, all)
    const fresh = { cachePath, checksum, fileName }
    const target = targetWith(destination, policy.pathOverride)
    const earlier = all.filter((item) => isSameTarget(item, source, policy, destination, chunk))
    const active = earlier.find((item) => isActive(item.status))
    if (active) return current(active, fresh, now)
    const done = earlier.find((item) => item.status === 'succeeded' && unchanged(item, fresh, target))
    if (done) return done
    const id = ids.make('upload')
    insert.run({
      ...fresh,
      id,
      recordingId: recording.id,
      policyId: policy.id,
      destinationId: destination.id,
      provider: destination.kind,
      maxAttempts: policy.maxAttempts,
      lastError: reason ?? NOT_TRIED_YET,
      chunkId: chunk?.id ?? null,
      chunkIndex: chunk?.index ?? null,
      pathOverride: policy.pathOverride ?? null,
      target: target ?? null,
      now,
    })
    return queue.get(id)
  }

  const current = (active: UploadItem, fresh: Pick<UploadItem, 'checksum'> & Params, now: string): UploadItem => {
    if (active.cachePath === fresh.cachePath && active.checksum === fresh.checksum) return active
    repoint.run({ ...fresh, id: active.id, now })
    return queue.get(active.id)
  }

  return {
    /** The file an item should send now; undefined for a chunk, and when there is none any more. */
    sourceOf({ cachePath, chunkId, recordingId }: UploadItem): Source | undefined {
      if (chunkId !== undefined) return undefined
      return isMaster(cachePath) ? masterOf(recordingId) : playedOf(recordingId)
    },
    /**
     * Queues the files of a recording by one policy and returns the item of the played file; an item that is queued or done
     * already is returned unchanged.
     * @throws Fail 404 for an unknown policy; 409 `recording_not_cached`, `upload_policy_disabled`, `destination_required`.
     */
    enqueue(
      recording: Recording,
      policyId: string | undefined,
      reason: string | undefined,
      fallback: string,
      now: string,
    ): UploadItem {
      if (!playedOf(recording.id)) throw conflict('recording_not_cached', 'Recording is not cached')
      const policy = policies.get(policyId ?? recording.uploadPolicyIds[0] ?? fallback)
      if (!policy.enabled) throw conflict('upload_policy_disabled', 'Upload policy is disabled')
      const destination = policy.destinationId && destinations.find(policy.destinationId)
      if (!destination) throw conflict('destination_required', noDestination(policy.id))
      const sources = sourcesOf(recording.id, destination)
      const [item] = sources.map((source) => add(recording, source, policy, destination, reason, now))
      return item as UploadItem
    },
    /** Queues what of a recording was never sent where `policyId` sends it. */
    enqueueRest(recordingId: string, policyId: string, now: string): UploadItem[] {
      const recording = recordings.get(recordingId)
      const policy = policies.get(policyId)
      const destination = policy.destinationId && destinations.find(policy.destinationId)
      if (!destination) return []
      const items = sourcesOf(recordingId, destination).map((source) =>
        add(recording, source, policy, destination, undefined, now),
      )
      return items.filter(({ status }) => isActive(status))
    },
    /** Queues newly cached files by the recording's own policies, once per destination and folder. */
    enqueueCached(recordingId: string, now: string, piece?: Piece): UploadItem[] {
      const recording = recordings.get(recordingId)
      const chunk = chunkOf(piece)
      const ways = new Map<string, UploadPolicy>()
      for (const policy of policies.ofRecording(recordingId)) {
        const way = JSON.stringify([policy.destinationId, policy.pathOverride ?? ''])
        if (policy.enabled && policy.trigger === 'on_recording_cached' && !ways.has(way)) ways.set(way, policy)
      }
      return [...ways.values()].flatMap((policy) => {
        const destination = policy.destinationId && destinations.find(policy.destinationId)
        if (!destination) return []
        const sources = piecesOf(recording, destination, piece)
        return sources.map((source) => add(recording, source, policy, destination, undefined, now, chunk))
      })
    },
  }
}
export type EnqueueStore = ReturnType<typeof enqueueStore>

const chunkOf = (piece: Piece | undefined): ChunkSource | undefined => (typeof piece === 'object' ? piece : undefined)

const isSameTarget = (
  item: UploadItem,
  source: Source,
  policy: UploadPolicy,
  destination: Destination,
  chunk: ChunkSource | undefined,
): boolean =>
  isMaster(item.cachePath) === isMaster(source.path) &&
  item.destinationId === destination.id &&
  item.provider === destination.kind &&
  item.chunkId === chunk?.id &&
  item.pathOverride === policy.pathOverride &&
  item.uploadPolicyId === policy.id

const unchanged = (item: UploadItem, fresh: Params, target: string | undefined): boolean =>
  item.cachePath === fresh.cachePath && item.checksum === fresh.checksum && item.target === target

/** Queues newly cached files; throws only when the database is unavailable, because storing a take must not depend on it. */
type AutoEnqueue = (recordingId: string, now: string, piece?: Piece) => UploadItem[]

/**
 * `enqueueCached` with its audit row, for use inside the transaction that attaches the file (docs/contract/uploads.md:
 * Queue).
 */
export function autoEnqueue(db: Db, enqueue: EnqueueStore, chunks: RecordingsApi['chunks'], audit: Audit): AutoEnqueue {
  return (recordingId, now, piece) => {
    const chunk = chunkOf(piece)
    const writeAudit = (outcome: 'succeeded' | 'failed', details: Record<string, unknown>, reason?: string): void =>
      audit.write(
        {
          action: `recordings.upload_queue.auto_enqueue.${outcome}`,
          actor: systemActor('upload-runner'),
          correlation: { recordingId },
          details: { ...details, ...(chunk ? { chunkId: chunk.id } : {}) },
          outcome,
          permission: 'recording:control',
          reason: reason ?? null,
          target: { type: 'recording', id: recordingId },
        },
        now,
      )
    try {
      const items = db.tx(() => enqueue.enqueueCached(recordingId, now, piece))
      if (chunk && items.length > 0) chunks.uploading(recordingId, chunk.index)
      if (items.length > 0) writeAudit('succeeded', { uploadQueueItemIds: items.map((item) => item.id) })
      return items
    } catch (e) {
      // The file is safe here: the failure is audited, and an operator can queue the file by hand.
      if (e instanceof Fail && e.status === 503) throw e
      writeAudit('failed', {}, e instanceof Fail ? e.reason : 'internal_error')
      return []
    }
  }
}

const noDestination = (policyId: string): string =>
  `Upload policy ${policyId} has no destination: create one (POST /settings/upload-destinations), set it as destinationId of an upload policy, and name that policy as uploadPolicyId`
