import { iso } from '../../../kernel/clock.ts'
import type { MeterFrame } from '../../../wire/meters.ts'
import { pack, unpack, wordsOf } from './pack.rules.ts'

/** A received frame; `interfaceId` is the controller's id, or the sent name of an interface that is not in the inventory. */
export interface MeterSample {
  /** Quick frames of this interface came after this one. */
  followed?: true
  frame: MeterFrame
  nodeId: string
  /** Quick frames have told of this second already. */
  overtaken?: true
  receivedAt: string
}

/** Newest frame and history per node: telemetry, in memory only. */
export interface Meters {
  /** A quick frame goes to the listeners and is not kept. */
  put(nodeId: string, frame: MeterFrame, now: string): void
  /** The newest frame of the node, or of one of its interfaces. */
  latest(nodeId: string, interfaceId?: string): MeterSample | undefined
  /** The wall clock jumped by so many ms: ages stay what they are. */
  clockJumped(by: number): void
  /** Newest first, at most `limit` and SVC_METER_HISTORY_LIMIT; values to 0.01 dB and 0.0001. */
  history(nodeId: string, limit: number): MeterSample[]
  /** The newest frame of every interface of every node, oldest first, for metrics. */
  snapshot(): MeterSample[]
  /** Calls `listener` with every frame, quick ones too. @returns the function that unsubscribes */
  subscribe(listener: (sample: MeterSample) => void): () => void
  /** Bytes the histories take; never above the budget. */
  usedBytes(): number
}

/** All histories together, bytes. 500 nodes with 8 channels keep 600 frames each in it. */
const BUDGET = 128 * 1024 * 1024
// Interfaces of a node whose newest frame is kept; an agent reports no more (docs/contract/agent.md: Inventory and heartbeat).
const MAX_INTERFACES = 64
// A slab holds about a minute of frames and is dropped as a whole.
const SLAB_FRAMES = 60
const SLAB_WORDS = 32_768
// Bytes that a slab, and a frame in it, cost in addition to their words.
const SLAB_COST = 512
const FRAME_COST = 40

/** The fields of a frame that seldom change, kept once for several frames. */
interface Heading {
  interfaceId: string
  labels: readonly string[]
  synthetic: boolean
}

interface Slab {
  bytes: number
  capturedAt: number[]
  headings: Heading[]
  nodeId: string
  receivedAt: number[]
  /** Index into `headings` and first word of each frame. */
  heading: number[]
  start: number[]
  used: number
  words: Int16Array
}

