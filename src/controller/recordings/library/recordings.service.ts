import { conflict, Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { Node } from '../../../wire/nodes.ts'
import type { Profile } from '../../../wire/profiles.ts'
import type { Command, RecordingStart } from '../../../wire/recordings.ts'
import type { RetentionPolicy } from '../../../wire/retention.ts'
import { BUILT_IN } from '../../../wire/settings.ts'
import type { FleetApi } from '../../fleet/api.ts'
import { mustBeInUse } from '../../fleet/nodes/status.rules.ts'
import { placesOf } from '../../fleet/rooms/places.rules.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { inScope, type Scope, verdict } from '../../http/scope.ts'
import type { SettingsApi } from '../../settings/api.ts'
import type { ClaimStore } from '../jobs/claims.store.ts'
import type { JobService } from '../jobs/jobs.service.ts'
import type { ProfileStore } from '../profiles/profiles.store.ts'
import type { PolicyStore } from '../retention/policies.store.ts'
import { recorderCache } from '../retention/retention.rules.ts'
import { admit, redactForeign } from './conflicts.rules.ts'
import type { NewRecording, RecordingStore } from './recordings.store.ts'
import * as rules from './start.rules.ts'

interface StartParts {
  assignments: FleetApi['assignments']
  claims: ClaimStore
  defaults: rules.CaptureDefaults
  defaultInterfaceId: string | undefined
  jobService: Pick<JobService, 'changed'>
  ids: Ids
  nodes: FleetApi['nodes']
  policies: PolicyStore
  profiles: ProfileStore
  recordings: RecordingStore
  rooms: FleetApi['rooms']
  scope: Scope
  settings: SettingsApi
}

/** The only place where recordings start, for HTTP and for schedules. */
export function recordingService(parts: StartParts) {
  /** Conflicts must not reveal recordings that the caller may not see. */
  const redacted = (principal: UserPrincipal, step: () => rules.Started): rules.Started =>
    redactForeign((id) => parts.scope.decide(principal, 'recording:read', { type: 'recording', id }).allowed, step)

  return {
    /**
     * What a take would capture, and whether it could be made as far as that is known in advance: device, channels, codec, rate.
     * @throws Fail like a start: 404 without the profile, 409 without the interface, 400 for what does not fit.
     */
    plan(node: Node, asked: Asked, profileId: string): Command {
      const { shape } = placed(parts, node, asked)
      return commandOf(parts, { node, profile: parts.profiles.get(profileId), seconds: 1, shape }, '', '')
    },
    /** Starts an ad-hoc recording: recording and job in one step (docs/contract/recordings.md: Starting). */
    start: (input: RecordingStart, principal: UserPrincipal, now: string): rules.Started =>
      redacted(principal, () => started(parts, input, principal, now)),
    /**
     * Starts a scheduled recording by the same rules of channels, rooms, conflicts and capacity; `principal` if a person asked.
     * @throws Fail 400 for a selection that no longer fits its interface, or lies in several rooms; 409 for channels in use
     * (`capture_channels_busy`) or a node at capacity.
     */
    startScheduled: (take: rules.ScheduledTake, now: string, principal?: UserPrincipal): rules.Started =>
      principal ? redacted(principal, () => scheduled(parts, take, now)) : scheduled(parts, take, now),
    /** What a scheduled start would ask of the recorder. @throws Fail as the start would, but for what is in use then. */
    foresee(take: rules.ScheduledTake, now: string): rules.Foreseen {
      const ready = scheduledTake(parts, take, now)
      const command = { ...commandOf(parts, ready, '', ''), ...cacheRetention(ready.retention) }
      return { command, device: ready.shape.device, seconds: ready.seconds }
    },
  }
}
export type RecordingService = ReturnType<typeof recordingService>

function started(parts: StartParts, input: RecordingStart, principal: UserPrincipal, now: string): rules.Started {
  const node = parts.nodes.get(input.nodeId, now)
  const place = placed(parts, node, input)
  mayRecord(parts, principal, node, place.roomId)
  mustServe(parts, node, input)
  const chosen = parts.settings.defaults()
  const profile = parts.profiles.get(input.recordingProfileId ?? chosen.profile)
  const { retention, uploadPolicyIds } = checkedPolicies(parts, input, principal, chosen)
  const seconds = input.durationSeconds ?? parts.defaults.seconds
  const recording = {
    ...labels(parts, input, node, place.roomId, now),
    ...{ recordingProfileId: profile.id, retentionPolicyId: retention.id, uploadPolicyIds },
    watchdogPolicyId: chosen.watchdog,
  }
  return begin(parts, { ...place, node, profile, recording, retention, seconds }, now)
}

const scheduled = (parts: StartParts, take: rules.ScheduledTake, now: string): rules.Started =>
  begin(parts, scheduledTake(parts, take, now), now)

function scheduledTake(parts: StartParts, take: rules.ScheduledTake, now: string): Ready {
  const { folder, name, node, scheduleId, tags, uploadPolicyIds, watchdogPolicyId } = take
  mustServe(parts, node, take)
  const place = placed(parts, node, take)
  // Without its device a schedule that names none would take the next one, and that may hear another room.
  if (take.captureInterfaceId === undefined && take.roomId !== undefined && place.roomId !== take.roomId)
    throw conflict(
      'schedule_room_changed',
      'What can be captured now is in another room than the schedule: connect its device, or choose one in the schedule',
    )
  const recording = {
    ...{ folder, name, nodeId: node.id, recordedAt: now, roomId: place.roomId, scheduleId, tags, watchdogPolicyId },
    recordingProfileId: take.recordingProfileId,
    retentionPolicyId: take.retentionPolicyId,
    source: 'schedule',
    status: 'recording',
    uploadPolicyIds: uploadPolicyIds.length > 0 ? uploadPolicyIds : [BUILT_IN.upload],
  } as const
  const profile = parts.profiles.get(take.recordingProfileId)
  const retention = parts.policies.retentionPolicy(take.retentionPolicyId)
  const seconds = take.seconds ?? parts.defaults.seconds
  return { ...place, node, profile, recording, retention, seconds }
}

type Asked = Pick<RecordingStart, 'captureBackend' | 'captureChannelSelection' | 'captureInterfaceId' | 'channelMode'>

/** Device, channels and room of a take. */
function placed({ defaultInterfaceId }: StartParts, node: Node, asked: Asked) {
  const device = rules.effectiveInterface(node, asked.captureInterfaceId, defaultInterfaceId)
  const selection = asked.captureChannelSelection
  const shape = { backend: rules.backendOf(asked, node, device), device, mode: asked.channelMode, selection }
  rules.checkSelection(shape)
  return { roomId: rules.roomOf(node, shape), shape }
}

interface Ready {
  node: Node
  profile: Profile
  recording: Omit<NewRecording, 'id'>
  retention: RetentionPolicy
  seconds: number
  shape: rules.Shape
}

/** Recording and job, once everything is known and allowed. */
function begin(parts: StartParts, ready: Ready, now: string): rules.Started {
  const { claims, ids, jobService, recordings } = parts
  const { node, profile, retention, seconds, shape } = ready
  const from = Date.parse(now)
  const request = { interfaceId: shape.device?.id, selection: shape.selection, from, until: from + seconds * 1000 }
  const capacity = node.recordingCapacity?.maxConcurrentRecordings ?? 1
  const captureGroupId = admit(claims.activeCaptures(node.id), request, capacity) ?? ids.make('cap')
  const recordingId = ids.make('rec')
  const command = commandOf(parts, ready, recordingId, captureGroupId)
  const recording = recordings.create({ ...ready.recording, id: recordingId }, now)
  const job = claims.create(ids.make('job'), recordingId, node.id, { ...command, ...cacheRetention(retention) }, now)
  jobService.changed(job)
  return { job, profile, recording }
}

type Planned = Pick<Ready, 'node' | 'profile' | 'seconds' | 'shape'>

function commandOf(
  { assignments, defaults }: StartParts,
  { node, profile, seconds, shape }: Planned,
  recordingId: string,
  captureGroupId: string,
) {
  const assigned = assignments.channelMapFor(shape.device?.id, node.id)
  return rules.command(node, shape, { assigned, captureGroupId, profile, recordingId, seconds }, defaults)
}

function mayRecord({ rooms }: StartParts, principal: UserPrincipal, node: Node, roomId: string | undefined): void {
  const decision = verdict(
    principal,
    'recording:create',
    placesOf(node, roomId === undefined ? undefined : rooms.get(roomId)),
  )
  if (!decision.allowed) throw new Fail(403, decision.reason, 'Forbidden', { outcome: 'denied' })
}

/** Refuses to record on a node that is retired or has no capture device. @throws Fail 409 */
function mustServe({ defaults }: StartParts, node: Node, { captureBackend }: Asked): void {
  mustBeInUse(node)
  if ((captureBackend ?? 'alsa') !== 'alsa' || defaults.deviceNamed) return
  if (node.problems?.some(({ code }) => code === 'no_capture_device')) throw rules.noDevice()
}

// A setting named in the request must exist and be in the caller's scope; defaults are open to everybody.
function checkedPolicies(
  { policies }: StartParts,
  input: RecordingStart,
  principal: UserPrincipal,
  chosen: ReturnType<SettingsApi['defaults']>,
) {
  const inReach = (type: string, id: string | undefined) => {
    if (id === undefined || inScope(principal, [{ type, id }])) return
    throw new Fail(403, 'missing_resource_scope', 'Forbidden', { outcome: 'denied' })
  }
  inReach('recording_profile', input.recordingProfileId)
  for (const id of input.uploadPolicyIds ?? []) {
    policies.requireUploadPolicy(id)
    inReach('upload_policy', id)
  }
  const retention = policies.retentionPolicy(input.retentionPolicyId ?? chosen.retention)
  inReach('retention_policy', input.retentionPolicyId)
  const uploadPolicyIds = input.uploadPolicyIds ?? [chosen.upload]
  return { retention, uploadPolicyIds: uploadPolicyIds.length > 0 ? uploadPolicyIds : [BUILT_IN.upload] }
}

function cacheRetention(p: RetentionPolicy) {
  const applies = p.enabled && p.scope === 'recorder_cache' && p.action === 'delete_cache'
  return applies ? { recorderCacheRetention: recorderCache(p) } : {}
}

function labels({ rooms }: StartParts, input: RecordingStart, node: Node, roomId: string | undefined, now: string) {
  const place = roomId ? rooms.get(roomId).name : node.location.room
  const [date = '', time = ''] = now.split('T')
  const [year, month] = date.split('-')
  return {
    folder: input.folder ?? `Ad Hoc/${year}/${month}/${place}`,
    name: input.name ?? `${date}_${time.slice(0, 5)} UTC_Ad Hoc_${node.alias}`,
    nodeId: node.id,
    recordedAt: now,
    roomId,
    source: 'ad_hoc',
    status: 'recording',
    tags: input.tags ?? ['ad-hoc', 'voice'],
  } as const
}
