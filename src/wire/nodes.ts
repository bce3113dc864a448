import * as z from 'zod'
import { Kept } from './custody.ts'
import { ReleaseTag } from './lifecycle.ts'
import { ControllerAddress } from './provision.ts'
import { INTERFACE_BACKENDS, Runtime } from './runtime.ts'
import { clientId, instant, offsetInstant, Page, prose, query, someField, text, toldText } from './scalars.ts'
import type { PlannedPreflight } from './soundreadings.ts'
import { HostKeys, publicKeyLine } from './sshkeys.ts'

const NODE_STATUSES = ['provisioning', 'online', 'offline', 'degraded', 'recording', 'alerting', 'retired'] as const
export type NodeStatus = (typeof NODE_STATUSES)[number]

export const CAPTURE_BACKENDS = ['alsa', 'jack', 'pipewire'] as const
export const CaptureBackend = z.enum(CAPTURE_BACKENDS)
export type CaptureBackend = z.infer<typeof CaptureBackend>

const numeric = (schema: z.ZodNumber) =>
  z.preprocess((v) => (typeof v === 'string' && v.trim() !== '' ? Number(v) : v), schema)

const interfaceOf = (line: typeof text) =>
  z.object({
    alias: line(1, 160),
    backend: z.enum(INTERFACE_BACKENDS).default('unknown'),
    channelCount: numeric(z.number().int().min(0).max(256)),
    channels: z
      .array(z.object({ alias: line(1, 160), index: z.number().int().min(1).max(256) }))
      .max(256)
      .default([]),
    hardwarePath: line(1, 500).optional(),
    sampleRates: z.array(z.number().int().positive()).max(16).default([]),
    serialNumber: line(1, 255).optional(),
    systemName: line(1, 255),
    systemRef: line(1, 255).optional(),
  })
/** An interface as a person enters it. */
export const InterfaceInput = interfaceOf(text)
/** An interface as its recorder finds it. */
const FoundInterface = interfaceOf(toldText)
export type InterfaceInput = z.infer<typeof InterfaceInput>

/** An interface of an enrollment: what its recorder will report may be left out. */
const Placeholder = InterfaceInput.partial({ channelCount: true, systemName: true }).transform(
  ({ channelCount, channels, systemName, ...rest }): InterfaceInput => ({
    ...rest,
    // 0: not known yet.
    channelCount: channelCount ?? Math.max(0, ...channels.map(({ index }) => index)),
    channels,
    systemName: systemName ?? rest.systemRef ?? rest.alias,
  }),
)

export const AudioDefaults = z.strictObject({
  captureArgsTemplate: text(1, 1000).optional(),
  captureBackend: CaptureBackend.optional(),
  captureChannels: z.number().int().min(1).max(256).optional(),
  captureCommand: text(1, 255).optional(),
  captureDevice: text(1, 255).optional(),
  captureFormat: text(1, 80).optional(),
  captureSampleRate: z.number().int().min(1).max(384_000).optional(),
  meterArgsTemplate: text(1, 1000).optional(),
})
export type AudioDefaults = z.infer<typeof AudioDefaults>

const Capacity = z.strictObject({ maxConcurrentRecordings: z.number().int().min(1).max(128) })
const Tags = z.array(text(1, 48)).max(32)
const Addresses = z.array(text(1, 120)).max(16)
const Place = { site: text(1, 160), room: text(1, 160) }

export const Enrollment = z.strictObject({
  agentVersion: text(1, 80).default('unknown'),
  alias: text(1, 160),
  audioDefaults: AudioDefaults.optional(),
  hostname: text(1, 255),
  interfaces: z.array(Placeholder).max(32).default([]),
  ipAddresses: Addresses.default([]),
  location: z.strictObject({ ...Place, building: text(1, 120).optional(), floor: text(1, 80).optional() }),
  notes: prose(0, 2000).optional(),
  recordingCapacity: Capacity.optional(),
  runtime: Runtime.optional(),
  tags: Tags.default([]),
})
export type Enrollment = z.infer<typeof Enrollment>

export const NodePatch = z
  .strictObject({
    alias: text(1, 160).optional(),
    audioDefaults: AudioDefaults.optional(),
    hostname: text(1, 255).optional(),
    ipAddresses: Addresses.optional(),
    location: z
      .strictObject({ ...Place, building: text(1, 120).nullable(), floor: text(1, 80).nullable() })
      .partial()
      .optional(),
    notes: prose(0, 2000).nullable().optional(),
    recordingCapacity: Capacity.optional(),
    // The node's default room: null clears it.
    roomId: text(1, 160).nullable().optional(),
    tags: Tags.optional(),
  })
  .refine(someField, 'At least one node field is required')
export type NodePatch = z.infer<typeof NodePatch>

