import { setImmediate as nextTurn } from 'node:timers/promises'
import { Fail } from '../../kernel/fail.ts'
import { CAPABILITY_OF, type Permission } from '../../wire/permissions.ts'
import { LONGEST_SECONDS } from '../../wire/schedules.ts'
import type { FleetApi } from '../fleet/api.ts'
import { ASSIGNED, placesOf } from '../fleet/rooms/places.rules.ts'
import type { Audit } from '../http/audit.ts'
import { systemActor, type UserPrincipal } from '../http/principal.ts'
import { type Scope, type Verdict, verdict } from '../http/scope.ts'
import { effectiveInterface, roomsOf } from '../recordings/library/start.rules.ts'
import type { Db } from '../store/db.ts'
import type { Stored } from './planning.rules.ts'
import type { ScheduleStore } from './schedules.store.ts'

export interface AssigningParts {
  nodes: FleetApi['nodes']
  rooms: FleetApi['rooms']
  rosters: FleetApi['rosters']
  scope: Scope
}

/** Permissions that an assignment grants in the room, and that its author must hold there. */
const ASSIGNED_PERMISSIONS = (Object.keys(CAPABILITY_OF) as Permission[]).filter((permission) =>
  ASSIGNED.some((capability) => CAPABILITY_OF[permission] === capability),
)

const addsAssignees = (before: Stored | undefined, after: Stored): boolean =>
  (['assignedUserIds', 'assignedGroupIds'] as const).some((list) =>
    after[list].some((id) => before?.[list].includes(id) !== true),
  )

/** A single date that is past, or was disabled before it came: its assignment has ended or is about to. */
const isOver = ({ enabled, nextRunAt, recurrence }: Stored, now: string): boolean =>
  recurrence.mode === 'once' && (nextRunAt === undefined || (!enabled && nextRunAt <= now))

/** Over before the change and not after it: the people assigned regain their access. */
const revived = (before: Stored, after: Stored): boolean =>
  isOver(before, after.updatedAt) && !isOver(after, after.updatedAt)

/** When the assignment to a schedule ends at the latest, unix ms: only a single date ends by itself. */
function endOf({ recurrence }: Stored): number {
  if (recurrence.mode !== 'once') return Number.POSITIVE_INFINITY
  const { durationSeconds = LONGEST_SECONDS, startsAt, stopLateSeconds = 0 } = recurrence
  return Date.parse(startsAt) + (durationSeconds + stopLateSeconds) * 1000
}

/**
 * Nobody may grant access to a room through a schedule without having that access. It is required, other than by a schedule's
 * assignment (which could be extended beyond its end), of whoever adds people or groups, moves the schedule to another room,
 * or lets its assignment run again or longer. Takes move with the schedule: see `ofItsTakes`.
 * @throws Fail 403.
 */
export function authorizeAssignment(
  { nodes, rooms, rosters, scope }: AssigningParts,
  principal: UserPrincipal,
  before: Stored | undefined,
  after: Stored,
): void {
  const moved = before !== undefined && before.roomId !== after.roomId
  const assigned = after.assignedUserIds.length + after.assignedGroupIds.length > 0
  const longer = assigned && before !== undefined && (revived(before, after) || endOf(after) > endOf(before))
  if (!moved && !longer && !addsAssignees(before, after)) return
  const node = after.nodeId === undefined ? undefined : nodes.find(after.nodeId, after.updatedAt)
  const places = placesOf(node, after.roomId === undefined ? undefined : rooms.get(after.roomId))
  const own = { ...principal, rooms: rosters.manual(principal.id) }
  const decisions = ASSIGNED_PERMISSIONS.map((permission) => verdict(own, permission, places))
  if (moved) decisions.push(...ofItsTakes(scope, own, before, (permission) => verdict(own, permission, places).allowed))
  for (const decision of decisions)
    if (!decision.allowed) throw new Fail(403, decision.reason, 'Forbidden', { outcome: 'denied' })
}

/** What may be done with a take. */
const TAKE_PERMISSIONS = ['recording:edit', 'recording:delete', 'recording:playback', 'recording:download'] as const

/** Whoever moves takes must be able to read them, and must not be able to do more with them after it than before. */
function ofItsTakes(
  scope: Scope,
  principal: UserPrincipal,
  { id }: Stored,
  mayThere: (permission: Permission) => boolean,
): Verdict[] {
  const needed: Permission[] = ['recording:read', ...TAKE_PERMISSIONS.filter(mayThere)]
  return needed.map((permission) => scope.decide(principal, permission, { type: 'schedule', id }))
}

interface EndingParts {
  audit: Audit
  db: Db
  rosters: FleetApi['rosters']
}

/** Removes the roster rows of one-time schedules that are over; each in a transaction with its audit row. */
export function assignmentEnder({ audit, db, rosters }: EndingParts): (now: string) => Promise<void> {
  const actor = systemActor('scheduler')
  return async (now) => {
    for (const { name, roomId, scheduleId } of rosters.over(now)) {
      db.tx(() => {
        if (!rosters.end(scheduleId, now)) return
        const target = { type: 'schedule', id: scheduleId, name }
        const entry = { actor, permission: 'schedule:manage', outcome: 'succeeded', details: { roomId } } as const
        audit.write({ action: 'schedules.assignment.ended', target, ...entry }, now)
      })
      // A hundred that end at noon must not block the event loop.
      await nextTurn()
    }
  }
}

interface Parts {
  defaultInterfaceId: string | undefined
  nodes: FleetApi['nodes']
  rosters: FleetApi['rosters']
  schedules: ScheduleStore
}

/**
 * After channels of a node moved to other rooms, moves its schedules and their roster rows too; returns the ids of the
 * schedules moved. One whose channels now lie in several rooms stays; the runner defers it and raises a health event.
 */
export const roomReassignment =
  ({ defaultInterfaceId, nodes, rosters, schedules }: Parts) =>
  (nodeId: string, now: string): string[] => {
    const node = nodes.get(nodeId, now)
    const roomNow = ({
      captureChannelSelection: selection,
      captureInterfaceId: id,
    }: Stored): (string | undefined)[] => {
      const device = id
        ? node.interfaces.find((one) => one.id === id)
        : effectiveInterface(node, undefined, defaultInterfaceId)
      const rooms = roomsOf(node, { device, selection })
      return rooms.length > 0 ? rooms : [node.roomId]
    }
    return schedules.ofNode(nodeId).flatMap((schedule) => {
      const [room, ...others] = roomNow(schedule)
      if (others.length > 0 || room === schedule.roomId) return []
      schedules.reassignRoom(schedule.id, room, now)
      rosters.assign(schedule.id, room, schedule.assignedUserIds, schedule.assignedGroupIds, now)
      return [schedule.id]
    })
  }
