// Takes that recorders keep until a controller that takes over would have them, too (ADR-0046).
import { statSync } from 'node:fs'
import * as path from 'node:path'
import { openText, SealError, seal } from '../../../crypto/seal.ts'
import { conflict, Fail, invalid } from '../../../kernel/fail.ts'
import type { Custody } from '../../../wire/custody.ts'
import type { Job, Recording } from '../../../wire/recordings.ts'
import type { SealKeys } from '../../secrets.ts'
import type { ChunkStore, IsHere } from '../chunks/chunks.store.ts'
import type { JobStore } from '../jobs/jobs.store.ts'
import type { RecordingStore } from '../library/recordings.store.ts'
import { verdict } from './custody.rules.ts'
import type { CustodyStore, EndedJob } from './custody.store.ts'

/** Looks for stored files in the directory of the takes. */
export const isOnDisk =
  (takes: string): IsHere =>
  ({ path: file, sizeBytes }) =>
    statSync(path.join(takes, file), { throwIfNoEntry: false })?.size === sizeBytes

interface Parts {
  chunks: Pick<ChunkStore, 'rejoin'>
  jobs: JobStore
  /** Whether a stored file is on this disk, all of it. */
  isHere: IsHere
  keys: SealKeys
  recordings: RecordingStore
  /** `SVC_CUSTODY=replicated`. */
  replicated: boolean
  /** What was committed before this moment is in the replica too; undefined while that is not known. */
  replicatedUntil: (now: string) => string | undefined
  store: CustodyStore
  /** Whether the clock can be relied on for the age of a deletion. */
  trusted: () => boolean
}

/** What a recording is, for a controller that does not know it. */
interface Note {
  job: EndedJob
  recording: Pick<
    Recording,
    | 'folder'
    | 'id'
    | 'name'
    | 'recordedAt'
    | 'recordingProfileId'
    | 'retentionPolicyId'
    | 'roomId'
    | 'scheduleId'
    | 'source'
    | 'tags'
    | 'uploadPolicyIds'
    | 'watchdogPolicyId'
  >
}

/** A note is of the node it was given to: sealed for another place it does not open. */
const placeOf = (nodeId: string): string => `nodes/${nodeId}/custody_note`

export function custodyService(parts: Parts) {
  const { chunks, isHere, jobs, keys, recordings, replicated, replicatedUntil, store, trusted } = parts
  return {
    /** What becomes of takes that a node keeps. */
    judge(nodeId: string, ids: readonly string[], now: string): Record<string, Custody> {
      const site = { isHere, replicated, until: replicatedUntil(now) }
      const judged = (id: string): Custody => {
        const take = store.take(id, nodeId)
        // That of another node is none of its business.
        if (!take && store.isKnown(id)) return 'hold'
        return verdict(take, store.isDeleted(id), site)
      }
      return Object.fromEntries(ids.map((id) => [id, judged(id)]))
    },
    /** A job as its recorder gets it: with a note, where it is to keep the take. */
    handedOut(job: Job): Job {
      if (!replicated) return job
      const note: Note = { job, recording: recordings.get(job.recordingId) }
      const custody = seal(keys.settings(), placeOf(job.nodeId), JSON.stringify(noted(note)))
      return { ...job, command: { ...job.command, custody } }
    },
    /**
     * Makes the recording and the job of a note, where they are not known, `fresh` then: the take can be delivered. One in chunks
     * whose joined file got lost takes its chunks again.
     * @throws Fail 400 for what no controller with this key has given this node; 409 where the recording was deleted
     */
    adopt(nodeId: string, text: string, now: string): { changed: boolean; fresh: boolean; job: Job } {
      const { job, recording } = opened(keys, nodeId, text)
      if (store.isDeleted(recording.id))
        throw conflict('recording_deleted', 'This recording was deleted, so its take is no longer accepted')
      if (store.isKnown(recording.id) && !store.take(recording.id, nodeId))
        throw new Fail(403, 'node_scope_denied', 'Node credential cannot access this recording', { outcome: 'denied' })
      const rejoined = chunks.rejoin(recording.id, isHere, now)
      const known = jobs.find(job.id)
      if (known) return { changed: rejoined, fresh: false, job: known }
      return { changed: true, fresh: true, job: made(parts, nodeId, { job, recording }, now) }
    },
    /** A recording was deleted: that is known when recorders are to keep takes again. */
    deleted(id: string, now: string): void {
      if (trusted()) store.prune(now)
      store.deleted(id, now)
    },
  }
}
export type CustodyService = ReturnType<typeof custodyService>

/** Only what is needed: a note is written with each claim, and kept by the recorder. */
function noted({ job, recording: r }: Note): Note {
  const { command, createdAt, id, startedAt } = job
  const { folder, name, recordedAt, recordingProfileId, retentionPolicyId, roomId, scheduleId, source, tags } = r
  const { uploadPolicyIds, watchdogPolicyId } = r
  return {
    job: { command, createdAt, id, ...(startedAt ? { startedAt } : {}) },
    recording: {
      ...{ folder, id: r.id, name, recordedAt, source, tags, uploadPolicyIds },
      ...(recordingProfileId ? { recordingProfileId } : {}),
      ...(retentionPolicyId ? { retentionPolicyId } : {}),
      ...(roomId ? { roomId } : {}),
      ...(scheduleId ? { scheduleId } : {}),
      ...(watchdogPolicyId ? { watchdogPolicyId } : {}),
    },
  }
}

/** @throws Fail 400 */
function opened(keys: SealKeys, nodeId: string, text: string): Note {
  try {
    return JSON.parse(openText(keys.settings(), placeOf(nodeId), text)) as Note
  } catch (e) {
    if (!(e instanceof SealError)) throw e
    throw invalid(
      'This note was not given to this recorder: send the one that came with the job',
      ['note'],
      'expected the note of a job',
      'invalid_note',
    )
  }
}

function made({ jobs, recordings, store }: Parts, nodeId: string, { job, recording }: Note, now: string): Job {
  const wasKnown = store.isKnown(recording.id)
  if (!wasKnown) {
    const { folder, id, name, recordedAt, source, tags } = recording
    const plain = { folder, id, name, nodeId, recordedAt, source, status: 'recording', tags } as const
    recordings.create({ ...plain, ...store.known(recording) }, now)
  }
  store.addEnded(job, recording.id, nodeId, now)
  // What became of a known one is known.
  if (!wasKnown) recordings.settle(recording.id, 'failed', now)
  return jobs.get(job.id)
}
