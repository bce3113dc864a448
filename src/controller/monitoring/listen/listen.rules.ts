// Which chunk of live audio a listener gets next. Ages go by the controller's clock: a node's may be wrong
// (docs/contract/listening.md: Streams).
import { iso } from '../../../kernel/clock.ts'
import type { MonitorRendition } from '../../../wire/listen.ts'
import { joinedWav, withoutStart } from './wav.rules.ts'

/** A chunk of live audio as it is kept. */
export interface Chunk {
  audio: Uint8Array
  capturedAt: string
  durationMs: number
  nodeId: string
  receivedAt: string
  rendition: MonitorRendition
  /** The agent's own number of the chunk, if it sends one. */
  sent?: string | undefined
  /** Increases with every chunk of the node, of any rendition; also across restarts. */
  sequence: number
}

/** The chunk a listener heard last. */
export type Heard = Pick<Chunk, 'sequence'> & Partial<Omit<Chunk, 'audio'>>

const FRESH_MS = 5000
// Time for a chunk to arrive, on top of its duration.
const ARRIVAL_MS = 1000
// A listener begins this many chunks back, and at least this far: a buffer against later network delays.
const LEAD = { leastMs: 1000, pieces: 2 }
// Audio needed before a stream begins: with less a player stops at the first late chunk.
const HOLD_MS = 800
// How much later than the raw chunk an enhanced one may arrive; after that the raw ones are played.
const LAG_MS = 1500
// A console polls within these times (docs/contract/listening.md: Streams).
const SHORT_MS = 750
const POLL_MS = 3000
const NODE_JITTER_MS = 20
const JUMP_MS = 10_000

const age = (at: string, now: string): number => Date.parse(now) - Date.parse(at)
const begins = (chunk: { capturedAt: string }): number => Date.parse(chunk.capturedAt)

export const isFresh = (chunk: Chunk, now: string): boolean =>
  age(chunk.receivedAt, now) <= Math.max(FRESH_MS, chunk.durationMs + ARRIVAL_MS)

const freshest = (chunks: readonly Chunk[], now: string): Chunk | undefined => {
  const last = chunks.at(-1)
  return last && isFresh(last, now) ? last : undefined
}

interface Kept {
  enhanced: readonly Chunk[]
  raw: readonly Chunk[]
}

/** The newest chunk: enhanced when wanted and available, raw otherwise. */
export const newestFor = ({ enhanced, raw }: Kept, enhance: boolean, now: string): Chunk | undefined =>
  (enhance ? freshest(enhanced, now) : undefined) ?? freshest(raw, now)

/** Where a listener begins: as far back as `LEAD` says, without a gap. */
export function firstFor(kept: Kept, enhance: boolean, now: string): Chunk | undefined {
  let first = newestFor(kept, enhance, now)
  if (!first) return undefined
  const source = kept[first.rendition]
  const limit = Math.max(LEAD.leastMs, LEAD.pieces * first.durationMs)
  let lead = first.durationMs
  for (const before of source.slice(0, -1).toReversed()) {
    lead += before.durationMs
    if (lead > limit || !isFresh(before, now) || begins(first) - ends(before) > NODE_JITTER_MS * 10) break
    first = before
  }
  return first
}

/**
 * What a poll without a cursor gets: the newest chunk. A console polls every 750 ms at most (docs/contract/listening.md:
 * Streams), so shorter chunks come together with earlier ones that this listener has not had.
 */
export function polledFor(kept: Kept, enhance: boolean, given: number | undefined, now: string): Chunk | undefined {
  const newest = newestFor(kept, enhance, now)
  if (!newest || given === undefined || newest.durationMs >= SHORT_MS) return newest
  const waiting = kept[newest.rendition].filter((chunk) => chunk.sequence > given)
  const [first] = waiting
  const audio = first && joinedWav(waiting.map((chunk) => chunk.audio))
  if (!audio || !isUnbroken(waiting)) return newest
  const durationMs = waiting.reduce((sum, chunk) => sum + chunk.durationMs, 0)
  return durationMs > POLL_MS ? newest : { ...newest, audio, capturedAt: first.capturedAt, durationMs }
}

const isUnbroken = (chunks: readonly Chunk[]): boolean =>
  chunks.every((chunk, i) => i === 0 || Math.abs(begins(chunk) - ends(chunks[i - 1] as Chunk)) <= NODE_JITTER_MS * 10)

/** Whether there is enough audio from this chunk on for a stream to begin with it. */
export const isEnough = (kept: Kept, first: Chunk): boolean =>
  kept[first.rendition].filter((c) => c.sequence >= first.sequence).reduce((sum, c) => sum + c.durationMs, 0) >= HOLD_MS

/**
 * The chunk that follows `heard`, each once and in order; undefined while there is none. When the rendition changes within a
 * chunk, the rest of that chunk.
 */
export function following(kept: Kept, enhance: boolean, heard: Heard, now: string): Chunk | undefined {
  const rendition = enhance && isFlowing(kept, now) ? 'enhanced' : 'raw'
  if (heard.rendition === undefined || heard.rendition === rendition)
    return kept[rendition].find((chunk) => chunk.sequence > heard.sequence)
  // By time, not by sequence: the raw chunk of a moment arrives before the enhanced one.
  const next = kept[rendition].find((chunk) => continues(chunk, heard))
  return next && restOf(next, heard)
}

/** Whether enhanced chunks keep up with the raw ones. */
function isFlowing({ enhanced, raw }: Kept, now: string): boolean {
  const newest = freshest(enhanced, now)
  const beside = raw.at(-1)
  return !!newest && (!beside || age(newest.receivedAt, beside.receivedAt) <= LAG_MS + newest.durationMs)
}

const ends = (chunk: Pick<Chunk, 'capturedAt' | 'durationMs'>): number => begins(chunk) + chunk.durationMs

// Between raw and enhanced: what was heard in one must not be heard again in the other. Both are stamped by the same node;
// if its clock jumped, the listener waits no longer than this.
function continues(chunk: Chunk, { capturedAt, durationMs = 0, receivedAt }: Heard): boolean {
  if (capturedAt === undefined || receivedAt === undefined) return true
  if (ends(chunk) > ends({ capturedAt, durationMs }) + NODE_JITTER_MS) return true
  return age(receivedAt, chunk.receivedAt) > JUMP_MS
}

/** The part of a chunk after what was heard; all of it when the two do not overlap. */
function restOf(chunk: Chunk, { capturedAt, durationMs = 0 }: Heard): Chunk {
  const heardMs = capturedAt === undefined ? 0 : ends({ capturedAt, durationMs }) - begins(chunk)
  if (heardMs <= NODE_JITTER_MS || heardMs >= chunk.durationMs) return chunk
  return {
    ...chunk,
    audio: withoutStart(chunk.audio, heardMs),
    capturedAt: iso(begins(chunk) + heardMs),
    durationMs: chunk.durationMs - heardMs,
  }
}
