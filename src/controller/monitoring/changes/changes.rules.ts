// What of a commit is told to people who watch, and under which permission (docs/contract/api.md: Change stream).
import type { ChangeKind } from '../../../wire/changes.ts'
import type { Permission } from '../../../wire/permissions.ts'
import type { EventMap } from '../../events.ts'
import type { Target } from '../../http/route.ts'

/** The permission that reading each kind takes. */
export const PERMISSION_OF: Record<ChangeKind, Permission> = {
  access: 'auth:manage',
  alert: 'health:read',
  job: 'recording:read',
  node: 'node:read',
  recording: 'recording:read',
  room: 'node:read',
  schedule: 'schedule:read',
  settings: 'settings:read',
  switcher: 'switcher:read',
  upload: 'recording:read',
}

const KIND_OF: Record<string, ChangeKind> = {
  auth: 'access',
  channel: 'node',
  channel_map_assignment: 'settings',
  channel_map_assignment_plan: 'settings',
  channel_map_template: 'settings',
  controller_settings: 'settings',
  group: 'access',
  health_event: 'alert',
  interface: 'node',
  node: 'node',
  recording: 'recording',
  recording_job: 'job',
  recording_profile: 'settings',
  retention_policy: 'settings',
  room: 'room',
  schedule: 'schedule',
  switcher: 'switcher',
  upload_destination: 'settings',
  upload_policy: 'settings',
  upload_runner: 'upload',
  user: 'access',
  watchdog_policy: 'settings',
}

/** Something that changed, before anybody's scope is considered. */
export interface Changed {
  kind: ChangeKind
  target: Target
}

/** What an audited deed changed; nothing for what nobody watches. Uploads are rows about their recording. */
export function changedBy({ action, correlation, id, type }: EventMap['resource.changed']): Changed[] {
  const kind = action.startsWith('recordings.upload_') ? 'upload' : KIND_OF[type]
  if (!kind) return []
  const own: Changed = { kind, target: id === undefined ? { type } : { type, id } }
  const recordingId = type === 'recording' ? id : correlation?.recordingId
  if (kind === 'recording' || recordingId === undefined) return [own]
  return [own, { kind: 'recording', target: { type: 'recording', id: recordingId } }]
}
