import type { CaptureEvents } from './capture.store.ts'
import type { HealthEvents } from './events.store.ts'
import type { HealthStore } from './health.store.ts'

/** What other modules may call: events of health, opened, moved and judged in one place. */
export interface HealthApi {
  captureEvents: CaptureEvents
  events: HealthEvents
  health: HealthStore
}
