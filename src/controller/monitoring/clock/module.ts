import type { Base, Module } from '../../module.ts'
import type { SteadyClock } from '../../scheduler/steady.ts'
import type { ClockApi } from './api.ts'
import { jumpStore } from './jumps.store.ts'
import { ClockWatch } from './watch.ts'

/** Watches the wall clock; controller.ts starts `watch`. */
export function createClockWatch(base: Base & { clock: SteadyClock }): Module<ClockApi> & { watch: ClockWatch } {
  const { audit, clock, config, db, log } = base
  const jumps = jumpStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS)
  const watch = new ClockWatch({ audit, clock, db, jumps, log })
  return {
    api: { doubted: watch.doubted, include: (mover) => watch.include(mover), trusted: watch.trusted },
    start: () => watch.begin(),
    stop: () => watch.stop(),
    watch,
  }
}
