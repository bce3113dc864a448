import { Fail } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import type { Node } from '../../wire/nodes.ts'
import type { Profile } from '../../wire/profiles.ts'
import type { Job, Recording, RecordingStart } from '../../wire/recordings.ts'
import type { Bell } from '../background/bell.ts'
import { inScope, verdict } from '../edge/scope.ts'
import type { UserWho } from '../edge/who.ts'
import type { ClaimStore } from '../jobs/claims.store.ts'
import type { NodeStore } from '../nodes/nodes.store.ts'
import { recorderCache } from '../profiles/policies.rules.ts'
import { BUILT_IN, type PolicyStore, type RetentionPolicy } from '../profiles/policies.store.ts'
import type { ProfileStore } from '../profiles/profiles.store.ts'
import type { RoomStore } from '../rooms/rooms.store.ts'
import { admit } from './conflicts.rules.ts'
import type { ConflictStore } from './conflicts.store.ts'
import type { RecordingStore } from './recordings.store.ts'
import * as rules from './start.rules.ts'

export interface StartParts {
  bell: Bell
  claims: ClaimStore
  conflicts: ConflictStore
  defaults: rules.CaptureDefaults
  defaultInterfaceId: string | undefined
  ids: Ids
  nodes: NodeStore
  policies: PolicyStore
  profiles: ProfileStore
  recordings: RecordingStore
  rooms: RoomStore
}

export interface Started {
  job: Job
  profile: Profile
  recording: Recording
}

/** Starts an ad-hoc recording: recording and job in one step, in the order of checks of contract A, R8. */
export function starter(parts: StartParts) {
  const { bell, claims, conflicts, defaults, ids, nodes, profiles, recordings } = parts
  return (input: RecordingStart, who: UserWho, now: string): Started => {
    const node = nodes.get(input.nodeId, now)
    const device = rules.effectiveInterface(node, input.captureInterfaceId, parts.defaultInterfaceId)
    const selection = input.captureChannelSelection
    const shape = { backend: rules.backendOf(input, node, device), device, mode: input.channelMode, selection }
    rules.checkSelection(shape)
    const roomId = rules.roomOf(node, shape)
    mayRecord(who, node, roomId)
    const profile = profiles.get(input.recordingProfileId ?? BUILT_IN.profile)
    const { retention, uploadPolicyIds } = checkedPolicies(parts, input, who)
    const seconds = input.durationSeconds ?? defaults.seconds
    const from = Date.parse(now)
    const wish = { interfaceId: device?.id, selection, from, until: from + seconds * 1000 }
    const capacity = node.recordingCapacity?.maxConcurrentRecordings ?? 1
    const captureGroupId = admit(conflicts.active(node.id), wish, capacity) ?? ids.make('cap')
    const recordingId = ids.make('rec')
    const command = rules.command(node, shape, { captureGroupId, profile, recordingId, seconds }, defaults)
    const recording = recordings.create(
      { ...labels(parts, input, node, roomId, now), id: recordingId, uploadPolicyIds },
      now,
    )
    const job = claims.create(ids.make('job'), recordingId, node.id, { ...command, ...cacheRetention(retention) }, now)
    bell.ring(node.id)
    return { job, profile, recording }
  }
}

// The room decides, with the node and its site as further ways in; the node's other rooms do not count.
function mayRecord(who: UserWho, node: Node, roomId: string | undefined): void {
  const pairs = [
    { type: 'node', id: node.id },
    { type: 'site', id: node.location.site },
    ...(roomId ? [{ type: 'room', id: roomId }] : []),
  ]
  const decision = verdict(who, 'recording:create', pairs)
  if (!decision.allowed) throw new Fail(403, decision.reason, 'Forbidden', { outcome: 'denied' })
}

// A setting named in the request must exist and be in the caller's scope; the built-ins are everybody's.
function checkedPolicies({ policies }: StartParts, input: RecordingStart, who: UserWho) {
  const inReach = (type: string, id: string | undefined) => {
    if (id === undefined || inScope(who, [{ type, id }])) return
    throw new Fail(403, 'missing_resource_scope', 'Forbidden', { outcome: 'denied' })
  }
  inReach('recording_profile', input.recordingProfileId)
  for (const id of input.uploadPolicyIds ?? []) {
    policies.uploadPolicy(id)
    inReach('upload_policy', id)
  }
  const retention = policies.retentionPolicy(input.retentionPolicyId ?? BUILT_IN.retention)
  inReach('retention_policy', input.retentionPolicyId)
  return { retention, uploadPolicyIds: input.uploadPolicyIds?.length ? input.uploadPolicyIds : [BUILT_IN.upload] }
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
    recordingProfileId: input.recordingProfileId ?? BUILT_IN.profile,
    retentionPolicyId: input.retentionPolicyId ?? BUILT_IN.retention,
    roomId,
    source: 'ad_hoc',
    status: 'recording',
    tags: ['ad-hoc', 'voice', ...(input.tags ?? [])],
    watchdogPolicyId: BUILT_IN.watchdog,
  } as const
}
