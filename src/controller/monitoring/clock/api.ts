import type { Mover } from './watch.ts'

export interface ClockApi {
  /** Registers further stored times that are shifted when the wall clock jumps. */
  include(mover: Mover): void
  /** Whether age by the wall clock may be used to delete things. */
  trusted(): boolean
}
