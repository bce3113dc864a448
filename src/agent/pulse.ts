// Tells the service manager whether the agent makes progress.
import type { Clock } from '../kernel/clock.ts'
import type { Activity } from './jobs/runner.ts'

interface Pulse {
  /** False if takes are being captured and none has grown for `patienceMs`, longer than any outage a capture rides out. */
  alive(): boolean
  /** One line for operators. */
  status(): string
}

export function createPulse(activity: () => Activity, clock: Clock, patienceMs: number): Pulse {
  let known = ''
  let movedAt = clock.monotonic()
  return {
    alive: () => {
      const { capturing } = activity()
      const now = capturing.map(({ frames, recordingId }) => `${recordingId}:${frames}`).join()
      if (now !== known || capturing.length === 0) movedAt = clock.monotonic()
      known = now
      return clock.monotonic() - movedAt < patienceMs
    },
    status: () => {
      const { capturing, delivering } = activity()
      const ids = capturing.map(({ recordingId }) => recordingId).join(', ')
      const recording = capturing.length > 0 ? `recording ${ids}` : 'ready'
      return delivering > 0 ? `${recording}; delivering ${delivering}` : recording
    },
  }
}
