import type { AccessList, RoomRights } from '../../../wire/access.ts'
import type { Principals } from '../../http/principals.ts'
import { permissionsAt, type Scope } from '../../http/scope.ts'
import type { Db } from '../../store/db.ts'
import { holding, Lister } from '../../store/filter.ts'

export type RightsStore = ReturnType<typeof rightsStore>

interface Parts {
  db: Db
  principals: Principals
  scope: Scope
}

/** What people may do where, decided as it is decided for their own requests. */
export function rightsStore({ db, principals, scope }: Parts) {
  const rooms = new Lister<Omit<RoomRights, 'permissions'>>(db, { columns: 'id, name, site', from: 'rooms' })
  const texts = db.stmt<object, { id: string; text: string }>(`SELECT id, site || char(10) || name AS text FROM rooms`)

  return {
    /** All rooms, also those the person knows nothing of: what is missing is looked for here too. */
    page(userId: string, { limit, offset, search }: AccessList): { rooms: RoomRights[]; total: number } {
      const person = principals.person(userId)
      const wanted = search === undefined ? [] : [holding('rooms.id', texts.all({}), search)]
      const { rows, total } = rooms.page(wanted, 'site, name, id', limit, offset)
      const permissions = (id: string) => (person ? permissionsAt(person, scope.expand({ type: 'room', id })) : [])
      return { rooms: rows.map((room) => ({ ...room, permissions: permissions(room.id) })), total }
    },
  }
}
