import type { NodeConfig } from '../../wire/nodes.ts'

/** What the controller wants to hear. */
export interface Demand {
  /** The denoised rendition beside the raw one. */
  enhanced: boolean
  /** Length of a piece, ms. */
  pieceMs: number
  /** `samples`: a piece for each heartbeat, for whoever may be listening. */
  raw: 'off' | 'samples' | 'continuous'
}

/** A listener waits for a piece to be full: short. Each costs a request: not too short. Multiples of 10 ms only. */
const PIECE_MS = 250
/** Controllers that keep the newest piece only are asked for it about once a second. */
const KEPT_ALONE_MS = 1000

export const NOBODY: Demand = { enhanced: false, pieceMs: PIECE_MS, raw: 'off' }

/** A controller that does not know of live audio still says when somebody wants it enhanced: then somebody listens. */
export function demandOf({ liveListen, monitorEnhancement }: NodeConfig): Demand {
  const enhanced = monitorEnhancement.requested
  if (!liveListen) return { enhanced, pieceMs: KEPT_ALONE_MS, raw: enhanced ? 'continuous' : 'samples' }
  return liveListen.requested ? { enhanced, pieceMs: PIECE_MS, raw: 'continuous' } : NOBODY
}
