import type { Live } from '../fleet/switchers/switchers.rules.ts'
import type { RiskStore } from './risks.store.ts'
import type { ScheduleStore } from './schedules.store.ts'
import type { TakeForesight } from './takes.ts'

/** What other modules may call of schedules. */
export interface SchedulesApi {
  foresee: TakeForesight
  /** Who is live in which room. */
  live: (now: string) => Live[]
  /** What stands between schedules and their next recordings. */
  readiness: RiskStore['readiness']
  schedules: ScheduleStore
}
