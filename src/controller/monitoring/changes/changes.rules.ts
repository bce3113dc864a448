// What of a commit is told to people who watch, and under which permission (docs/contract/api.md: Change stream).
import type { Change, ChangeKind } from '../../../wire/changes.ts'
import type { Permission } from '../../../wire/permissions.ts'
import type { EventMap } from '../../events.ts'
import type { Target } from '../../http/route.ts'

/** The permission that reading each kind takes. */
export const PERMISSION_OF: Record<ChangeKind, Permission> = {
  health: 'health:read',
  job: 'recording:read',
  node: 'node:read',
  recording: 'recording:read',
  room: 'node:read',
  schedule: 'schedule:read',
  settings: 'settings:read',
  upload: 'recording:read',
  user: 'auth:manage',
}

const KIND_OF: Record<string, ChangeKind> = {
  auth: 'user',
  channel: 'node',
  display_link: 'user',
  group: 'user',
  interface: 'node',
  node: 'node',
  recording: 'recording',
  recording_job: 'job',
  room: 'room',
  schedule: 'schedule',
  session: 'user',
  upload_runner: 'upload',
  user: 'user',
}

/** Settings by the path of their family. */
const FAMILY_OF: Record<string, string> = {
  notification: 'notifications',
  notification_channel: 'notification-channels',
  notification_rule: 'notification-rules',
  channel_map_assignment: 'channel-map-assignments',
  channel_map_assignment_plan: 'channel-map-assignment-plans',
  channel_map_template: 'channel-map-templates',
  controller_settings: 'controller',
  recording_profile: 'recording-profiles',
  retention_policy: 'retention-policies',
  switcher: 'switchers',
  upload_destination: 'upload-destinations',
  upload_policy: 'upload-policies',
  watchdog_policy: 'watchdog-policies',
}

/** Something that changed, before anybody's scope is considered. */
export interface Changed {
  kind: ChangeKind
  op: Change['op']
  target: Target
}

/** The permission to be told of it: switchers have one of their own among the settings. */
export const permissionOf = ({ kind, target }: Pick<Changed, 'kind' | 'target'>): Permission =>
  target.type === 'switcher' ? 'switcher:read' : PERMISSION_OF[kind]

/** Its id as people are told it. */
export function shownId({ kind, target: { id, type } }: Pick<Changed, 'kind' | 'target'>): string | undefined {
  return kind === 'settings' && id !== undefined ? `${FAMILY_OF[type]}/${id}` : id
}

/**
 * What an audited deed changed; nothing for what nobody watches. Uploads are rows about their recording. Health events tell of
 * themselves: most are opened by what is audited under another target.
 */
export function changedBy({ action, correlation, id, op, type }: EventMap['resource.changed']): Changed[] {
  const kind = action.startsWith('recordings.upload_') ? 'upload' : FAMILY_OF[type] ? 'settings' : KIND_OF[type]
  if (!kind) return []
  const own: Changed = { kind, op, target: id === undefined ? { type } : { type, id } }
  const recordingId = type === 'recording' ? id : correlation?.recordingId
  if (kind === 'recording' || recordingId === undefined) return [own]
  return [own, { kind: 'recording', op: 'updated', target: { type: 'recording', id: recordingId } }]
}
