import { setImmediate as nextTurn } from 'node:timers/promises'
import { Fail } from '../../kernel/fail.ts'
import { CAPABILITY_OF, type Permission } from '../../wire/permissions.ts'
import { LONGEST_SECONDS } from '../../wire/schedules.ts'
import type { FleetApi } from '../fleet/api.ts'
import { ASSIGNED, placesOf } from '../fleet/rooms/places.rules.ts'
import type { Audit } from '../http/audit.ts'
import { systemActor, type UserPrincipal } from '../http/principal.ts'
import { type Scope, verdict } from '../http/scope.ts'
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

/** What whoever is assigned may do in the room, and so what one must hold there to give it. */
const ASSIGNED_PERMISSIONS = (Object.keys(CAPABILITY_OF) as Permission[]).filter((permission) =>
  ASSIGNED.some((capability) => CAPABILITY_OF[permission] === capability),
)

const addsAssignees = (before: Stored | undefined, after: Stored): boolean =>
  (['assignedUserIds', 'assignedGroupIds'] as const).some((list) =>
    after[list].some((id) => before?.[list].includes(id) !== true),
  )

/** A single date that is waited for no longer, or is switched off and has come: its assignment ends, or has ended. */
const isOver = ({ enabled, nextRunAt, recurrence }: Stored, now: string): boolean =>
  recurrence.mode === 'once' && (nextRunAt === undefined || (!enabled && nextRunAt <= now))

/** Over before and not after, in whatever mode: its people get back what had ended. */
const revived = (before: Stored, after: Stored): boolean =>
  isOver(before, after.updatedAt) && !isOver(after, after.updatedAt)

/** When the assignment to a schedule ends at the latest, unix ms: only a single date ends by itself. */
function endOf({ recurrence }: Stored): number {
  if (recurrence.mode !== 'once') return Number.POSITIVE_INFINITY
  const { durationSeconds = LONGEST_SECONDS, startsAt, stopLateSeconds = 0 } = recurrence
  return Date.parse(startsAt) + (durationSeconds + stopLateSeconds) * 1000
}

/**
 * Nobody gives away, by a schedule, a room that is not theirs: who names people or groups anew, moves the schedule to
 * another room, or lets it run once more or end later for its people, holds in that room what being assigned gives, and not by an
 * assignment of their own: that would outlive its end. Its takes move along, so whoever moves it may read them where
 * they are.
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
  if (moved) decisions.push(scope.decide(own, 'recording:read', { type: 'schedule', id: before.id }))
  for (const decision of decisions)
    if (!decision.allowed) throw new Fail(403, decision.reason, 'Forbidden', { outcome: 'denied' })
}

interface EndingParts {
  audit: Audit
  db: Db
  rosters: FleetApi['rosters']
}

/** Takes the roster rows of schedules that ran their only time away again; each is a transaction with its audit row. */
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
      // A hundred that end at noon must not hold the loop for all of them.
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
 * After the channels of a node moved to other rooms: its schedules follow, and their roster rows with them. One whose
 * channels now lie in several rooms stays where it is: the runner defers it and says so. Gives the ids that moved.
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
