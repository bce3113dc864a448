import * as z from 'zod'
import { clientId, Page, prose, query, someField, text } from './scalars.ts'

const DESTINATION_KINDS = ['smb', 's3'] as const
export type DestinationKind = (typeof DESTINATION_KINDS)[number]
const S3_PRESETS = ['aws', 'cloudflare_r2', 'backblaze_b2', 'wasabi', 'digitalocean_spaces', 'minio', 'custom'] as const

const secret = z
  .string()
  .max(1024)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'control characters are not allowed')

const SmbOptions = z.object({
  domain: text(1, 255).optional(),
  path: text(1, 1024).optional(),
  port: z.number().int().min(1).max(65_535).optional(),
  server: text(1, 255)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]*$/, 'expected a host name or an address')
    .optional(),
  share: text(1, 255)
    .regex(/^[^/\\";]+$/, 'expected the bare name of a share')
    .optional(),
  username: text(1, 255).optional(),
})
export type SmbOptions = z.infer<typeof SmbOptions>

const S3Options = z.object({
  accessKeyId: text(1, 512).optional(),
  bucket: text(1, 255)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'expected the name of a bucket')
    .optional(),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'expected an http or https address' })
    .max(1024)
    .refine((address) => !/\/\/[^/]*@/.test(address), 'an endpoint holds no credentials')
    .optional(),
  forcePathStyle: z.boolean().optional(),
  prefix: text(1, 1024).optional(),
  preset: z.enum(S3_PRESETS).optional(),
  region: text(1, 255)
    .regex(/^[A-Za-z0-9-]+$/, 'expected the name of a region')
    .optional(),
})
export type S3Options = z.infer<typeof S3Options>

const destination = {
  displayName: text(1, 160),
  enabled: z.boolean(),
  /** Takes may be here alone: they are played from here when their bytes are no longer on the controller's disk. S3 only. */
  keepsLibrary: z.boolean(),
  /** Replaces the whole object. */
  s3: S3Options,
  /** Write-only: absent keeps, `""` deletes; asked for again with another endpoint. */
  s3SecretAccessKey: secret,
  smb: SmbOptions,
  smbPassword: secret,
}

export const DestinationInput = z
  .object({ ...destination, id: clientId, kind: z.enum(DESTINATION_KINDS) })
  .partial()
  .required({ displayName: true, kind: true })
export type DestinationInput = z.infer<typeof DestinationInput>

export const DestinationPatch = z
  .object(destination)
  .partial()
  .refine(someField, 'At least one upload destination field is required')
export type DestinationPatch = z.infer<typeof DestinationPatch>

export interface Destination {
  /** Enabled, and nothing missing. */
  configured: boolean
  displayName: string
  enabled: boolean
  hasS3SecretAccessKey: boolean
  hasSmbPassword: boolean
  id: string
  implemented: boolean
  /** Takes may be here alone, and are played from here. */
  keepsLibrary: boolean
  kind: DestinationKind
  missingFields: string[]
  reason?: string
  requiredFields: string[]
  s3?: S3Options
  smb?: SmbOptions
  status: 'disabled' | 'not_configured' | 'not_implemented' | 'ready'
  target?: string
  updatedAt: string
}

const UPLOAD_TRIGGERS = ['manual', 'on_recording_cached'] as const

const policy = {
  deleteCacheAfterUpload: z.boolean(),
  destinationId: text(1, 160),
  enabled: z.boolean(),
  maxAttempts: z.number().int().min(1).max(100),
  name: text(1, 160),
  pathOverride: text(0, 500),
  trigger: z.enum(UPLOAD_TRIGGERS),
}

export const UploadPolicyInput = z
  .object({ ...policy, id: clientId })
  .partial()
  .required({ name: true })
export type UploadPolicyInput = z.infer<typeof UploadPolicyInput>

/** An empty `pathOverride` removes it. */
export const UploadPolicyPatch = z
  .object(policy)
  .partial()
  .refine(someField, 'At least one upload policy field is required')
export type UploadPolicyPatch = z.infer<typeof UploadPolicyPatch>

export interface UploadPolicy {
  deleteCacheAfterUpload: boolean
  destinationId?: string
  enabled: boolean
  id: string
  maxAttempts: number
  name: string
  pathOverride?: string
  trigger: (typeof UPLOAD_TRIGGERS)[number]
  updatedAt: string
}

const UPLOAD_PROVIDERS = ['stub', 'smb', 's3'] as const
type UploadProvider = (typeof UPLOAD_PROVIDERS)[number]
const UPLOAD_STATUSES = ['queued', 'retrying', 'failed', 'succeeded', 'cancelled'] as const
export type UploadStatus = (typeof UPLOAD_STATUSES)[number]

export const UploadFilters = z.object({
  ...Page.shape,
  provider: query(z.enum(UPLOAD_PROVIDERS)),
  recordingId: query(text(1, 160)),
  status: query(z.enum(UPLOAD_STATUSES)),
})
export type UploadFilters = z.infer<typeof UploadFilters>

const enqueue = { reason: prose(1, 240).optional(), uploadPolicyId: text(1, 160).optional() }
export const Enqueue = z.strictObject(enqueue)
export type Enqueue = z.infer<typeof Enqueue>
export const BulkEnqueue = z.strictObject({
  ...enqueue,
  recordingIds: z.array(text(1, 160)).min(1).max(200),
})

/** One file on its way to one destination (docs/contract/uploads.md: Queue). */
export interface UploadItem {
  attemptCount: number
  cachePath?: string
  checksum?: string
  chunkId?: string
  chunkIndex?: number
  createdAt: string
  destinationId?: string
  fileName?: string
  id: string
  lastError?: string
  maxAttempts: number
  /** When it is due; while an attempt is under way, when its lease ends. */
  nextAttemptAt: string
  pathOverride?: string
  provider: UploadProvider
  recordingId: string
  status: UploadStatus
  target?: string
  updatedAt: string
  uploadPolicyId?: string
}

/**
 * How it is known that what arrived is what was sent: its bytes read back, or the checksum the destination reports of what it
 * holds. `provider_accepted`: it compared the checksum on arrival, and lets nobody look at what it holds.
 */
export interface ChecksumVerification {
  algorithm: 'sha256'
  /** `sha256:<hex>`. */
  expected: string
  method: 'file_copy_sha256' | 's3_checksum_sha256'
  observed?: string
  status: 'matched' | 'provider_accepted' | 'provider_validated'
}

export interface UploadRunItem {
  checksumVerification?: ChecksumVerification
  itemId: string
  provider: UploadProvider
  reason?: string
  recordingId: string
  status: UploadStatus
}

export interface UploadRunSummary {
  attempted: number
  /** Left `retrying`. */
  deferred: number
  failed: number
  items: UploadRunItem[]
  succeeded: number
}

export interface UploadRunnerStatus {
  batchSize: number
  intervalSeconds: number
  lastRunAt?: string
  lastSummary?: UploadRunSummary
  running: boolean
  started: boolean
}
