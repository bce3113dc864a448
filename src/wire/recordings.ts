import * as z from 'zod'
import type { Capture, Undelivered } from './captures.ts'
import { CaptureBackend, RecorderCachePolicy } from './nodes.ts'
import { ChannelMode, CODECS, type Codec, Enhancement } from './profiles.ts'
import { Denoiser } from './runtime.ts'
import { CursorPage, instant, offsetInstant, Page, prose, query, someField, text, toldText } from './scalars.ts'

const RECORDING_STATUSES = ['queued', 'recording', 'completed', 'failed', 'cached', 'uploaded', 'partial'] as const
export const RecordingStatus = z.enum(RECORDING_STATUSES)
export type RecordingStatus = z.infer<typeof RecordingStatus>
export const HEALTHS = ['healthy', 'warning', 'critical', 'unknown'] as const
export const JOB_STATUSES = ['queued', 'running', 'stop_requested', 'cancelled', 'completed', 'failed'] as const
export type JobStatus = (typeof JOB_STATUSES)[number]
export const RENDITIONS = ['raw', 'enhanced'] as const
export type Rendition = (typeof RENDITIONS)[number]
/** Anything but the two names asks for the default rendition. */
export const RenditionQuery = z.object({ rendition: z.enum(RENDITIONS).optional().catch(undefined) })

/** `points`: per channel, at most; a short file has fewer. */
export const WaveformQuery = z.object({
  ...RenditionQuery.shape,
  points: query(z.coerce.number().int().min(1).max(4000)),
})

/** Content type by codec; the extension is the codec's own name. */
export const CONTENT_TYPES: Record<Codec, string> = { mp3: 'audio/mpeg', flac: 'audio/flac', wav: 'audio/wav' }

const id = text(1, 160)
const ChannelSelection = z
  .array(z.number().int().min(1).max(512))
  .min(1)
  .max(512)
  .refine((list) => new Set(list).size === list.length, 'channels must be unique')

export const RecordingStart = z.strictObject({
  captureBackend: CaptureBackend.optional(),
  captureChannelSelection: ChannelSelection.optional(),
  captureInterfaceId: id.optional(),
  channelMode: ChannelMode.optional(),
  /** Length of the take; SVC_AGENT_CAPTURE_SECONDS when absent. */
  durationSeconds: z.number().int().min(1).max(2_678_400).optional(),
  folder: text(1, 240).optional(),
  name: text(1, 240).optional(),
  nodeId: id,
  recordingProfileId: id.optional(),
  retentionPolicyId: id.optional(),
  tags: z.array(text(1, 48)).max(32).optional(),
  uploadPolicyIds: z.array(id).max(16).optional(),
})
export type RecordingStart = z.infer<typeof RecordingStart>

export const RECORDING_SORTS = [
  'durationSeconds',
  'folder',
  'healthStatus',
  'name',
  'recordedAt',
  'source',
  'status',
] as const
const filterText = query(text(1, 240))

/** Unknown keys are dropped, as the contract has it. */
export const RecordingFilters = z.object({
  ...CursorPage.shape,
  cacheState: query(z.enum(['cached', 'missing'])),
  folder: filterText,
  healthStatus: query(z.enum(HEALTHS)),
  nodeId: filterText,
  recordedFrom: query(instant),
  recordedTo: query(instant),
  recordingProfileId: filterText,
  scheduleId: filterText,
  search: filterText,
  sortBy: query(z.enum(RECORDING_SORTS)),
  sortOrder: query(z.enum(['asc', 'desc'])),
  status: query(z.enum(RECORDING_STATUSES)),
  tag: filterText,
  trackGroupId: filterText,
  uploadPolicyId: filterText,
})
export type RecordingFilters = z.infer<typeof RecordingFilters>

const tagList = z.array(text(1, 48)).max(32)
const idList = (most: number) => z.array(id).min(1).max(most)
const snippets = z.array(prose(1, 500)).max(20)
const notes = prose(0, 2000)
const atLeastOne = { message: 'expected at least one change' }

export const RecordingMetadata = z
  .strictObject({
    folder: text(1, 240).optional(),
    name: text(1, 240).optional(),
    notes: notes.nullable().optional(),
    tags: tagList.optional(),
    transcriptSnippets: snippets.nullable().optional(),
  })
  .refine(someField, atLeastOne)
export type RecordingMetadata = z.infer<typeof RecordingMetadata>

export const BulkMetadata = z
  .strictObject({
    addTags: tagList.optional(),
    folder: text(1, 240).optional(),
    recordingIds: idList(100),
    removeTags: tagList.optional(),
    replaceTags: tagList.optional(),
  })
  .refine(({ recordingIds: _, ...changes }) => someField(changes), atLeastOne)
  .refine((b) => b.replaceTags === undefined || (b.addTags === undefined && b.removeTags === undefined), {
    message: 'replaceTags stands alone',
    path: ['replaceTags'],
  })
export type BulkMetadata = z.infer<typeof BulkMetadata>

/** Up to 200 recordings, named one by one. */
export const RecordingIds = z.strictObject({ recordingIds: idList(200) })

