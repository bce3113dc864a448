// Which piece of live audio comes next for whom. Ages go by the controller's clock: a node's may be wrong (contract A, section 16 row 11).
import type { MonitorRendition } from '../../wire/listen.ts'

/** A piece of live audio as it is kept. */
export interface Chunk {
  audio: Uint8Array
  capturedAt: string
  durationMs: number
  nodeId: string
  receivedAt: string
  rendition: MonitorRendition
  /** Grows with every chunk of the node, whatever its rendition; also across restarts. */
  sequence: number
}

/** The bell a listener's long poll waits at. */
export const audioBell = (nodeId: string): string => `audio ${nodeId}`
/** The bell an agent's long poll for its config waits at. */
export const demandBell = (nodeId: string): string => `demand ${nodeId}`

/** What a listener has heard last. */
export type Heard = Pick<Chunk, 'sequence'> & Partial<Omit<Chunk, 'audio'>>

const FRESH_MS = 5000
// An agent that sends long pieces sends them less often.
const ARRIVAL_MS = 1000
// A listener begins this far back: what the network holds up later is covered by it.
const LEAD_MS = 2000
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

/** Where a listener begins: as far back as `LEAD_MS`, without a hole. */
export function firstFor(kept: Kept, enhance: boolean, now: string): Chunk | undefined {
  let first = newestFor(kept, enhance, now)
  if (!first) return undefined
  const source = kept[first.rendition]
  let lead = first.durationMs
  for (const before of source.slice(0, -1).toReversed()) {
    lead += before.durationMs
    if (lead > LEAD_MS || !isFresh(before, now) || begins(first) - ends(before) > NODE_JITTER_MS * 10) break
    first = before
  }
  return first
}

/** The piece that follows `heard`, each once and in order; undefined while there is none. */
export function following(kept: Kept, enhance: boolean, heard: Heard, now: string): Chunk | undefined {
  const rendition = enhance && freshest(kept.enhanced, now) ? 'enhanced' : 'raw'
  const later = kept[rendition].filter((chunk) => chunk.sequence > heard.sequence)
  return heard.rendition === undefined || heard.rendition === rendition
    ? later[0]
    : later.find((chunk) => continues(chunk, heard))
}

const ends = (chunk: Pick<Chunk, 'capturedAt' | 'durationMs'>): number => begins(chunk) + chunk.durationMs

// From raw to enhanced or back: what was heard in the one must not be heard again in the other. Both are stamped by
// the same node; should its clock have jumped, the listener waits no longer than this.
function continues(chunk: Chunk, { capturedAt, durationMs = 0, receivedAt }: Heard): boolean {
  if (capturedAt === undefined || receivedAt === undefined) return true
  if (begins(chunk) >= ends({ capturedAt, durationMs }) - NODE_JITTER_MS) return true
  return age(receivedAt, chunk.receivedAt) > JUMP_MS
}
