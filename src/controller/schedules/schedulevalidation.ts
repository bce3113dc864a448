import { iso } from '../../kernel/clock.ts'
import { conflict, Fail, invalid } from '../../kernel/fail.ts'
import { dateOf } from '../../kernel/zones.ts'
import type { Node } from '../../wire/nodes.ts'
import type { Recurrence, ScheduleInput, SchedulePatch } from '../../wire/schedules.ts'
import { BUILT_IN } from '../../wire/settings.ts'
import { mustBeInUse } from '../fleet/nodes/status.rules.ts'
import { placesOf } from '../fleet/rooms/places.rules.ts'
import type { UserPrincipal } from '../http/principal.ts'
import { inScope, verdict } from '../http/scope.ts'
import type { visibilities } from '../http/visibility.ts'
import type { SettingsApi } from '../settings/api.ts'
import { present } from '../store/filter.ts'
import { type AssigningParts, authorizeAssignment } from './assigning.ts'
import { type Capture, checkChannels, deviceOf, roomOf } from './capture.rules.ts'
import { firstSlot, keepsDue, type Pending, pendingOf, pendingSlot, type Stored } from './planning.rules.ts'
import { isTimed, keepsAnchor, type Slot } from './recurrence.rules.ts'
import { type ReferenceStore, SETTINGS_OF } from './references.store.ts'
import type { ScheduleStore } from './schedules.store.ts'

export interface DraftParts extends AssigningParts {
  defaultInterfaceId: string | undefined
  /** @throws Fail when a take of this profile could not be made. */
  plan: (node: Node, capture: Capture, profileId: string) => void
  visibility: ReturnType<typeof visibilities>
  references: ReferenceStore
  schedules: ScheduleStore
  settings: SettingsApi
}

const forbidden = (reason = 'missing_resource_scope'): Fail => new Fail(403, reason, 'Forbidden', { outcome: 'denied' })
export const noNode = (): Fail => conflict('schedule_node_not_found', 'Schedule node not found')

/** Builds schedules from requests, in the order of checks of docs/contract/scheduling.md: Writing a schedule. */
export function scheduleDrafts(parts: DraftParts) {
  return {
    /** A new schedule; `id` when the body names none. */
    fresh(body: ScheduleInput, id: string, principal: UserPrincipal, now: string): Stored {
      const given = body.nextRunAt === undefined ? undefined : instantOf(body.nextRunAt, 'nextRunAt')
      const recurrence = body.recurrence ? dated(body.recurrence) : implied(given)
      const { nextRunAt: _, ...fields } = body
      const zone = parts.schedules.zones(body.timezone)
      const draft = present({
        ...{ assignedGroupIds: [], assignedUserIds: [], createdAt: now, enabled: true, tags: [] },
        ...defaultSettings(parts),
        ...fields,
        ...{ anchorDate: dateOf(zone.dayOf(Date.parse(now))), id: body.id ?? id, recurrence, updatedAt: now },
      }) as Stored
      const whole = present({ ...draft, ...checked(parts, draft, principal, now, undefined) }) as Stored
      const made = waiting(whole, firstOf(parts, whole, now, given))
      authorizeAssignment(parts, principal, undefined, made)
      return made
    },
    /** What a patch makes of a schedule. */
    patched(before: Stored, patch: SchedulePatch, principal: UserPrincipal, now: string): Stored {
      const given = patch.nextRunAt === undefined ? undefined : instantOf(patch.nextRunAt, 'nextRunAt')
      const recurrence = patch.recurrence ? dated(patch.recurrence) : moved(before.recurrence, given)
      const { nextRunAt: _, ...fields } = patch
      // Null clears: `present` drops it.
      const draft = present({ ...before, ...defined(fields), recurrence, updatedAt: now }) as Stored
      const whole = present({ ...draft, ...checked(parts, draft, principal, now, before) }) as Stored
      const after = replanned(parts, before, whole, given, now)
      authorizeAssignment(parts, principal, before, after)
      return after
    },
  }
}

