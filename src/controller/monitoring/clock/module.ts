import type { Base, Module } from '../../module.ts'
import type { SteadyClock } from '../../scheduler/steady.ts'
import { jumpStore } from './jumps.store.ts'
import { ClockWatch, type Mover } from './watch.ts'

export interface ClockApi {
  /** What else is moved along when the wall clock jumps. */
  include(mover: Mover): void
  /** Whether what is too old by the wall clock may be deleted. */
  trusted(): boolean
}

/** Watches the wall clock; `watch` is for whoever runs the process. */
export function createClockWatch(base: Base & { clock: SteadyClock }): Module<ClockApi> & { watch: ClockWatch } {
  const { audit, clock, config, db, log } = base
  const jumps = jumpStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS)
  const watch = new ClockWatch({ audit, clock, db, jumps, log })
  return {
    api: { include: (mover) => watch.include(mover), trusted: watch.trusted },
    start: () => watch.begin(),
    stop: () => watch.stop(),
    watch,
  }
}
