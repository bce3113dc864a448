import type { Schedule } from '../../wire/schedules.ts'
import type { Weekday } from '../../wire/settings.ts'

/** What stands in no field of its own; only what was changed by hand is set. */
export type Chosen = Partial<Pick<Schedule, 'assignedGroupIds' | 'assignedUserIds' | 'uploadPolicyIds'>>

const CARRIED = [
  ...([
    'assignedGroupIds',
    'assignedUserIds',
    'captureBackend',
    'captureChannelSelection',
    'captureInterfaceId',
  ] as const),
  ...(['channelMode', 'nodeId', 'recordingProfileId', 'retentionPolicyId', 'uploadPolicyIds'] as const),
  'watchdogPolicyId',
] as const

interface Drafted {
  /** Ticks of channels by their number; absent where no device was shown. */
  channel?: Record<string, boolean> | undefined
  chosen: Chosen
  /** The other fields, as they were entered. */
  fields: Record<string, unknown>
  /** What the fields showed at first. */
  model: Schedule | undefined
}

/** The body of a schedule but for its recurrence. A duplicate has all of its model, also what the form did not show. */
export function scheduleBody({ channel = {}, chosen, fields, model }: Drafted, changes: boolean): object {
  const ticked = Object.keys(channel)
    .filter((index) => channel[index])
    .map(Number)
  const held = model && !changes ? Object.fromEntries(CARRIED.map((name) => [name, model[name]])) : {}
  return {
    ...held,
    ...fields,
    ...chosen,
    ...(ticked.length > 0 ? { captureChannelSelection: ticked } : {}),
    // Whoever saw the device saw its channels: none of them ticked are all. The others stay.
    ...(ticked.length === 0 && model && 'captureInterfaceId' in fields ? { captureChannelSelection: null } : {}),
  }
}

/** Days in the order of the week that begins so. */
export function weekFrom<T>(days: readonly (readonly [day: string, T])[], startsOn: Weekday): (readonly [string, T])[] {
  const first = days.findIndex(([day]) => day === startsOn)
  return [...days.slice(first), ...days.slice(0, first)]
}