export const InterfacePatch = z
  .strictObject({
    alias: text(1, 160).optional(),
    channels: z
      .array(z.strictObject({ alias: text(1, 160), index: z.number().int().min(1).max(256) }))
      .max(256)
      .optional(),
    hardwarePath: text(1, 500).nullable().optional(),
    sampleRates: z.array(z.number().int().positive()).max(16).optional(),
    serialNumber: text(1, 255).nullable().optional(),
    systemName: text(1, 255).optional(),
    systemRef: text(1, 255).optional(),
  })
  .refine(someField, 'At least one interface field is required')
export type InterfacePatch = z.infer<typeof InterfacePatch>

/** Channels to rooms; null takes them out. What is not named keeps its room. */
export const ChannelRooms = z.strictObject({
  assignments: z
    .array(
      z.strictObject({
        channelIndexes: z.array(z.number().int().min(1).max(512)).min(1).max(512),
        interfaceId: text(1, 160),
        roomId: text(1, 160).nullable(),
      }),
    )
    .min(1)
    .max(256),
})

export type ChannelRooms = z.infer<typeof ChannelRooms>

export const NodeFilters = z.strictObject({
  ...Page.shape,
  agentVersion: query(text(1, 80)),
  backend: query(z.enum(INTERFACE_BACKENDS)),
  building: query(text(1, 160)),
  floor: query(text(1, 160)),
  lastSeenFrom: query(offsetInstant),
  lastSeenTo: query(offsetInstant),
  q: query(text(1, 200)),
  /** Retired nodes only; otherwise they are left out. */
  retired: query(z.enum(['0', '1'])),
  room: query(text(1, 160)),
  site: query(text(1, 160)),
  status: query(z.enum(NODE_STATUSES)),
})
export type NodeFilters = z.infer<typeof NodeFilters>

/** A release list of the release host, as far as we read it; everything else about a release is ignored. */
const asset = z.object({
  browser_download_url: z.url({ protocol: /^https?$/ }).max(2000),
  name: z.string().min(1).max(200),
  /** Its address in the API: where a token is asked for. */
  url: z
    .url({ protocol: /^https?$/ })
    .max(2000)
    .optional()
    .catch(undefined),
})
export type ReleaseAsset = z.infer<typeof asset>
export const ReleaseList = z.array(
  z.object({
    assets: z.array(asset).max(100).catch([]),
    draft: z.boolean().catch(false),
    html_url: z
      .url({ protocol: /^https?$/ })
      .max(2000)
      .optional()
      .catch(undefined),
    prerelease: z.boolean().catch(false),
    published_at: instant.optional().catch(undefined),
    tag_name: z.string().max(200).catch(''),
  }),
)
export type ReleaseList = z.infer<typeof ReleaseList>
/** The list in a body that may be anything; undefined when it is none. */
export const releaseListOf = (body: unknown): ReleaseList | undefined => ReleaseList.safeParse(body).data

export interface AgentRelease {
  /** Architectures whose archive this controller gives to its nodes itself; absent when it has none of this release. */
  hosted?: string[]
  publishedAt?: string
  tag: string
  url?: string
  version: string
}

/** What `GET /nodes/agent-release` answers. */
export interface AgentReleaseCheck {
  /** Last time the release host gave a usable answer. */
  checkedAt?: string
  data: AgentRelease | null
  /** Why the newest check failed, or why there is none. */
  reason?: string
  /** The newest check failed or is overdue: `data` is what was known before. */
  stale?: true
}

export const NodeExport = z.strictObject({ nodeIds: z.array(text(1, 160)).min(1).max(200) })

export const BootstrapTokenRequest = z.object({
  ttlSeconds: numeric(z.number().int().min(1).max(86_400)).default(900),
  /** For the install line: where the controller's authority lies on the new box, and what to install (omitted: the latest). */
  controllerCaPath: text(1, 4096).optional(),
  /** Where the new box reaches the controller, when it is another address than that of the request or `SVC_PUBLIC_URL`. */
  controllerUrl: ControllerAddress.optional(),
  version: ReleaseTag.optional(),
})

export const SshRotation = z.object({
  // Any other type is ignored, as the contract has it; the text must be a Unix user name.
  username: z.preprocess(
    (v) => (typeof v === 'string' ? v : undefined),
    z
      .string()
      .trim()
      .regex(/^[a-z_][a-z0-9_-]{0,31}$/, 'expected a Unix user name')
      .optional(),
  ),
})

export const Bootstrap = z.object({
  /** Public keys of the node's SSH server: what a lifecycle runner holds the node to. */
  hostKeys: HostKeys.default([]),
  interfaces: z.array(FoundInterface).max(64).default([]),
  /** Kept verbatim: OpenSSH refuses a key whose last line lost its newline. */
  privateKey: z.string().min(1).max(20_000),
  publicKey: publicKeyLine,
  username: text(1, 64).optional(),
})
export type Bootstrap = z.infer<typeof Bootstrap>

