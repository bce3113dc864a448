import * as z from 'zod'
import { ChannelMode, CODECS } from './profiles.ts'
import { HEALTHS, RENDITIONS, RecordingStatus, RenditionDetails } from './recordings.ts'
import { instant, prose, text } from './scalars.ts'

const SUFFIX = '.roomtone.json'
/** Where the manifest of a file lies: `<file>.roomtone.json`, beside it. */
export const manifestPath = (file: string): string => file + SUFFIX
/** The file a manifest lies beside; undefined where the name is not that of a manifest. */
export const besideManifest = (name: string): string | undefined =>
  name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : undefined
/** Bytes of the largest manifest that is read. */
export const MAX_MANIFEST_BYTES = 8 * 1024 * 1024
/** A take of more chunks is described without them: they are listed by their files. */
export const MAX_MANIFEST_CHUNKS = 20_000

const id = text(1, 160)
const name = text(1, 1000)
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
// Files are named after it.
const recordingId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,159}$/)

/** Below the takes directory, and never out of it: no segment begins with a dot. */
const Place = z
  .string()
  .max(400)
  .regex(new RegExp(`^(?:[A-Za-z0-9][\\w.-]*/){0,3}[A-Za-z0-9][\\w.-]*\\.(?:${CODECS.join('|')})$`))

const File = z.object({
  checksum: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  details: RenditionDetails.optional(),
  durationSeconds: count.optional(),
  mimeType: text(1, 100),
  path: Place,
  rendition: z.enum(['primary', ...RENDITIONS]),
  sizeBytes: count.min(1),
  storedAt: instant,
})
const RenditionFile = File.extend({ jobId: id.optional(), joined: z.boolean() })
export type RenditionFile = z.infer<typeof RenditionFile>
const ChunkFile = File.extend({ index: count.min(1).max(1_000_000) })
export type ChunkFile = z.infer<typeof ChunkFile>

/** The row of the API, without what is told while a take is made, and without what is made of the file. */
export const ManifestRecording = z.object({
  durationSeconds: count,
  failureReason: text(0, 1000).optional(),
  folder: name,
  healthStatus: z.enum(HEALTHS),
  id: recordingId,
  name,
  nodeId: id.optional(),
  notes: prose(0, 4000).optional(),
  recordedAt: instant,
  recordingProfileId: id.optional(),
  retentionPolicyId: id.optional(),
  roomId: id.optional(),
  scheduleId: id.optional(),
  source: z.enum(['ad_hoc', 'schedule']),
  status: RecordingStatus,
  tags: z.array(text(1, 200)).max(200),
  transcriptSnippets: z.array(prose(1, 1000)).max(100).optional(),
  uploadPolicyIds: z.array(id).max(100),
  watchdogPolicyId: id.optional(),
})
export type ManifestRecording = z.infer<typeof ManifestRecording>

/** What lies beside a take, so that it can be found again without a database (docs/contract/recordings.md: Manifests). */
export const TakeManifest = z.object({
  /** How the take was made. */
  capture: z
    .object({
      channelMode: ChannelMode.optional(),
      channelNames: z.array(text(0, 200)).max(512).optional(),
      channels: z.array(count).max(512).optional(),
      interfaceId: id.optional(),
      interfaceName: text(0, 200).optional(),
    })
    .optional(),
  chunks: z
    .object({
      /** What was joined of them kept every sample. */
      exact: z.boolean(),
      files: z.array(ChunkFile).max(MAX_MANIFEST_CHUNKS),
      jobId: id,
      total: count.min(1).max(1_000_000).optional(),
    })
    .optional(),
  /** The file that it lies beside. */
  file: z.object({ checksum: z.string(), index: count.optional(), rendition: z.enum(['primary', ...RENDITIONS]) }),
  node: z.object({ alias: name, id, room: text(0, 1000), site: text(0, 1000) }).optional(),
  recording: ManifestRecording,
  renditions: z.array(RenditionFile).max(3),
  room: z.object({ building: name.optional(), floor: name.optional(), id, name, site: text(0, 1000) }).optional(),
  schedule: z.object({ id, name }).optional(),
  version: z.literal(1),
  writtenAt: instant,
})
export type TakeManifest = z.infer<typeof TakeManifest>
