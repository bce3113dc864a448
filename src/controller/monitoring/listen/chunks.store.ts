import { iso } from '../../../kernel/clock.ts'
import type { MonitorRendition } from '../../../wire/listen.ts'
import { type Chunk, isFresh } from './listen.rules.ts'

/** Live audio of the last seconds per node and rendition: in memory only. */
export interface Chunks {
  /** The newest chunk, while it is fresh. */
  fresh(nodeId: string, rendition: MonitorRendition, now: string): Chunk | undefined
  /** Oldest first. */
  kept(nodeId: string): { enhanced: readonly Chunk[]; raw: readonly Chunk[] }
  /** The wall clock jumped by so many ms: ages stay what they are. */
  clockJumped(by: number): void
  /** Keeps a chunk; when it was sent twice, the first. */
  put(chunk: Omit<Chunk, 'sequence'>): Chunk
  /** The newest of each node and rendition, fresh or not, for metrics. */
  snapshot(now: string): ChunkFact[]
  /** Calls `listener` after each chunk of the node. @returns the function that unsubscribes */
  subscribe(nodeId: string, listener: () => void): () => void
  usedBytes(): number
}

export interface ChunkFact {
  ageSeconds: number
  durationSeconds: number
  nodeId: string
  rendition: MonitorRendition
  source: 'agent_audio_chunk'
}

// How far back a poll may continue without a gap.
const KEEP_MS = 10_000
/** Bytes per node and rendition, and of all together. */
const NODE_BYTES = 2 * 1024 * 1024
const BUDGET = 96 * 1024 * 1024

type Slots = Record<MonitorRendition, Chunk[]>
const NOTHING = { enhanced: [], raw: [] } as const

export function chunkStore(budget = BUDGET): Chunks {
  const nodes = new Map<string, Slots>()
  // In order of arrival, over all nodes: a Set keeps insertion order.
  const all = new Set<Chunk>()
  // Metrics of the newest chunk outlive its audio.
  const newest = new Map<string, Omit<Chunk, 'audio'>>()
  const listeners = new Map<string, Set<() => void>>()
  let bytes = 0
  let last = 0

  const drop = (chunk: Chunk): void => {
    const slots = nodes.get(chunk.nodeId) as Slots
    slots[chunk.rendition].splice(slots[chunk.rendition].indexOf(chunk), 1)
    if (slots.raw.length + slots.enhanced.length === 0) nodes.delete(chunk.nodeId)
    all.delete(chunk)
    bytes -= chunk.audio.length
  }
  const trim = (own: Chunk[], now: number): void => {
    const size = () => own.reduce((sum, chunk) => sum + chunk.audio.length, 0)
    while (own.length > 1 && size() > NODE_BYTES) drop(own[0] as Chunk)
    for (const oldest of all) {
      if (bytes <= budget && now - Date.parse(oldest.receivedAt) <= KEEP_MS) break
      drop(oldest)
    }
  }

  return {
    put(input) {
      const now = Date.parse(input.receivedAt)
      const again = nodes.get(input.nodeId)?.[input.rendition].find((known) => isSame(known, input))
      if (again) return again
      // Never below the clock: a cursor from before a restart must be smaller than any new sequence.
      last = Math.max(last + 1, now)
      const chunk = { ...input, sequence: last }
      const slots = nodes.get(chunk.nodeId) ?? { enhanced: [], raw: [] }
      nodes.set(chunk.nodeId, slots)
      slots[chunk.rendition].push(chunk)
      all.add(chunk)
      bytes += chunk.audio.length
      const { audio: _, ...facts } = chunk
      newest.set(`${chunk.nodeId} ${chunk.rendition}`, facts)
      trim(slots[chunk.rendition], now)
      for (const listener of listeners.get(chunk.nodeId) ?? []) listener()
      return chunk
    },
    clockJumped(by) {
      for (const chunk of [...all, ...newest.values()]) chunk.receivedAt = iso(Date.parse(chunk.receivedAt) + by)
    },
    fresh(nodeId, rendition, now) {
      const chunk = nodes.get(nodeId)?.[rendition].at(-1)
      return chunk && isFresh(chunk, now) ? chunk : undefined
    },
    kept: (nodeId) => nodes.get(nodeId) ?? NOTHING,
    snapshot: (now) => [...newest.values()].map((chunk) => factOf(chunk, now)),
    subscribe(nodeId, listener) {
      const own = listeners.get(nodeId) ?? new Set()
      listeners.set(nodeId, own.add(listener))
      return () => {
        own.delete(listener)
        if (own.size === 0 && listeners.get(nodeId) === own) listeners.delete(nodeId)
      }
    },
    usedBytes: () => bytes,
  }
}

/** Whether a chunk was sent again because our answer was lost: it must not be heard twice. */
const isSame = (known: Chunk, { capturedAt, sent }: Omit<Chunk, 'sequence'>): boolean =>
  sent !== undefined && known.sent === sent && known.capturedAt === capturedAt

const factOf = ({ durationMs, nodeId, receivedAt, rendition }: Omit<Chunk, 'audio'>, now: string): ChunkFact => ({
  ageSeconds: Math.max(0, Date.parse(now) - Date.parse(receivedAt)) / 1000,
  durationSeconds: durationMs / 1000,
  nodeId,
  rendition,
  source: 'agent_audio_chunk',
})
