import type { Live } from '../fleet/switchers/switchers.rules.ts'
import type { ScheduleStore } from './schedules.store.ts'

/** What other modules may ask of schedules. */
export interface SchedulesApi {
  /** Who has which room right now. */
  live: (now: string) => Live[]
  schedules: ScheduleStore
}