export const JobFilters = z.object({
  ...Page.shape,
  captureBackend: query(CaptureBackend),
  captureInterfaceId: query(text(1, 160)),
  createdFrom: query(offsetInstant),
  createdTo: query(offsetInstant),
  nodeId: query(text(1, 160)),
  search: query(text(1, 160)),
  status: query(z.enum(JOB_STATUSES)),
})
export type JobFilters = z.infer<typeof JobFilters>

export interface Recording {
  cached: boolean
  cachePath?: string
  /** While its job is under way, and where one recording is shown. */
  capture?: Capture
  checksum?: string
  durationSeconds: number
  enhancedCachePath?: string
  /** Why the take failed, as its recorder or the controller said; of failed recordings only. */
  failureReason?: string
  folder: string
  healthStatus: (typeof HEALTHS)[number]
  /** Where all of its files are: `local`, and the ids of destinations that keep the library. */
  held: string[]
  id: string
  name: string
  nodeId?: string
  notes?: string
  /** While its job is under way. */
  progress?: ToldProgress
  rawCachePath?: string
  recordedAt: string
  recordingProfileId?: string
  /** How each rendition was made, as far as its recorder told; only where one recording is shown. */
  renditions?: Partial<Record<Rendition | 'primary', RenditionDetails>>
  retentionPolicyId?: string
  roomId?: string
  scheduleId?: string
  source: 'ad_hoc' | 'schedule'
  status: RecordingStatus
  tags: string[]
  transcriptSnippets?: string[]
  /** While a part of it exists on its recorder only. */
  undelivered?: Undelivered
  uploadPolicyIds: string[]
  watchdogPolicyId?: string
  waveformPreview?: WaveformPreview
}

/** The loudest sample of every slice, over all channels: 0..1. */
export interface WaveformPreview {
  channelCount: number
  generatedAt: string
  peaks: number[]
  sampleCount: number
  sampleRate: number
  source: 'ffmpeg_decoded_peak' | 'wav_s16le_peak'
}

/** `pending` while it is made, with the first two; `ready` with the rest. */
export interface Waveform {
  /** How many are made before it; 0: it is being made. */
  before?: number
  /** 0..1 of the one that is being made. */
  progress?: number
  /** The lowest and the highest sample of every point, -1..1. */
  channels?: { max: number[]; min: number[] }[]
  checksum: string
  points?: number
  recordingId: string
  rendition: string
  sampleCount?: number
  sampleRate?: number
  state: 'pending' | 'ready'
}

/** A value recordings are narrowed by, and how many the caller sees with it. */
export interface Facet {
  count: number
  value: string
}
export type RecordingFacets = Record<
  'folders' | 'nodes' | 'recordingProfiles' | 'tags' | 'trackGroups' | 'uploadPolicies',
  Facet[]
>

export interface ChannelMap {
  assignmentId: string
  channelMode: ChannelMode
  entries: { included: boolean; label: string; outputChannelIndex?: number; sourceChannelIndex: number }[]
  sourceChannels: number
  targetId: string
  targetType: 'interface' | 'node'
  templateId: string
  templateName: string
}

/** Sample formats a recorder captures, as ALSA calls them. */
export const CAPTURE_FORMATS = ['S16_LE', 'S24_LE', 'S24_3LE', 'S32_LE', 'FLOAT_LE'] as const

/** What the agent executes; fixed when the job is made. */
export interface Command {
  captureBackend?: CaptureBackend
  captureChannels: number
  captureChannelSelection?: number[]
  captureDevice: string
  captureFormat: string
  captureGroupId?: string
  captureInterfaceId?: string
  /** The interface's stable system ref, so that the agent can find the device after a renumbering. */
  captureSystemRef?: string
  captureSampleRate: number
  /** The profile's wish; a channel map, where there is one, wins. */
  channelMode?: ChannelMode
  channelMap?: ChannelMap
  chunkSeconds?: number
  /** For the recorder alone: it keeps the take until it is told, and this is its sealed note of what the recording is. */
  custody?: string
  durationSeconds: number
  enhancement?: Enhancement
  outputBitrateKbps?: number
  outputCodec?: Codec
  outputFileName: string
  outputVbr?: boolean
  recorderCacheRetention?: RecorderCachePolicy
  type: 'alsa_capture'
}

export interface Job {
  claimedBy?: string
  command: Command
  completedAt?: string
  createdAt: string
  failureReason?: string
  id: string
  lastHeartbeatAt?: string
  leaseExpiresAt?: string
  nodeId: string
  /** While it is under way. */
  progress?: ToldProgress
  recordingId: string
  /** In lists, for who may see the recording. */
  recordingName?: string
  startedAt?: string
  status: JobStatus
  stopRequestedAt?: string
}

const absentIfNull = <T extends z.ZodType>(schema: T) =>
  z.preprocess((v) => (v === null ? undefined : v), schema.optional())

