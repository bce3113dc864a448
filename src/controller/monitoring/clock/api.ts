import type { Doubted } from './trust.rules.ts'
import type { Mover } from './watch.ts'

export interface ClockApi {
  /** Stamps that say more age than there is. */
  doubted(): readonly Doubted[]
  /** Registers further stored times that are shifted when the wall clock jumps. */
  include(mover: Mover): void
  /** Whether age by the wall clock may be used to delete things. */
  trusted(): boolean
}
