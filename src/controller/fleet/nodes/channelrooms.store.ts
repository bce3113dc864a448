import { invalid } from '../../../kernel/fail.ts'
import type { ChannelRooms } from '../../../wire/nodes.ts'
import type { Db } from '../../store/db.ts'

type Assignment = ChannelRooms['assignments'][number]

/** Which room each channel of a node belongs to. */
export function channelRoomStore(db: Db) {
  const device = db.stmt<{ id: string; nodeId: string }, { n: number }>(
    `SELECT 1 AS n FROM interfaces WHERE id = @id AND node_id = @nodeId`,
  )
  const known = db.stmt<{ id: string; wanted: string }, { idx: number }>(
    `SELECT idx FROM channels WHERE interface_id = @id AND idx IN (SELECT value FROM json_each(@wanted))`,
  )
  const assign = db.stmt<{ id: string; wanted: string; roomId: string | null }>(
    `UPDATE channels SET room_id = @roomId WHERE interface_id = @id AND idx IN (SELECT value FROM json_each(@wanted))`,
  )

  const mustBe = (nodeId: string, { channelIndexes, interfaceId }: Assignment, at: number): void => {
    const path = ['assignments', at]
    if (!device.get({ id: interfaceId, nodeId }))
      throw refused('interface_not_found', [...path, 'interfaceId'], `the node has no interface ${interfaceId}`)
    const there = new Set(known.all({ id: interfaceId, wanted: JSON.stringify(channelIndexes) }).map((row) => row.idx))
    const missing = channelIndexes.findIndex((index) => !there.has(index))
    if (missing !== -1)
      throw refused(
        'channel_not_found',
        [...path, 'channelIndexes', missing],
        `the interface has no channel ${channelIndexes[missing]}`,
      )
  }

  return {
    /**
     * Assigns channels to rooms, which must exist; of two assignments of one channel the later counts.
     * @throws Fail 400 `interface_not_found` or `channel_not_found` with the path of the fault.
     */
    assign(nodeId: string, assignments: readonly Assignment[]): void {
      for (const [at, assignment] of assignments.entries()) mustBe(nodeId, assignment, at)
      for (const { channelIndexes, interfaceId: id, roomId } of assignments)
        assign.run({ id, wanted: JSON.stringify(channelIndexes), roomId })
    },
  }
}
export type ChannelRoomStore = ReturnType<typeof channelRoomStore>

const refused = (reason: string, path: (string | number)[], why: string) =>
  invalid('Invalid channel room assignment', path, why, reason)
