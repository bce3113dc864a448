// Which of the recorder's own copies go, and why (docs/contract/agent.md: The disk).
import * as z from 'zod'
import { RecorderCachePolicy } from '../../wire/nodes.ts'
import type { TakeState } from './state.ts'

/** A copy of a take that the controller has. */
export const CacheEntry = z.object({
  bytes: z.number().min(0),
  /** Kept until the controller says that it may go (docs/contract/agent.md: Custody). */
  held: z.literal(true).optional(),
  jobId: z.string().min(1),
  outputPath: z.string(),
  /** The policy the job came with; absent: it was kept because the agent's settings say so. */
  policy: RecorderCachePolicy.optional(),
  rawOutputPath: z.string().optional(),
  /** Unix ms of the claim. */
  recordedAt: z.number(),
  recordingId: z.string(),
})
export type CacheEntry = z.infer<typeof CacheEntry>

type SweepReason = 'delete_after_upload' | 'disk_space' | 'max_age' | 'max_bytes' | 'min_free_disk'

export interface Due {
  entry: CacheEntry
  policyId?: string
  reason: SweepReason
}

/** Whether a delivered take stays until the controller lets it go. One without a known end cannot be delivered twice. */
export const inCustody = ({ chunkTotal, job, partSeconds }: Readonly<TakeState>): boolean =>
  job.command.custody !== undefined && (partSeconds === undefined || chunkTotal !== undefined)

/** In which order copies make way for a take: those that nobody waits for first. */
export const firstToGo = (entries: CacheEntry[]): CacheEntry[] => {
  const [held, others] = [entries.filter((e) => e.held), entries.filter((e) => !e.held)]
  return [...oldestFirst(others), ...oldestFirst(held)]
}

const DAY_MS = 86_400_000

export const oldestFirst = (entries: CacheEntry[]): CacheEntry[] =>
  [...entries].sort((a, b) => a.recordedAt - b.recordedAt || a.jobId.localeCompare(b.jobId))

/** The policies that count: as the controller has them now, else as the jobs brought them. */
export function policiesOf(entries: CacheEntry[], configured: RecorderCachePolicy[]): RecorderCachePolicy[] {
  const brought = entries.flatMap((e) => e.policy ?? [])
  return [...new Map([...brought, ...configured].map((policy) => [policy.policyId, policy])).values()]
}

/** Copies a policy speaks of, oldest first; none that are held; those without a policy of their own follow every configured one. */
export const underPolicy = (
  entries: CacheEntry[],
  { policyId }: RecorderCachePolicy,
  configured: RecorderCachePolicy[],
): CacheEntry[] => {
  const forAll = configured.some((policy) => policy.policyId === policyId)
  return oldestFirst(entries.filter(({ held, policy }) => !held && (policy ? policy.policyId === policyId : forAll)))
}

/** What one policy lets go by age, then by size; `mine` from the oldest. `now`: Unix ms; undefined: the age does not count. */
export function dueBy(policy: RecorderCachePolicy, mine: CacheEntry[], now: number | undefined): Due[] {
  const { deleteAfterUpload, maxAgeDays, maxBytes, policyId } = policy
  // "Delete at once" speaks of its own takes only: what the settings keep, they keep.
  const entries = deleteAfterUpload ? mine.filter((e) => e.policy) : mine
  let total = entries.reduce((sum, { bytes }) => sum + bytes, 0)
  return entries.flatMap((entry) => {
    const old = maxAgeDays !== null && now !== undefined && now - entry.recordedAt >= maxAgeDays * DAY_MS
    const much = maxBytes !== null && total > maxBytes
    const reason = deleteAfterUpload ? 'delete_after_upload' : old ? 'max_age' : much ? 'max_bytes' : undefined
    if (!reason) return []
    total -= entry.bytes
    return [{ entry, policyId, reason } satisfies Due]
  })
}
