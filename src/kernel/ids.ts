import { randomUUID } from 'node:crypto'

type IdKind =
  | 'boot'
  | 'node'
  | 'rec'
  | 'job'
  | 'cap'
  | 'room'
  | 'sched'
  | 'switcher'
  | 'recording_profile'
  | 'retention_policy'
  | 'access_policy'
  | 'notification'
  | 'notification_channel'
  | 'notification_rule'
  | 'take'
  | 'watchdog_policy'
  | 'assignment'
  | 'assignment_event'
  | 'channel_map'
  | 'listen'
  | 'channel_map_plan'
  | 'node_lifecycle'
  | 'doctor'
  | 'ansible'
  | 'playback'
  | 'download'
  | 'upload'
  | 'upload_dest'
  | 'upload_policy'

/** Makes IDs; injected so that tests get predictable ones. */
export interface Ids {
  /** `<kind>_<uuid>`. */
  make(kind: IdKind): string
  /** Bare UUID: interfaces, users, sessions, credentials, audit and health events. */
  uuid(): string
}

export const randomIds: Ids = { make: (kind) => `${kind}_${randomUUID()}`, uuid: () => randomUUID() }
