import type { PlannedPreflight, SoundReading } from '../../../wire/soundreadings.ts'

/** What the recorders' routes call: which takes to listen for, and what was heard. */
export interface PreflightApi {
  /** Takes of a node that begin soon and were not listened for yet. */
  planned(nodeId: string, now: string): PlannedPreflight[]
  /** Judges and keeps a reading of a node. Call in a transaction. @throws Fail 404 for an unknown schedule or recording */
  accept(nodeId: string, reading: SoundReading, now: string): Accepted
}

export interface Accepted {
  changed: boolean
  /** The event that it opened, changed or ended. */
  healthEventId?: string | undefined
  /** Why it was not kept: the same was told before, the take is over or was not a good one. */
  ignored?: 'known' | 'no_good_take' | 'stale' | undefined
}
