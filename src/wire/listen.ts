import * as z from 'zod'
import { query, text } from './scalars.ts'

/** Bytes of one piece of live audio (docs/contract/listening.md: Chunks). */
export const CHUNK_BYTES = { least: 44, most: 524_288 } as const

const MONITOR_RENDITIONS = ['raw', 'enhanced'] as const
export type MonitorRendition = (typeof MONITOR_RENDITIONS)[number]

/** Only the literal `true` asks for enhanced audio. */
export const ListenStart = z.object({
  enhance: z
    .unknown()
    .optional()
    .transform((v) => v === true),
})

const flag = z.enum(['0', '1', 'false', 'true']).transform((v) => v === '1' || v === 'true')

/** Without `after` and `continuous`: the newest chunk, as the contract's console polls for it. */
export const ListenQuery = z.object({
  /** Sequence of the last chunk heard: answers the one that follows it. */
  after: query(z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)),
  /** One endless WAV instead of one chunk. */
  continuous: query(flag),
  sessionId: query(text(1, 160)),
  /** How long to wait for a chunk that follows; for the first one of a session 10 s when absent. */
  waitSeconds: query(z.coerce.number().int().min(0).max(30)),
})

/** `enhanced` names the enhanced slot, anything else the raw one. */
export const ChunkQuery = z.object({
  rendition: z
    .unknown()
    .optional()
    .transform((v): MonitorRendition => (v === 'enhanced' ? 'enhanced' : 'raw')),
})

/** The headers of a chunk, by their meaning. */
export const ChunkHeaders = z.object({
  capturedAt: z.iso
    .datetime()
    .transform((s) => new Date(s).toISOString())
    .optional(),
  contentType: z.literal('audio/wav'),
  durationMs: z
    .string()
    .regex(/^\d+$/, 'expected whole milliseconds')
    .transform(Number)
    .pipe(z.number().int().min(1).max(10_000)),
})
export type ChunkHeaders = z.infer<typeof ChunkHeaders>

export interface ListenSession {
  enhance: boolean
  /** What is heard is the audio of the node; the controller makes none up (ADR-0019). */
  mode: 'agent_audio_chunk'
  nodeId: string
  sessionId: string
  startedAt: string
  stopUrl: string
  streamUrl: string
  targetLatencyMs: number
}

/** What the agent hears of a chunk it sent. */
export interface ChunkReceipt {
  capturedAt: string
  durationMs: number
  nodeId: string
  receivedAt: string
  source: 'agent_audio_chunk'
}
