import { iso } from '../../../kernel/clock.ts'
import { conflict, invalid } from '../../../kernel/fail.ts'
import type { ChunkStatus } from '../../../wire/chunks.ts'
import type { Codec } from '../../../wire/profiles.ts'

export type ChunkRendition = 'primary' | 'raw' | 'enhanced'

/** One stored file of a chunk; `path` is relative to the takes directory. */
export interface ChunkFile {
  checksum: string
  index: number
  path: string
  rendition: ChunkRendition
  sizeBytes: number
}

/** The state of a take that arrives in chunks. */
export interface ChunkSet {
  changedAt: string
  /** Whether its job has ended: no further chunk has to come. */
  ended: boolean
  highest: number
  jobId: string
  joinAttempts: number
  /** Health event of the unresolved failure. */
  joinEvent: string | null
  /** Number of chunks with a playable file. */
  primaries: number
  primaryJoined: number | null
  primaryRevision: number
  rawJoined: number | null
  rawRevision: number
  raws: number
  recordingId: string
  /** When its files were deleted because the joined ones contain all of them. */
  releasedAt: string | null
  total: number | null
  wholeAt: string | null
}

/** What is joined: the played chunks, or their raw masters. */
export type JoinGroup = 'primary' | 'raw'

// A late chunk arrives within this time after its neighbours, or much later: then all of them are joined again.
const GRACE_MS = 60_000
const MAX_CHUNKS = 1_000_000

/**
 * The chunk that an upload contains (docs/contract/uploads.md: Order of checks): `chunk` counts from 0 on the wire; an invalid
 * `chunkTotal` is ignored. Undefined for a take in one file.
 * @throws Fail 400 `invalid_chunk_index`.
 */
export function chunkAsked(query: { chunk?: string | undefined; chunkTotal?: string | undefined }) {
  if (query.chunk === undefined) return undefined
  const index = /^\d{1,7}$/.test(query.chunk) ? Number(query.chunk) + 1 : Number.NaN
  if (!(index <= MAX_CHUNKS))
    throw invalid('Invalid chunk query parameter', ['chunk'], 'expected a whole number from 0', 'invalid_chunk_index')
  const total = /^\d{1,7}$/.test(query.chunkTotal ?? '') ? Number(query.chunkTotal) : 0
  return { index, total: total > 0 && total <= MAX_CHUNKS ? total : undefined }
}

/** `part0001` in the recording's own folder, `part0001.raw` for the master (docs/contract/recordings.md: Files). */
export const chunkStem = (recordingId: string, index: number, rendition: ChunkRendition): string =>
  `${recordingId}/part${String(index).padStart(4, '0')}${rendition === 'raw' ? '.raw' : ''}`

/** Whether every chunk of the take has arrived. */
export const isComplete = ({ highest, primaries, releasedAt, total }: ChunkSet): boolean =>
  total !== null && (primaries === total || releasedAt !== null) && highest <= total

/**
 * Refuses a chunk beyond the end of a complete take: it would lengthen it, or replace joined chunks whose files were deleted.
 * `last` is the highest index that the upload implies, by its own index or by the number of chunks it states.
 * @throws Fail 409 `chunk_set_closed`: the recorder keeps its file.
 */
export function checkOpen(set: ChunkSet, last: number): void {
  if (isComplete(set) && last > (set.total ?? 0))
    throw conflict('chunk_set_closed', `This take has all of its ${set.total} chunks`)
}

/** Whether a chunk that arrives again is already part of the joined file, its own file deleted. */
export const isReleased = (set: ChunkSet | undefined, index: number, rendition: ChunkRendition): boolean =>
  set !== undefined &&
  set.releasedAt !== null &&
  index <= (set.total ?? 0) &&
  (rendition !== 'raw' || set.rawJoined !== null)

/**
 * Status of a chunk after one of its files was stored (docs/contract/recordings.md: Chunks); a status set by uploads stays.
 */
export function storedStatus(from: ChunkStatus | undefined, rendition: ChunkRendition): ChunkStatus {
  if (from !== undefined && from !== 'capturing' && from !== 'cached') return from
  return rendition === 'raw' ? (from ?? 'capturing') : 'cached'
}

const graceOf = (set: ChunkSet): string => iso(Date.parse(set.changedAt) + GRACE_MS)

/**
 * When each group of a set is to be joined; absent when it is joined already, is empty, or still arriving. A complete set is
 * joined at once, and so is one whose job ended before the last chunk was sent, because no more are expected. A set with a
 * missing chunk, or with chunks after its end, is joined once nothing has arrived for a while.
 */
export function joinTimes(set: ChunkSet, now: string): Partial<Record<JoinGroup, string>> {
  if (set.wholeAt !== null || !set.ended) return {}
  const whole = isComplete(set)
  const broken = set.total === null
  const times: Partial<Record<JoinGroup, string>> = {}
  if (set.primaries > 0 && set.primaryJoined !== set.primaryRevision)
    times.primary = whole || (broken && set.primaryJoined === null) ? now : graceOf(set)
  if (set.raws > 0 && set.rawJoined !== set.rawRevision)
    times.raw = (whole && set.raws === set.total) || (broken && set.rawJoined === null) ? now : graceOf(set)
  return times
}

/** Whether the joined file of a group is about to be made: it is due, and no join has failed. */
export const isComing = (set: ChunkSet, group: JoinGroup, now: string): boolean => {
  const due = joinTimes(set, now)[group]
  return set.joinAttempts === 0 && due !== undefined && due <= now
}

/** The earliest of the join times. */
export const joinAt = (times: Partial<Record<JoinGroup, string>>): string | null =>
  Object.values(times).sort()[0] ?? null

const BEST = { primary: 'enhanced', raw: 'raw' } as const
const NEVER = { primary: 'raw', raw: 'enhanced' } as const

/**
 * The source files of the joined file, in order. A plain file replaces the missing rendition of a chunk, both in the played
 * file and in the master.
 */
export function sourcesOf(files: readonly ChunkFile[], group: JoinGroup): ChunkFile[] {
  const chosen = new Map<number, ChunkFile>()
  for (const file of files) {
    if (file.rendition === NEVER[group]) continue
    if (!chosen.has(file.index) || file.rendition === BEST[group]) chosen.set(file.index, file)
  }
  return [...chosen.values()].sort((a, b) => a.index - b.index)
}

/** The rendition of the joined file: enhanced only when all of its sources are. */
export const joinedRendition = (sources: readonly ChunkFile[], group: JoinGroup): ChunkRendition =>
  group === 'raw' ? 'raw' : sources.every((file) => file.rendition === 'enhanced') ? 'enhanced' : 'primary'

/** The missing indexes of `1..total`, or up to the highest one that arrived. */
export function missing(sources: readonly ChunkFile[], total: number | null): number[] {
  const have = new Set(sources.map((file) => file.index))
  const last = Math.max(total ?? 0, ...have)
  return Array.from({ length: last }, (_, i) => i + 1).filter((index) => !have.has(index))
}

/** Seconds to wait after a failed join: a full disk or a damaged file must not keep the machine busy. */
export const joinPause = (attempts: number): number => Math.min(3600, 60 * 2 ** Math.max(0, attempts - 1))

export const codecOfPath = (path: string): Codec | undefined =>
  (/\.(mp3|flac|wav)$/.exec(path)?.[1] as Codec | undefined) ?? undefined
