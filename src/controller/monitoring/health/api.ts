import type { CaptureEvents } from './capture.store.ts'
import type { HealthEvents } from './events.store.ts'
import type { HealthStore } from './health.store.ts'

/** What other modules may call: every health event is opened, moved and judged through it. */
export interface HealthApi {
  captureEvents: CaptureEvents
  events: HealthEvents
  health: HealthStore
}
