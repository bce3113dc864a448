// Which piece of live audio comes next for whom. Ages go by the controller's clock: a node's may be wrong
// (docs/contract/listening.md: Streams).
import { iso } from '../../../kernel/clock.ts'
import type { MonitorRendition } from '../../../wire/listen.ts'
import { joinedWav, withoutStart } from './wav.rules.ts'

/** A piece of live audio as it is kept. */
export interface Chunk {
  audio: Uint8Array
  capturedAt: string
  durationMs: number
  nodeId: string
  receivedAt: string
  rendition: MonitorRendition
  /** The agent's own number of it, when it tells one. */
  sent?: string | undefined
  /** Grows with every chunk of the node, whatever its rendition; also across restarts. */
  sequence: number
}

/** What a listener has heard last. */
export type Heard = Pick<Chunk, 'sequence'> & Partial<Omit<Chunk, 'audio'>>

const FRESH_MS = 5000
// An agent that sends long pieces sends them less often.
const ARRIVAL_MS = 1000
// A listener begins so many pieces back, and this far at least: what the network holds up later is covered by it.
const LEAD = { leastMs: 1000, pieces: 2 }
// So much must be there before a stream begins: a player that is given less stops at the first late piece.
const HOLD_MS = 800
// An enhanced piece may come so much later than the raw one of its time: longer, and the raw ones are heard.
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

/** The newest piece: enhanced where asked for and there, raw otherwise. */
export const newestFor = ({ enhanced, raw }: Kept, enhance: boolean, now: string): Chunk | undefined =>
  (enhance ? freshest(enhanced, now) : undefined) ?? freshest(raw, now)

/** Where a listener begins: as far back as `LEAD` says, without a hole. */
export function firstFor(kept: Kept, enhance: boolean, now: string): Chunk | undefined {
  let first = newestFor(kept, enhance, now)
  if (!first) return undefined
  const source = kept[first.rendition]
  const most = Math.max(LEAD.leastMs, LEAD.pieces * first.durationMs)
  let lead = first.durationMs
  for (const before of source.slice(0, -1).toReversed()) {
    lead += before.durationMs
    if (lead > most || !isFresh(before, now) || begins(first) - ends(before) > NODE_JITTER_MS * 10) break
    first = before
  }
  return first
}

/**
 * What a poll without a cursor gets: the newest piece. A console asks every 750 ms at most (docs/contract/listening.md:
 * Streams), so pieces that are shorter come with those before them which this listener has not been given.
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

/** Whether enough is there from this piece on for a stream to begin with it. */
export const isEnough = (kept: Kept, first: Chunk): boolean =>
  kept[first.rendition].filter((c) => c.sequence >= first.sequence).reduce((sum, c) => sum + c.durationMs, 0) >= HOLD_MS

/**
 * The piece that follows `heard`, each once and in order; undefined while there is none. Where the rendition changes
 * within a piece, it is the rest of that piece.
 */
export function following(kept: Kept, enhance: boolean, heard: Heard, now: string): Chunk | undefined {
  const rendition = enhance && isFlowing(kept, now) ? 'enhanced' : 'raw'
  if (heard.rendition === undefined || heard.rendition === rendition)
    return kept[rendition].find((chunk) => chunk.sequence > heard.sequence)
  // By time, not by number: of one moment the raw piece comes before the enhanced one.
  const next = kept[rendition].find((chunk) => continues(chunk, heard))
  return next && restOf(next, heard)
}

/** Whether enhanced pieces keep coming beside the raw ones. */
function isFlowing({ enhanced, raw }: Kept, now: string): boolean {
  const newest = freshest(enhanced, now)
  const beside = raw.at(-1)
  return !!newest && (!beside || age(newest.receivedAt, beside.receivedAt) <= LAG_MS + newest.durationMs)
}

const ends = (chunk: Pick<Chunk, 'capturedAt' | 'durationMs'>): number => begins(chunk) + chunk.durationMs

// From raw to enhanced or back: what was heard in the one must not be heard again in the other. Both are stamped by
// the same node; should its clock have jumped, the listener waits no longer than this.
function continues(chunk: Chunk, { capturedAt, durationMs = 0, receivedAt }: Heard): boolean {
  if (capturedAt === undefined || receivedAt === undefined) return true
  if (ends(chunk) > ends({ capturedAt, durationMs }) + NODE_JITTER_MS) return true
  return age(receivedAt, chunk.receivedAt) > JUMP_MS
}

/** What of a piece lies behind what was heard; all of it where the two do not overlap. */
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
