import { iso } from '../../../kernel/clock.ts'
import type { Node } from '../../../wire/nodes.ts'
import type { Recording } from '../../../wire/recordings.ts'
import type { RoomOverview, Upcoming } from '../../../wire/rooms.ts'
import type { FleetApi } from '../../fleet/api.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import { inScope, type Scope } from '../../http/scope.ts'
import type { RecordingsApi } from '../../recordings/api.ts'
import type { SchedulesApi } from '../../schedules/api.ts'
import { upcoming } from '../../schedules/planning.rules.ts'
import { merged, withinRoom } from './overview.rules.ts'
import type { OverviewStore } from './overview.store.ts'

interface Parts {
  nodes: FleetApi['nodes']
  overviews: OverviewStore
  recordings: RecordingsApi['recordings']
  rooms: FleetApi['rooms']
  schedules: SchedulesApi['schedules']
  scope: Scope
}

// docs/contract/nodes.md: Lists.
const MAX_SHOWN = 10
const OF_ONE_SCHEDULE = 3

export const overviewRoutes = (parts: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/rooms/:roomId/overview',
    auth: 'user',
    permission: 'node:read',
    action: 'rooms.overview.read',
    target: (p) => ({ type: 'room', id: p.roomId }),
    run: ({ params, principal, now }) => {
      const room = parts.rooms.get(params.roomId)
      const data: RoomOverview = {
        room,
        nodes: nodesOf(parts, principal, room.id, now),
        recentRecordings: recentOf(parts, principal, room.id),
        upcoming: upcomingOf(parts, principal, room.id, now),
      }
      return { data }
    },
  }),
]

// A room does not open the other rooms of a node that serves several (docs/contract/access.md: Expansion).
function nodesOf({ nodes, scope }: Parts, principal: UserPrincipal, roomId: string, now: string): Node[] {
  return nodes
    .inRoom(roomId, now)
    .filter(({ id }) => scope.decide(principal, 'node:read', { type: 'node', id }).allowed)
    .map((node) => {
      const held = inScope(principal, [
        { type: 'node', id: node.id },
        { type: 'site', id: node.location.site },
      ])
      return held ? node : withinRoom(node, roomId)
    })
}

function recentOf({ overviews, recordings, scope }: Parts, principal: UserPrincipal, roomId: string): Recording[] {
  const seen: Recording[] = []
  for (const id of overviews.recentIds(roomId)) {
    if (seen.length === MAX_SHOWN) break
    const visible = scope.decide(principal, 'recording:read', { type: 'recording', id }).allowed
    if (visible) seen.push(recordings.get(id))
  }
  return seen
}

function upcomingOf({ schedules, scope }: Parts, principal: UserPrincipal, roomId: string, now: string): Upcoming[] {
  let next: Upcoming[] = []
  for (const schedule of schedules.ofRoom(roomId)) {
    const last = next[MAX_SHOWN - 1]
    // Ordered by next run: a schedule that starts after ten others cannot be among the first ten.
    if (last && (schedule.nextRunAt ?? '') > last.recordingStartAt) break
    if (!scope.decide(principal, 'schedule:read', { type: 'schedule', id: schedule.id }).allowed) continue
    const slots = upcoming(schedules.planOf(schedule), schedule, Date.parse(now)).take(OF_ONE_SCHEDULE)
    const shown = slots.map(({ endAt, startAt }) => ({
      ...(endAt === undefined ? {} : { recordingEndAt: iso(endAt) }),
      recordingStartAt: iso(startAt),
      scheduleId: schedule.id,
      scheduleName: schedule.name,
    }))
    next = merged(next, [...shown], MAX_SHOWN)
  }
  return next
}