/** Defaults for the settings that a new schedule does not name. */
function defaultSettings({ settings }: DraftParts) {
  const { profile, retention, upload, watchdog } = settings.defaults()
  return {
    ...{ recordingProfileId: profile, retentionPolicyId: retention, watchdogPolicyId: watchdog },
    // The built-in policy sends nothing, and is what a take without a policy gets.
    uploadPolicyIds: upload === BUILT_IN.upload ? [] : [upload],
  }
}

const defined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

// Without a recurrence, a schedule with a start is `once`, any other is manual.
const implied = (given: number | undefined): Recurrence =>
  given === undefined ? { mode: 'manual' } : { mode: 'once', startsAt: iso(given) }

const LATEST = Date.parse('9999-01-01T00:00:00.000Z')

/** Unix ms of a date text. @throws Fail 400 `invalid_next_run_at`. */
function instantOf(text: string, field: string): number {
  const at = Date.parse(text)
  if (at >= 0 && at < LATEST) return at
  throw invalid('Invalid next run date', [field], 'expected a date and time from 1970 to 9998', 'invalid_next_run_at')
}

const dated = (r: Recurrence): Recurrence =>
  r.mode === 'once' ? { ...r, startsAt: iso(instantOf(r.startsAt, 'startsAt')) } : r

/** `nextRunAt` without a recurrence is the start of the recording: it moves a `once`, and is ignored by repeating modes. */
const moved = (r: Recurrence, given: number | undefined): Recurrence =>
  r.mode === 'once' && given !== undefined ? { ...r, startsAt: iso(given + (r.startEarlySeconds ?? 0) * 1000) } : r

/** Checks 3 to 10; returns the derived fields. */
function checked(
  parts: DraftParts,
  draft: Stored,
  principal: UserPrincipal,
  now: string,
  before: Stored | undefined,
): { roomId: string | undefined } {
  const node = nodeOf(parts, draft, principal, now, before)
  const device = node && deviceOf(node, draft, parts.defaultInterfaceId)
  if (node) checkChannels(device, draft)
  checkSettings(parts, draft, principal, before)
  checkAssignees(parts, draft)
  if (!node) return { roomId: before?.roomId }
  if (draft.enabled && affectsTakes(before, draft)) mustBeInUse(node)
  const roomId = roomOf(node, device, draft)
  if (affectsTakes(before, draft)) parts.plan(node, draft, draft.recordingProfileId)
  // For a new schedule too: the authorization of the route cannot judge one without a room.
  if (!before || roomId !== before.roomId || node.id !== before.nodeId) authorizeBooking(parts, principal, node, roomId)
  return { roomId }
}

const OF_TAKES = [
  ...(['captureBackend', 'captureChannelSelection', 'captureInterfaceId', 'channelMode'] as const),
  ...(['nodeId', 'recordingProfileId'] as const),
]

/** Whether the change affects takes. Other changes, such as disabling, must be possible when the capture no longer fits. */
function affectsTakes(before: Stored | undefined, draft: Stored): boolean {
  if (!before || (draft.enabled && !before.enabled)) return true
  return OF_TAKES.some((field) => JSON.stringify(draft[field]) !== JSON.stringify(before[field]))
}

/** The node, which must be visible when it changes; a schedule whose node was deleted can still be edited. */
function nodeOf(
  parts: DraftParts,
  draft: Stored,
  principal: UserPrincipal,
  now: string,
  before: Stored | undefined,
): Node | undefined {
  if (draft.nodeId === before?.nodeId)
    return draft.nodeId === undefined ? undefined : parts.nodes.find(draft.nodeId, now)
  const node = parts.nodes.find(draft.nodeId as string, now)
  if (!node || !parts.references.seesNode(parts.visibility(principal, 'schedule:manage'), node.id)) throw noNode()
  return node
}

