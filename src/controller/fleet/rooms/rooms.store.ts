import { conflict, found, invalid } from '../../../kernel/fail.ts'
import type { Room, RoomInput, RoomPatch } from '../../../wire/rooms.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister, present } from '../../store/filter.ts'

type Row = { [K in keyof Required<Room>]: Room[K] | null }

const COLUMNS = `rooms.id, rooms.site, rooms.name, rooms.building, rooms.floor, rooms.description, rooms.notes,
  rooms.created_at AS createdAt, rooms.updated_at AS updatedAt`
const IN_USE = `node_id NOT IN (SELECT id FROM nodes WHERE status = 'retired')`
// One pass over the view for a whole list: SQLite does not push a correlated room into it.
const COUNTED = `rooms LEFT JOIN
  (SELECT room_id, count(DISTINCT node_id) AS n FROM node_rooms WHERE ${IN_USE} GROUP BY room_id) counted
  ON counted.room_id = rooms.id`

export function roomStore(db: Db) {
  const list = new Lister<Row>(db, { columns: `${COLUMNS}, coalesce(counted.n, 0) AS nodeCount`, from: COUNTED })
  const byId = db.stmt<{ id: string }, Row>(
    `SELECT ${COLUMNS}, (SELECT count(DISTINCT node_id) FROM node_rooms WHERE room_id = @id AND ${IN_USE}) AS nodeCount
       FROM rooms WHERE id = @id`,
  )
  const twin = db.stmt<{ id: string; site: string; name: string }, { id: string }>(
    `SELECT id FROM rooms WHERE site = @site AND name = @name AND id <> @id`,
  )
  const insert = db.stmt<Params>(
    `INSERT INTO rooms (id, site, name, building, floor, description, notes, created_at, updated_at)
     VALUES (@id, @site, @name, @building, @floor, @description, @notes, @now, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE rooms SET site = @site, name = @name, building = @building, floor = @floor, description = @description,
       notes = @notes, updated_at = @now WHERE id = @id`,
  )
  const remove = db.stmt<{ id: string }>(`DELETE FROM rooms WHERE id = @id`)
  const booked = db.stmt<{ id: string }, { n: number }>(`SELECT 1 AS n FROM schedules WHERE room_id = @id LIMIT 1`)
  // Without their own room these channels would be in their node's, and heard by the people of that room.
  const heirs = db.stmt<{ id: string }, { alias: string; roomName: string }>(
    `SELECT n.alias, heir.name AS roomName FROM channels c JOIN interfaces i ON i.id = c.interface_id
       JOIN nodes n ON n.id = i.node_id JOIN rooms heir ON heir.id = n.room_id
      WHERE c.room_id = @id AND n.room_id <> @id AND n.status <> 'retired' LIMIT 1`,
  )

  const get = (id: string): Room => present(found(byId.get({ id }), 'Room')) as Room
  const bare = ({ nodeCount: _, ...room }: Room): Room => room
  /** @throws Fail 404, or 409 `room_in_use` while a schedule books the room, or its channels would pass to another room. */
  const mustBeFree = (id: string): Room => {
    const room = bare(get(id))
    if (booked.get({ id })) throw conflict('room_in_use', 'Room is still referenced by schedules')
    const heir = heirs.get({ id })
    if (heir)
      throw conflict(
        'room_in_use',
        `Channels of ${heir.alias} are in this room, and would pass to ${heir.roomName}: put them into another room first`,
      )
    return room
  }
  const unique = (room: { id: string; site: string; name: string }): void => {
    if (twin.get(room)) throw conflict('room_exists', 'A room of this name exists on this site')
  }
  const columns = (room: Room, now: string): Params => ({
    id: room.id,
    site: room.site,
    name: room.name,
    building: room.building ?? null,
    floor: room.floor ?? null,
    description: room.description ?? null,
    notes: room.notes ?? null,
    now,
  })

  return {
    get,
    list: (visibility: Visibility): Room[] =>
      list.all(visibility.rooms(), 'rooms.site, rooms.name').map((row) => present(row) as Room),
    /** @throws Fail 409 `room_exists` for a used (site, name) or id. */
    create(id: string, input: RoomInput, now: string): Room {
      unique({ id, site: input.site, name: input.name })
      if (byId.get({ id })) throw conflict('room_exists', 'A room with this id exists')
      insert.run(columns({ ...input, id, createdAt: now, updatedAt: now }, now))
      return bare(get(id))
    },
    patch(id: string, patch: RoomPatch, now: string): { before: Room; after: Room } {
      const before = bare(get(id))
      const given = present(patch) as Partial<Room>
      const cleared = Object.keys(patch).filter((key) => patch[key as keyof RoomPatch] === null)
      const after = {
        ...before,
        ...given,
        name: patch.name || before.name,
        site: patch.site || before.site,
        updatedAt: now,
      }
      for (const key of cleared) delete after[key as 'notes']
      unique(after)
      update.run(columns(after, now))
      return { before, after }
    },
    mustBeFree,
    /** @throws Fail 404, or 409 `room_in_use`. */
    remove(id: string): Room {
      const before = mustBeFree(id)
      remove.run({ id })
      return before
    },
    /** @throws Fail 400 with `path` when a room is unknown or, alike, not visible. */
    mustExist(id: string, visibility: Visibility, path: (string | number)[]): void {
      const named = { sql: 'rooms.id = @wanted', params: { wanted: id } }
      if (list.count([named, ...visibility.rooms()], 1) === 0)
        throw invalid(`Room ${id} not found`, path, 'no such room', 'room_not_found')
    },
  }
}
export type RoomStore = ReturnType<typeof roomStore>
