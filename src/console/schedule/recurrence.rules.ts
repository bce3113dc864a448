import type { Recurrence } from '../../wire/schedules.ts'
import { instantOf } from '../time/format.rules.ts'
import type { Words } from '../words/en.ts'

/** What the form holds: all fields of all modes, as text and numbers. */
export interface RecurrenceFields {
  dayOfMonth?: number | null
  days?: Record<string, boolean>
  durationMinutes?: number | null
  endTime?: string
  interval?: number | null
  mode: Recurrence['mode']
  startEarlyMinutes?: number | null
  startTime?: string
  /** Wall time: `2026-03-02T10:00`. */
  startsAt?: string
  stopLateMinutes?: number | null
}

const seconds = (minutes: number | null | undefined): number | undefined =>
  minutes === null || minutes === undefined ? undefined : Math.round(minutes * 60)

const given = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

/** The body of a recurrence; exceptions that are there stay. `instant` turns a wall time into an instant. */
export function recurrenceOf(
  fields: RecurrenceFields,
  before: Recurrence | undefined,
  instant: (wall: string) => string,
): Record<string, unknown> {
  const { days = {}, endTime, interval, mode, startTime, startsAt } = fields
  const common = given({
    exceptions: before?.exceptions,
    startEarlySeconds: seconds(fields.startEarlyMinutes),
    stopLateSeconds: seconds(fields.stopLateMinutes),
  })
  const often = { endTime, ...given({ interval: interval ?? undefined }), startTime }
  switch (mode) {
    case 'once':
      return {
        mode,
        ...common,
        ...given({ durationSeconds: seconds(fields.durationMinutes) }),
        startsAt: startsAt ? instant(startsAt) : '',
      }
    case 'daily':
      return { mode, ...common, ...often }
    case 'weekly':
      return { mode, ...common, ...often, daysOfWeek: Object.keys(days).filter((day) => days[day]) }
    case 'monthly':
      return { mode, ...common, ...often, dayOfMonth: fields.dayOfMonth ?? undefined }
    default:
      return { mode, ...common }
  }
}

/** When a schedule records, as a plain sentence. `zone`: IANA. */
export const sentenceOf = (recurrence: Recurrence, zone: string, { locale, schedule }: Words): string =>
  schedule.sentence(recurrence, zone, (at) => instantOf(at, { locale, zone }))