/** The room, the node or its site may grant the permission; the node's other rooms do not count. */
function authorizeBooking(
  { rooms }: DraftParts,
  principal: UserPrincipal,
  node: Node,
  roomId: string | undefined,
): void {
  const places = placesOf(node, roomId === undefined ? undefined : rooms.get(roomId))
  const decision = verdict(principal, 'schedule:manage', places)
  if (!decision.allowed) throw forbidden(decision.reason)
}

/**
 * Settings must exist, and newly named ones must be in the caller's scope; built-in and default settings are open to everybody
 * who is not denied them.
 */
function checkSettings(
  { references, settings }: DraftParts,
  draft: Stored,
  principal: UserPrincipal,
  before: Stored | undefined,
): void {
  const common = new Set([...Object.values<string>(BUILT_IN), ...Object.values(settings.defaults())])
  const named = SETTINGS_OF.flatMap(([field, type]) => [draft[field]].flat().map((id) => ({ field, id, type })))
  for (const { id, type } of named)
    if (!references.hasSetting(type, id))
      throw new Fail(404, `${type}_not_found`, 'Schedule settings resource not found', {
        body: { permission: 'schedule:manage' },
      })
  for (const { field, id, type } of named) {
    if (before && [before[field]].flat().includes(id)) continue
    const asked = common.has(id) ? { ...principal, roles: ['owner'] } : principal
    if (!inScope(asked, [{ type, id }])) throw forbidden()
  }
}

function checkAssignees({ references }: DraftParts, { assignedGroupIds, assignedUserIds }: Stored): void {
  const unknownGroupIds = references.unknownGroups(assignedGroupIds)
  const unknownUserIds = references.unknownUsers(assignedUserIds)
  if (unknownGroupIds.length + unknownUserIds.length > 0)
    throw new Fail(400, 'unknown_assignee', 'Unknown assignee', { body: { unknownGroupIds, unknownUserIds } })
}

/** @throws Fail 400 `recurrence_never_occurs` for a repeating rule without an occurrence. */
function firstOf({ schedules }: DraftParts, draft: Stored, now: string, given: number | undefined): Slot | undefined {
  const slot = firstSlot(schedules.planOf(draft), Date.parse(now), given)
  if (!slot && (isTimed(draft.recurrence) || draft.recurrence.mode === 'always_on'))
    throw invalid(
      'Invalid recurrence',
      ['recurrence'],
      'it has no occurrence within ten years',
      'recurrence_never_occurs',
    )
  return slot
}

/** The schedule, waiting for this slot or for none. */
export function waiting(schedule: Stored, slot: Slot | undefined): Stored {
  const { nextRunAt: _a, slotAt: _b, slotDate: _c, ...rest } = schedule
  const pending: Partial<Pending> = slot ? pendingOf(slot) : {}
  return { ...rest, ...pending }
}

/** Keeps the pending occurrence unless the times have changed, and the anchor unless the rhythm has. */
function replanned(parts: DraftParts, before: Stored, draft: Stored, given: number | undefined, now: string): Stored {
  const { mode } = draft.recurrence
  const enabling = draft.enabled && !before.enabled
  const restarted = mode === 'manual' && given !== undefined
  const same = sameRule(before, draft) || (mode === 'always_on' && before.recurrence.mode === mode)
  if (same && !enabling && !restarted) return draft
  const at = Date.parse(now)
  const today = dateOf(parts.schedules.zones(draft.timezone).dayOf(at))
  const anchorDate = keepsAnchor(before.recurrence, draft.recurrence) ? before.anchorDate : today
  const whole = { ...draft, anchorDate }
  const due = pendingSlot(before)
  if (!enabling && keepsDue(parts.schedules.planOf(whole), due, at)) return whole
  const kept = before.recurrence.mode === 'manual' && before.nextRunAt ? Date.parse(before.nextRunAt) : undefined
  return waiting(whole, firstOf(parts, whole, now, given ?? kept))
}

const sameRule = (a: Stored, b: Stored): boolean =>
  a.timezone === b.timezone && JSON.stringify(a.recurrence) === JSON.stringify(b.recurrence)
