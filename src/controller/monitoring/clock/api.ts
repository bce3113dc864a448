import type { Mover } from './watch.ts'

export interface ClockApi {
  /** What else is moved along when the wall clock jumps. */
  include(mover: Mover): void
  /** Whether what is too old by the wall clock may be deleted. */
  trusted(): boolean
}