/** `limit` frames of history per node, `budget` bytes over all nodes: the oldest go first. */
export function meterStore(limit: number, budget = BUDGET): Meters {
  const latest = new Map<string, Map<string, MeterSample>>()
  const byNode = new Map<string, Slab[]>()
  // Oldest first: a Set keeps insertion order.
  const slabs = new Set<Slab>()
  const listeners = new Set<(sample: MeterSample) => void>()
  let bytes = 0

  const grow = (slab: Slab, by: number): void => {
    slab.bytes += by
    bytes += by
  }
  const drop = (slab: Slab): void => {
    bytes -= slab.bytes
    slabs.delete(slab)
    const left = (byNode.get(slab.nodeId) ?? []).filter((other) => other !== slab)
    if (left.length > 0) byNode.set(slab.nodeId, left)
    else byNode.delete(slab.nodeId)
  }
  const begin = (nodeId: string, words: number): Slab => {
    const size = Math.max(words, Math.min(words * SLAB_FRAMES, SLAB_WORDS))
    const slab: Slab = { ...EMPTY(), nodeId, words: new Int16Array(size) }
    slabs.add(slab)
    byNode.set(nodeId, [...(byNode.get(nodeId) ?? []), slab])
    grow(slab, SLAB_COST + size * 2)
    return slab
  }
  const trim = (nodeId: string): void => {
    const own = byNode.get(nodeId) ?? []
    const frames = own.reduce((sum, slab) => sum + slab.start.length, 0)
    if (own[0] && frames - own[0].start.length >= limit) drop(own[0])
    for (const oldest of slabs) {
      if (bytes <= budget) break
      drop(oldest)
    }
  }
  const keep = (nodeId: string, frame: MeterFrame, now: string): void => {
    const words = wordsOf(frame.levels)
    const current = byNode.get(nodeId)?.at(-1)
    const fits = current && current.used + words <= current.words.length && current.start.length < SLAB_FRAMES
    const slab = fits ? current : begin(nodeId, words)
    grow(slab, FRAME_COST + addHeading(slab, frame))
    slab.heading.push(slab.headings.length - 1)
    slab.start.push(slab.used)
    slab.capturedAt.push(Date.parse(frame.capturedAt))
    slab.receivedAt.push(Date.parse(now))
    pack(frame.levels, slab.words, slab.used)
    slab.used += words
    trim(nodeId)
  }

  return {
    put(nodeId, frame, now) {
      const sample: MeterSample = { frame, nodeId, receivedAt: now }
      const before = latest.get(nodeId)?.get(frame.interfaceId)
      if (frame.quick) {
        if (before) before.followed = true
      } else {
        if (before?.followed) sample.overtaken = true
        latest.set(nodeId, newest(latest.get(nodeId) ?? new Map(), sample))
        keep(nodeId, frame, now)
      }
      for (const listener of listeners) listener(sample)
    },
    latest(nodeId, interfaceId) {
      const own = latest.get(nodeId)
      return interfaceId === undefined ? [...(own?.values() ?? [])].at(-1) : own?.get(interfaceId)
    },
    history(nodeId, asked) {
      const out: MeterSample[] = []
      for (const slab of (byNode.get(nodeId) ?? []).toReversed())
        for (let at = slab.start.length - 1; at >= 0; at--) {
          if (out.length >= Math.min(asked, limit)) return out
          out.push(sampleAt(slab, at))
        }
      return out
    },
    clockJumped(by) {
      for (const own of latest.values())
        for (const sample of own.values()) sample.receivedAt = iso(Date.parse(sample.receivedAt) + by)
      for (const slab of slabs) slab.receivedAt = slab.receivedAt.map((at) => at + by)
    },
    snapshot: () => [...latest.values()].flatMap((own) => [...own.values()]),
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    usedBytes: () => bytes,
  }
}

// Insertion order is order of time; bounded, because agents choose the names.
function newest(own: Map<string, MeterSample>, sample: MeterSample): Map<string, MeterSample> {
  own.delete(sample.frame.interfaceId)
  own.set(sample.frame.interfaceId, sample)
  const [oldest] = own.keys()
  if (own.size > MAX_INTERFACES && oldest !== undefined) own.delete(oldest)
  return own
}

const EMPTY = () => ({ bytes: 0, capturedAt: [], heading: [], headings: [], receivedAt: [], start: [], used: 0 })

// Adds a heading when it differs from the previous one. Returns its cost, bytes.
function addHeading(slab: Slab, { interfaceId, levels, synthetic = false }: MeterFrame): number {
  const last = slab.headings.at(-1)
  const same =
    last !== undefined &&
    last.interfaceId === interfaceId &&
    last.synthetic === synthetic &&
    last.labels.length === levels.length &&
    levels.every((level, at) => level.label === last.labels[at])
  if (same) return 0
  const labels = levels.map(({ label }) => label)
  slab.headings.push({ interfaceId, labels, synthetic })
  return labels.reduce((sum, label) => sum + 24 + label.length * 2, 64 + interfaceId.length * 2)
}

function sampleAt(slab: Slab, at: number): MeterSample {
  const { interfaceId, labels, synthetic } = slab.headings[slab.heading[at] as number] as Heading
  const frame: MeterFrame = {
    capturedAt: iso(slab.capturedAt[at] as number),
    interfaceId,
    levels: unpack(labels, slab.words, slab.start[at] as number),
    nodeId: slab.nodeId,
    ...(synthetic ? { synthetic } : {}),
  }
  return { frame, nodeId: slab.nodeId, receivedAt: iso(slab.receivedAt[at] as number) }
}
