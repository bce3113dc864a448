import { iso } from '../../../kernel/clock.ts'
import type { RecorderCachePolicy } from '../../../wire/nodes.ts'
import type { RetentionPolicy } from '../../../wire/retention.ts'

export const RETENTION_DEFAULTS = {
  action: 'keep',
  deleteOnlyAfterUploaded: true,
  enabled: true,
  maxAgeDays: null,
  maxBytes: null,
  minFreeDiskPercent: null,
  preserveTagged: true,
  scope: 'controller_cache',
} as const satisfies Partial<RetentionPolicy>

const DAY_MS = 24 * 3600 * 1000

type Limits = Pick<RetentionPolicy, 'id' | 'maxAgeDays' | 'maxBytes' | 'minFreeDiskPercent'>

/** A retention policy of the recorder's cache as agents read it (docs/contract/agent.md: Configuration). */
export function recorderCache({ id, maxAgeDays, maxBytes, minFreeDiskPercent }: Limits): RecorderCachePolicy {
  const deleteAfterUpload = maxAgeDays === null && maxBytes === null && minFreeDiskPercent === null
  return { deleteAfterUpload, maxAgeDays, maxBytes, minFreeDiskPercent, policyId: id }
}

/** A stored take that may be deleted, with the bytes of its renditions and chunks. */
export interface Candidate {
  bytes: number
  id: string
  recordedAt: string
}

export type Reason = 'max_age' | 'max_bytes' | 'min_free_disk'

/** Takes recorded at or before this are too old; undefined when age does not count. */
export const ageLimit = ({ maxAgeDays }: Limits, now: string): string | undefined =>
  maxAgeDays === null ? undefined : iso(Date.parse(now) - maxAgeDays * DAY_MS)

/** Bytes to free until enough of the disk is free; 0 when it is, or when the policy does not ask for it. */
export function bytesToFree({ minFreeDiskPercent }: Limits, disk: { free: number; total: number }): number {
  if (minFreeDiskPercent === null) return 0
  return Math.max(0, Math.ceil((disk.total * minFreeDiskPercent) / 100) - disk.free)
}

/** Whether a policy needs all its takes, not only the oldest. */
export const needsAllTakes = (policy: Limits): boolean => policy.maxBytes !== null

/**
 * Which takes are deleted, and why (docs/contract/recordings.md: Retention): those that are too old, then the oldest until the
 * rest is no larger than allowed, then the oldest until enough disk is free. `total` is the size of all candidates, bytes.
 */
export function selectForDeletion(
  policy: Limits,
  oldest: readonly Candidate[],
  { now, shortfall, total }: { now: string; shortfall: number; total: number },
): { candidate: Candidate; reason: Reason }[] {
  const limit = ageLimit(policy, now)
  const out: { candidate: Candidate; reason: Reason }[] = []
  let freed = 0
  for (const candidate of oldest) {
    const reason = reasonFor(policy, candidate, limit, total - freed, shortfall - freed)
    if (!reason) break
    out.push({ candidate, reason })
    freed += candidate.bytes
  }
  return out
}

function reasonFor(
  { maxBytes }: Limits,
  { recordedAt }: Candidate,
  limit: string | undefined,
  weight: number,
  shortfall: number,
): Reason | undefined {
  if (limit !== undefined && recordedAt <= limit) return 'max_age'
  if (maxBytes !== null && weight > maxBytes) return 'max_bytes'
  return shortfall > 0 ? 'min_free_disk' : undefined
}
