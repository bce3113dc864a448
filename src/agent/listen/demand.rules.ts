import type { NodeConfig } from '../../wire/nodes.ts'

/** What the controller wants to hear. */
export interface Demand {
  /** The denoised rendition beside the raw one. */
  enhanced: boolean
  /** Length of a piece, ms. */
  pieceMs: number
  /** `samples`: one piece per heartbeat, in case anybody listens. */
  raw: 'off' | 'samples' | 'continuous'
}

/** Short, because a listener waits for a full piece; not too short, because each costs a request. Multiples of 10 ms. */
const PIECE_MS = 250
/** Listeners poll controllers that keep only the newest piece about once a second. */
const KEPT_ALONE_MS = 1000

export const NOBODY: Demand = { enhanced: false, pieceMs: PIECE_MS, raw: 'off' }

/** A controller without the live audio setting still asks for enhanced audio: then somebody listens. */
export function demandOf({ liveListen, monitorEnhancement }: NodeConfig): Demand {
  const enhanced = monitorEnhancement.requested
  if (!liveListen) return { enhanced, pieceMs: KEPT_ALONE_MS, raw: enhanced ? 'continuous' : 'samples' }
  return liveListen.requested ? { enhanced, pieceMs: PIECE_MS, raw: 'continuous' } : NOBODY
}
