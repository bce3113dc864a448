import type { Live } from '../fleet/switchers/switchers.rules.ts'
import type { ScheduleStore } from './schedules.store.ts'

/** What other modules may call of schedules. */
export interface SchedulesApi {
  /** Who is live in which room. */
  live: (now: string) => Live[]
  schedules: ScheduleStore
}