export const Heartbeat = z.object({
  agentVersion: toldText(1, 80),
  hostname: toldText(1, 255),
  ipAddresses: z.preprocess((v) => (Array.isArray(v) ? v.slice(0, 16) : v), Addresses.default([])),
  /** Recordings whose takes it keeps: the answer says what becomes of them. */
  kept: Kept,
  runtime: Runtime.optional(),
  status: z.enum(NODE_STATUSES).default('online'),
})
export type Heartbeat = z.infer<typeof Heartbeat>

export const Inventory = z.object({ interfaces: z.array(FoundInterface).max(64).default([]) })

export const AgentHealthEvent = z.strictObject({
  details: z.record(z.string(), z.unknown()).default({}),
  /** The agent's own id: a repeat with the same id is the same event (docs/contract/agent.md: Health events). */
  id: text(1, 160).optional(),
  openedAt: instant.optional(),
  recordingId: clientId.optional(),
  scheduleId: clientId.optional(),
  severity: z.enum(['info', 'warning', 'critical']),
  type: text(1, 160).refine(
    (t) => !/^(controller|foresight|schedule|switcher|watchdog)\./i.test(t),
    'reserved for the controller',
  ),
})
export type AgentHealthEvent = z.infer<typeof AgentHealthEvent>

export interface Channel {
  alias: string
  index: number
  roomId?: string
}

export interface Interface {
  absent?: true
  alias: string
  backend: (typeof INTERFACE_BACKENDS)[number]
  channelCount: number
  channels: Channel[]
  hardwarePath?: string
  id: string
  sampleRates: number[]
  serialNumber?: string
  systemName: string
  systemRef: string
}

/** What keeps a node from its work: a word for programs, and one for people. */
export interface NodeProblem {
  code: 'no_capture_device' | 'no_encoder'
  message: string
}

export interface Node {
  agentVersion: string
  alias: string
  audioDefaults?: AudioDefaults
  hostname: string
  id: string
  interfaces: Interface[]
  ipAddresses: string[]
  lastSeenAt: string
  location: { site: string; room: string; building?: string; floor?: string }
  notes?: string
  /** Absent when nothing is wrong. */
  problems?: NodeProblem[]
  recordingCapacity?: { maxConcurrentRecordings: number }
  roomId?: string
  runtime?: Runtime
  status: NodeStatus
  tags: string[]
}

/** Shown once, at the moment a node token is made. */
export interface NodeCredential {
  createdAt: string
  id: string
  nodeId: string
  token: string
  tokenPrefix: string
}

/** A key of a node's SSH server, as `ssh-keygen -l` shows it. */
export interface HostKey {
  fingerprint: string
  type: string
}

export interface SshCredential {
  createdAt: string
  fingerprint: string
  /** What the lifecycle runner holds the node to; absent when none are known. */
  hostKeys?: HostKey[]
  id: string
  nodeId: string
  publicKey: string
  rotatedAt?: string
  username: string
}

export interface ReconcileSummary {
  /** Placeholders of the enrollment that the hardware does not have; only when there were any. */
  removed?: string[]
  absent: string[]
  added: string[]
  reactivated: string[]
  unchanged: number
  updated: string[]
}

/** What a recorder may do with its own copy of a take. */
/** Read by the agent: a limit that is not said is none. */
const limit = z
  .number()
  .nullish()
  .transform((v) => v ?? null)

export const RecorderCachePolicy = z.object({
  /** Without any limit: delete as soon as the controller has the file (docs/contract/agent.md: Configuration). */
  deleteAfterUpload: z.boolean().default(false),
  maxAgeDays: limit,
  maxBytes: limit,
  minFreeDiskPercent: limit,
  policyId: z.string(),
})
export type RecorderCachePolicy = z.infer<typeof RecorderCachePolicy>

/** What `GET /nodes/:id/config` tells an agent. */
export interface NodeConfig {
  audioDefaults?: AudioDefaults
  doctor?: { requestId: string } | undefined // somebody waits for the doctor's report: wire/doctor.ts
  /** Whether anybody listens right now: then audio without gaps is wanted, otherwise none has to be sent. */
  liveListen?: { requested: boolean }
  /**
   * Whether anybody watches the meters right now: then so many quick frames a second are wanted beside the whole ones. While
   * nobody does, whole ones may wait for so many seconds and come together.
   */
  liveMeters?: { framesPerSecond: number; requested: boolean; togetherSeconds?: number }
  monitorEnhancement: { engine: 'deepfilternet3'; requested: boolean }
  /** Scheduled takes that begin soon, to be listened for beforehand; absent when there are none. */
  preflights?: PlannedPreflight[] | undefined
  recorderCachePolicies: RecorderCachePolicy[]
  recordingCapacity: { maxConcurrentRecordings: number }
}

/** Only the literal `1` mints; any other value does not. */
export const MaterialQuery = z.object({ mintToken: z.string().optional() })
