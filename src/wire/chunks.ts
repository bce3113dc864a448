export const CHUNK_STATUSES = ['capturing', 'cached', 'uploading', 'uploaded', 'partial', 'failed'] as const
export type ChunkStatus = (typeof CHUNK_STATUSES)[number]

/** One chunk of a take that arrives in pieces (docs/contract/recordings.md: Chunks). */
export interface RecordingChunk {
  cachedAt?: string
  /** The file that is played: the enhanced one where there is one. */
  cachePath?: string
  checksum?: string
  createdAt: string
  durationSeconds: number
  enhancedCachePath?: string
  id: string
  /** From 1. */
  index: number
  jobId: string
  /** Sum of the chunks before this one that have arrived. */
  offsetSeconds: number
  rawCachePath?: string
  recordingId: string
  sizeBytes?: number
  status: ChunkStatus
  /** How many chunks there are, once that is known. */
  total?: number
}
