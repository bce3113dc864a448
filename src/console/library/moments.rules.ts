import type { HealthEvent } from '../../wire/health.ts'
import type { Recording } from '../../wire/recordings.ts'

interface TakeMoment {
  /** The kind of an alert; absent: a gap. */
  alert?: string
  atSeconds: number
  seconds: number
}

/** Gaps and the alerts that began while the take ran, in the order of its time. */
export const momentsOf = (
  { durationSeconds, recordedAt }: Pick<Recording, 'durationSeconds' | 'recordedAt'>,
  gaps: readonly { atSeconds: number; seconds: number }[],
  alerts: readonly Pick<HealthEvent, 'openedAt' | 'type'>[],
): TakeMoment[] =>
  [
    ...gaps,
    ...alerts.map(({ openedAt, type }) => ({
      alert: type,
      atSeconds: (Date.parse(openedAt) - Date.parse(recordedAt)) / 1000,
      seconds: 0,
    })),
  ]
    .filter(({ atSeconds }) => atSeconds >= 0 && atSeconds <= durationSeconds)
    .sort((a, b) => a.atSeconds - b.atSeconds)
