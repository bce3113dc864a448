import type { FleetApi } from '../fleet/api.ts'
import { roomsOf } from '../recordings/library/start.rules.ts'
import type { Stored } from './planning.rules.ts'
import type { ScheduleStore } from './schedules.store.ts'

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
      const asked = node.interfaces.find((i) => i.id === (id ?? defaultInterfaceId))
      const device = asked ?? (id ? undefined : (node.interfaces.find((i) => !i.absent) ?? node.interfaces[0]))
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
