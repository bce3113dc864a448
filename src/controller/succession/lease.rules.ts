// Whose turn it is to be the controller.
import type { Box, Lease } from '../../wire/lease.ts'

/**
 * What a box makes of the lease: nobody has it, it is its own, another box asks for it, it was prepared for another box, or
 * it is another box's.
 */
type Verdict = 'asked' | 'free' | 'mine' | 'others' | 'prepared'

export function judge(lease: Lease | undefined, self: Pick<Box, 'id'>): Verdict {
  if (!lease) return 'free'
  if (lease.holder.id !== self.id) return 'others'
  if (!lease.handover) return 'mine'
  return lease.handover.state === 'asked' ? 'asked' : 'prepared'
}

/** How often a lease is renewed within its time. */
export const RENEWALS = 3
/** A holder stops this much before another may begin: clocks of two machines do not run alike to the millisecond. */
const MARGIN = 0.1

/** Spans of a lease that lasts so many ms. */
export const spansOf = (ttlMs: number) => ({
  /** One request to the store may take so long. */
  askMs: ttlMs / (2 * RENEWALS),
  renewMs: ttlMs / RENEWALS,
  /** Counted from the moment a renewal was begun: the holder serves no longer than this. */
  serveMs: ttlMs * (1 - MARGIN),
  /** Counted from the moment the lease was last seen to change: another box takes it no earlier. */
  waitMs: ttlMs,
})

/** The lease for a new holder. */
export const taken = (lease: Lease | undefined, holder: Box, automatic: boolean, now: string): Lease => ({
  automatic,
  holder,
  renewedAt: now,
  term: (lease?.term ?? 0) + 1,
  version: 1,
})

/** The same lease, renewed by its holder, whose name, address and settings may have changed. */
export const renewed = ({ handover, term }: Lease, holder: Box, automatic: boolean, now: string): Lease => ({
  automatic,
  ...(handover ? { handover } : {}),
  holder,
  renewedAt: now,
  term,
  version: 1,
})
