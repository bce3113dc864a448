import { iso } from '../../kernel/clock.ts'
import type { Ids } from '../../kernel/ids.ts'
import { ScheduleInput, SchedulePatch } from '../../wire/schedules.ts'
import type { Events } from '../events.ts'
import type { FleetApi } from '../fleet/api.ts'
import { type AnyRoute, flow, route, type Target } from '../http/route.ts'
import type { UsedIds } from '../http/usedids.store.ts'
import { placeOf } from './capture.rules.ts'
import type { Stored } from './planning.rules.ts'
import type { AlarmStore } from './runs.store.ts'
import { shown } from './schedules.store.ts'
import { type DraftParts, scheduleDrafts } from './schedulevalidation.ts'

export interface ChangeParts extends DraftParts {
  alarms: AlarmStore
  events: Events
  ids: Ids
  detach: FleetApi['detach']
  rosters: FleetApi['rosters']
  usedIds: UsedIds
}

export const manage = { auth: 'user', permission: 'schedule:manage' } as const
export const one = (p: { id: string }): Target => ({ type: 'schedule', id: p.id })
export const named = ({ id, name }: Stored): Target => ({ type: 'schedule', id, name })

/** The fields of a schedule that audit rows keep. */
export const snapshot = (s: Stored): object => ({
  ...{ assignedGroupIds: s.assignedGroupIds, assignedUserIds: s.assignedUserIds, captureBackend: s.captureBackend },
  ...{ captureInterfaceId: s.captureInterfaceId, captureChannelSelection: s.captureChannelSelection },
  ...{ enabled: s.enabled, folderTemplate: s.folderTemplate, titleTemplate: s.titleTemplate, id: s.id, name: s.name },
  ...{ nextRunAt: s.nextRunAt, nodeId: s.nodeId, recurrence: s.recurrence, room: s.room, roomId: s.roomId },
  ...{ recordingProfileId: s.recordingProfileId, retentionPolicyId: s.retentionPolicyId, tags: s.tags },
  ...{ timezone: s.timezone, uploadPolicyIds: s.uploadPolicyIds, watchdogPolicyId: s.watchdogPolicyId },
})

/** Writes schedules together with their roster rows and health events, and wakes the runner. */
export function scheduleWriter({ alarms, events, rosters, schedules }: ChangeParts) {
  const assign = (s: Stored): void => rosters.assign(s.id, s.roomId, s.assignedUserIds, s.assignedGroupIds, s.updatedAt)
  return {
    add(schedule: Stored): Stored {
      const made = schedules.create(schedule)
      assign(made)
      events.emit('schedule.changed', { id: made.id })
      return made
    },
    change(before: Stored, schedule: Stored, now: string): Stored {
      const after = schedules.update(schedule)
      assign(after)
      if (before.slotAt !== after.slotAt || !after.enabled) alarms.settle(after.id, 'schedule_changed', now)
      events.emit('schedule.changed', { id: after.id })
      return after
    },
    remove(schedule: Stored, now: string): void {
      rosters.unassign(schedule.id)
      alarms.settle(schedule.id, 'schedule_deleted', now)
      schedules.remove(schedule.id)
      events.emit('schedule.changed', { id: schedule.id })
    },
  }
}

export function changeRoutes(parts: ChangeParts): AnyRoute[] {
  const draft = scheduleDrafts(parts)
  const writer = scheduleWriter(parts)
  const { ids, schedules, usedIds, visibility } = parts
  return [
    route({
      method: 'POST',
      path: '/schedules',
      ...manage,
      action: 'schedules.create',
      target: (_, body) => targetOf(parts, body),
      body: ScheduleInput,
      status: 201,
      run: ({ body, now, principal }) => {
        usedIds.mustBeNew(visibility(principal, 'schedule:manage'), body.id)
        const made = writer.add(draft.fresh(body, ids.make('sched'), principal, now))
        return { data: shown(made), after: snapshot(made), target: named(made) }
      },
    }),
    route({
      method: 'PATCH',
      path: '/schedules/:id',
      ...manage,
      action: 'schedules.update',
      target: one,
      body: SchedulePatch,
      run: ({ body, now, params, principal }) => {
        const before = schedules.get(params.id)
        const after = writer.change(before, draft.patched(before, body, principal, now), now)
        return { data: shown(after), before: snapshot(before), after: snapshot(after), target: named(after) }
      },
    }),
    flow({
      method: 'DELETE',
      path: '/schedules/:id',
      ...manage,
      action: 'schedules.delete',
      target: one,
      status: 204,
      run: async ({ params: { id } }, commit) => {
        schedules.get(id)
        const remove = (now: string) => {
          const before = schedules.get(id)
          writer.remove(before, now)
          return { data: null, before: snapshot(before), target: named(before) }
        }
        return parts.detach.fromSchedule(id, () => commit(remove))
      },
    }),
  ]
}

// Only the status of a node depends on the time, and it is not used here.
const ANY_TIME = iso(0)

/** The authorization target of a schedule with this body, which may be malformed: see `placeOf`. */
function targetOf(parts: { defaultInterfaceId: string | undefined; nodes: FleetApi['nodes'] }, body: unknown): Target {
  const { nodeId } = Object(body) as { nodeId?: unknown }
  const node = typeof nodeId === 'string' ? parts.nodes.find(nodeId.trim(), ANY_TIME) : undefined
  // An unknown node is refused like a foreign one (ADR-0003).
  if (!node && typeof nodeId === 'string') return { type: 'node', id: nodeId.trim() }
  return placeOf(node, body, parts.defaultInterfaceId)
}
