import type { Settle } from './alarms.ts'
import type { WatchdogPolicyStore } from './policies.store.ts'

/** What other modules may call. */
export interface WatchdogApi {
  policies: Pick<WatchdogPolicyStore, 'list'>
  settle: Settle
}
