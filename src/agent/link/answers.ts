// Parses the controller's answers, only what the agent needs.
import * as z from 'zod'
import { type Answer, jsonOf } from '../../kernel/http.ts'
import { CUSTODY } from '../../wire/custody.ts'
import { CaptureBackend, type NodeConfig, RecorderCachePolicy } from '../../wire/nodes.ts'
import { clientId, instant } from '../../wire/scalars.ts'
import type { PlannedPreflight } from '../../wire/soundreadings.ts'
import { LinkError } from './link.ts'

const blankIsAbsent = <T extends z.ZodType>(schema: T) =>
  z.preprocess((v) => (v === null || (typeof v === 'string' && v.trim() === '') ? undefined : v), schema.optional())

const Planned = z.object({
  command: z.object({
    captureBackend: blankIsAbsent(CaptureBackend),
    captureDevice: z.string().min(1),
    captureFormat: z.string().min(1),
    captureSampleRate: z.number().int().min(1),
    captureSystemRef: blankIsAbsent(z.string()),
    channels: z.array(z.number().int().min(1).max(512)).min(1).max(512),
  }),
  listenAt: instant,
  scheduleId: z.string().min(1),
  startsAt: instant,
}) satisfies z.ZodType<PlannedPreflight>

/** Config as the contract has it; members an older controller does not send take their defaults. */
export const ConfigAnswer: z.ZodType<NodeConfig> = z.object({
  audioDefaults: blankIsAbsent(
    z.object({
      captureArgsTemplate: blankIsAbsent(z.string()),
      captureBackend: blankIsAbsent(CaptureBackend),
      captureChannels: blankIsAbsent(z.number().int().min(1).max(256)),
      captureCommand: blankIsAbsent(z.string()),
      captureDevice: blankIsAbsent(z.string()),
      captureFormat: blankIsAbsent(z.string()),
      captureSampleRate: blankIsAbsent(z.number().int().min(1)),
      meterArgsTemplate: blankIsAbsent(z.string()),
    }),
  ),
  // Only while somebody waits for the report.
  doctor: blankIsAbsent(z.object({ requestId: z.string().min(1).max(160) })),
  // Absent with older controllers; the listening part then decides what to send.
  liveListen: z.object({ requested: z.boolean().catch(false) }).optional(),
  // Absent with older controllers, which know neither quick frames nor such that come together.
  liveMeters: z
    .object({
      framesPerSecond: z.number().min(1).max(10).catch(4),
      requested: z.boolean().catch(false),
      togetherSeconds: z.number().min(0).max(10).catch(0).default(0),
    })
    .optional(),
  monitorEnhancement: z
    .object({ engine: z.literal('deepfilternet3').catch('deepfilternet3'), requested: z.boolean().catch(false) })
    .default({ engine: 'deepfilternet3', requested: false }),
  // Absent with older controllers. One that cannot be read is not made, and costs nothing else.
  preflights: z.array(Planned).max(64).optional().catch(undefined),
  recorderCachePolicies: z.array(RecorderCachePolicy).default([]),
  recordingCapacity: z
    .object({ maxConcurrentRecordings: z.number().transform((n) => Math.max(1, Math.floor(n))) })
    .default({ maxConcurrentRecordings: 1 }),
})

/** What becomes of kept takes. One that cannot be read says nothing: they stay. */
export const KeptAnswer = z
  .object({ kept: z.record(z.string(), z.enum(CUSTODY)).optional().catch(undefined) })
  .catch({})

export const AssignmentsAnswer = z.array(z.record(z.string(), z.unknown()))

export const BootstrapAnswer = z.object({
  controllerToken: z.string().regex(/^[\x21-\x7e]{1,4096}$/),
  fingerprint: z.string().nullish(),
})

export const PairAnswer = z.object({ nodeId: clientId, token: z.string().regex(/^[\x21-\x7e]{1,4096}$/) })

/** The answer to an upload; the checksum, `sha256:<hex>`, is of the stored bytes. */
export const StoredAnswer = z.object({ file: z.object({ checksum: z.string() }) })

const ErrorBody = z.object({
  error: z.string().catch(''),
  message: z.string().optional().catch(undefined),
  reason: z.string().optional().catch(undefined),
})

/**
 * The error for an answer that is not 2xx. A redirect, or a refusal whose body is not ours, comes from something in
 * between (a portal, a proxy without a backend): it carries no status and counts as no answer at all.
 */
function refusal(what: string, answer: Answer): LinkError {
  const { status, text } = answer
  if (status < 400) return new LinkError(`${what}: the controller answered ${status}; redirects are not followed`)
  const body = ErrorBody.safeParse(jsonOf(text))
  const message = `controller refused ${what} with ${status}`
  if (body.success)
    return new LinkError(
      `${message}: ${(body.data.message ?? body.data.error).slice(0, 200)}`,
      status,
      body.data.reason,
      retryAfterOf(answer),
    )
  const ours = text === '' || status === 401 || status === 413 || status >= 500
  return ours
    ? new LinkError(message, status)
    : new LinkError(`${what}: ${status} from something that is not a controller`)
}

/** The longest Retry-After that is obeyed, ms. */
const LONGEST_WAIT_MS = 900_000

const retryAfterOf = ({ headers }: Answer): number =>
  Math.min(LONGEST_WAIT_MS, Math.max(0, (Number(headers['retry-after']) || 0) * 1000))

/** The `data` of a 2xx answer. Throws LinkError with the status of a refusal, without one for an unreadable answer. */
export function readData<T extends z.ZodType>(what: string, answer: Answer, schema: T): z.infer<T> {
  if (answer.status < 200 || answer.status > 299) throw refusal(what, answer)
  const envelope = z.object({ data: z.unknown() }).safeParse(jsonOf(answer.text))
  const parsed = envelope.success ? schema.safeParse(envelope.data.data) : undefined
  if (!parsed?.success) throw new LinkError(`${what}: the controller's answer cannot be read`)
  return parsed.data
}

/** For calls whose answer has no content: accepts any 2xx of a controller, but not of a portal. */
export function accepted(what: string, answer: Answer): void {
  if (answer.status !== 204) readData(what, answer, z.unknown())
}