/** How an agent reads a job: what it needs, strictly; what it does not know, ignored; null counts as absent. */
export const AgentJob = z.object({
  command: z.object({
    captureBackend: absentIfNull(CaptureBackend),
    captureChannels: z.number().int().min(1).max(256),
    captureChannelSelection: absentIfNull(ChannelSelection),
    captureDevice: z.string().min(1),
    captureFormat: z.string().min(1),
    captureGroupId: absentIfNull(z.string()),
    captureInterfaceId: absentIfNull(z.string()),
    captureSystemRef: absentIfNull(z.string()),
    captureSampleRate: z.number().int().min(1),
    channelMap: absentIfNull(
      z.object({
        channelMode: ChannelMode,
        entries: z
          .array(
            z.object({
              included: z.boolean(),
              label: z.string(),
              outputChannelIndex: absentIfNull(z.number().int().min(1)),
              sourceChannelIndex: z.number().int().min(1),
            }),
          )
          .max(128),
        sourceChannels: z.number().int().min(1),
      }),
    ),
    chunkSeconds: absentIfNull(z.number().int().min(1)),
    channelMode: absentIfNull(ChannelMode),
    // Unreadable it must not cost the take.
    custody: absentIfNull(z.string().min(1)).catch(undefined),
    durationSeconds: z.number().int().min(1),
    // A chain this agent cannot read must not cost the take: it is raw then.
    enhancement: absentIfNull(Enhancement).catch(undefined),
    outputBitrateKbps: absentIfNull(z.number().int().min(1)),
    outputCodec: absentIfNull(z.enum(CODECS)),
    outputFileName: z.string().min(1),
    outputVbr: absentIfNull(z.boolean()),
    recorderCacheRetention: absentIfNull(RecorderCachePolicy).catch(undefined),
  }),
  failureReason: absentIfNull(z.string()),
  id: z.string().min(1),
  nodeId: z.string().min(1),
  recordingId: z.string().min(1),
  status: z.enum(JOB_STATUSES),
})
export type AgentJob = z.infer<typeof AgentJob>

/**
 * Body of a claim: jobs the agent already holds. A job that was handed to this node, never confirmed by a
 * heartbeat and is not held was lost on the way, and is handed out again at once.
 */
export const Claim = z.object({
  holding: z.array(text(0, 160)).max(1024).optional().catch(undefined),
  /** The agent is at capacity: it takes only what joins a capture that runs. */
  joinOnly: z.boolean().optional().catch(undefined),
  /** The agent gives what an open device hears to every job of it, not to those of one group alone. */
  shares: z.boolean().optional().catch(undefined),
})

/** How long an agent lets a question wait for news: a job, another config, the end of a take. */
export const WaitQuery = z.object({ waitSeconds: query(z.coerce.number().int().min(0).max(30)) })

/** Any rendition but the two names is the primary file itself. */
export const CacheFileQuery = z.object({
  chunk: z.string().optional(),
  chunkTotal: z.string().optional(),
  rendition: z.string().optional(),
})
export type CacheFileQuery = z.infer<typeof CacheFileQuery>

export interface StoredFile {
  cachePath: string
  checksum: string
  durationSeconds?: number
  fileName: string
  mimeType: string
  size: number
}

/** Where a job is, as its agent tells it with every heartbeat. */
export const JOB_STAGES = ['capturing', 'rendering', 'enhancing', 'uploading'] as const
export const JobProgress = z.object({
  /** Of this stage, 0..100. */
  percent: z.number().min(0).max(100),
  stage: z.enum(JOB_STAGES),
})
export type JobProgress = z.infer<typeof JobProgress>
/** Progress as it is shown: `at` is the heartbeat that told it. */
type ToldProgress = JobProgress & { at: string }

/** Body of a job's heartbeat; none is as good. */
export const JobHeartbeat = z.object({ progress: JobProgress.optional().catch(undefined) })
export type JobHeartbeat = z.infer<typeof JobHeartbeat>

const seconds = z.number().min(0).max(1e9)

/** Gaps listed one by one; more of them are only counted. */
export const MAX_REPORTED_GAPS = 64

/** How a rendition came to be, told with its upload: what a listener in ten years has to know. */
export const RenditionDetails = z.object({
  /** What the device gave. */
  capture: z
    .object({
      channels: z.number().int().min(1).max(256),
      format: toldText(0, 20),
      sampleRate: z.number().int().min(1).max(1e6),
    })
    .optional(),
  denoiser: Denoiser.optional(),
  /** Why there is no enhanced rendition, or which of its parts was left out. */
  enhancementFailure: toldText(0, 500).optional(),
  gapCount: z.number().int().min(0).max(1e9).optional(),
  /** Sum of all gaps. */
  gapSeconds: seconds.optional(),
  gaps: z
    .array(z.object({ atSeconds: seconds, seconds }))
    .max(MAX_REPORTED_GAPS)
    .optional(),
  /** Of the finished rendition (ITU-R BS.1770). */
  loudness: z
    .object({ integratedLufs: z.number().min(-120).max(20), truePeakDbtp: z.number().min(-200).max(20) })
    .optional(),
  /** A test tone, no microphone. */
  source: z.literal('test').optional(),
})
export type RenditionDetails = z.infer<typeof RenditionDetails>
