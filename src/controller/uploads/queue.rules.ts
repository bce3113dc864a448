import { backoff } from '../../kernel/backoff.ts'
import type { Recording } from '../../wire/recordings.ts'
import type { UploadItem, UploadRunItem, UploadRunSummary, UploadStatus } from '../../wire/uploads.ts'
import { downloadName } from '../recordings/library/recordings.rules.ts'
import { segments } from './destinations.rules.ts'

const LONGEST_PAUSE_SECONDS = 3600
// Servers allow 255 bytes in a file name; a letter may take four.
const LONGEST_STEM_BYTES = 200

/** Pause after the failure of attempt `n`, from 1: a minute, doubled each time, at most an hour. */
export const pauseSeconds = (n: number): number => backoff(n - 1, 60, LONGEST_PAUSE_SECONDS)

export const isActive = (status: UploadStatus): boolean => status === 'queued' || status === 'retrying'
/** Whether the bytes were verified at the destination itself: only then may they be deleted here. Of `upload_queue`'s column. */
export const VERIFIED_THERE = `IN ('matched', 'provider_validated')`

export const isRetryable = (status: UploadStatus): boolean => status === 'failed' || status === 'cancelled'

/** Whether a stored file is the raw master of a take: its path says so (docs/contract/recordings.md: Files). */
export const isMaster = (path: string | undefined): boolean => /\.raw\.([^/]+\.)?[^./]+$/.test(path ?? '')

/** The end of a recording's id, as names at a destination have it: letters, digits, `_` and `-`. */
export const idTail = (recordingId: string): string =>
  recordingId
    .replace(/^rec_/, '')
    .replace(/[^\w-]/g, '')
    .slice(-12)

/**
 * The name at the destination: the recording's name and the end of its id, so that two takes of the same name never overwrite
 * each other; a chunk's number and `.raw` of a master are added (docs/contract/uploads.md: Names at a destination).
 */
export function remoteName(recording: Pick<Recording, 'id' | 'name'>, path: string, chunkIndex?: number): string {
  const name = downloadName(recording, path).unicode
  const dot = name.lastIndexOf('.')
  const stem = shortened(name.slice(0, dot).replace(/^[\s.-]+/, '') || 'recording')
  const own = idTail(recording.id)
  const part = chunkIndex === undefined ? '' : `_part${String(chunkIndex).padStart(4, '0')}`
  return `${stem}_${own}${part}${isMaster(path) ? '.raw' : ''}${name.slice(dot)}`
}

/** A name that avoids overwriting a confirmed upload of other bytes: part of the checksum is added when it is taken. */
export function freeName(
  name: string,
  checksum: string,
  items: readonly Pick<UploadItem, 'checksum' | 'fileName' | 'status'>[],
): string {
  const kept = items.some((i) => i.status === 'succeeded' && i.fileName === name && i.checksum !== checksum)
  if (!kept) return name
  const dot = name.lastIndexOf('.')
  return `${name.slice(0, dot)}_${checksum.replace(/^sha256:/, '').slice(0, 12)}${name.slice(dot)}`
}

/** Folders and file name of an item at its destination, below `base`, the destination's own folder. */
export const remotePath = (base: string | undefined, item: Pick<UploadItem, 'fileName' | 'pathOverride'>): string[] => [
  ...segments(base),
  ...segments(item.pathOverride),
  segments(item.fileName).at(-1) ?? 'take',
]

function shortened(stem: string): string {
  let short = stem
  while (Buffer.byteLength(short) > LONGEST_STEM_BYTES) short = [...short].slice(0, -1).join('')
  return short
}

/** The newest item for each target (destination, folder, chunk or master): an item queued again replaces one that failed. */
export function newestPerTarget<I extends Pick<UploadItem, 'cachePath' | 'chunkId' | 'destinationId' | 'pathOverride'>>(
  oldestFirst: readonly I[],
): I[] {
  const ways = oldestFirst.map((item) => [
    JSON.stringify([item.destinationId, item.pathOverride ?? '', item.chunkId ?? '', isMaster(item.cachePath)]),
    item,
  ])
  return [...new Map(ways as [string, I][]).values()]
}

export type Outcome = 'pending' | 'none' | 'some' | 'all'

/** The combined outcome of a set of uploads; `pending` while any may still succeed without help. */
export function outcomeOf(statuses: readonly UploadStatus[]): Outcome {
  if (statuses.some(isActive)) return 'pending'
  const succeeded = statuses.filter((status) => status === 'succeeded').length
  if (succeeded === 0) return 'none'
  return succeeded === statuses.length ? 'all' : 'some'
}

/** The chunks of a chunked recording, as far as uploads are concerned. */
export interface Chunks {
  /** Whether its job has ended: no further chunk is expected. */
  jobEnded: boolean
  outcomes: readonly Outcome[]
  /** How many there are; undefined when that is not known or a chunk is missing. */
  total: number | undefined
}

/** The status a recording gets from its uploads; undefined when it keeps its own (docs/contract/uploads.md: Reconciling). */
export function reconciled(whole: Outcome | undefined, chunks: Chunks | undefined): 'uploaded' | 'partial' | undefined {
  const outcomes = [...(whole === undefined ? [] : [whole]), ...(chunks?.outcomes ?? [])]
  if (outcomes.length === 0 || outcomes.includes('pending')) return undefined
  if (outcomes.every((outcome) => outcome === 'none')) return undefined
  if (chunks === undefined) return outcomes.every((outcome) => outcome === 'all') ? 'uploaded' : 'partial'
  const complete = chunks.total !== undefined && chunks.outcomes.length >= chunks.total
  if (!complete && !chunks.jobEnded) return undefined
  return complete && outcomes.every((outcome) => outcome === 'all') ? 'uploaded' : 'partial'
}

/** Counts and items of one pass; an attempt still under way counts as deferred. */
export function summaryOf(items: UploadRunItem[]): UploadRunSummary {
  const count = (...statuses: UploadStatus[]) => items.filter(({ status }) => statuses.includes(status)).length
  return {
    attempted: items.length,
    deferred: count('queued', 'retrying', 'cancelled'),
    failed: count('failed'),
    items,
    succeeded: count('succeeded'),
  }
}
