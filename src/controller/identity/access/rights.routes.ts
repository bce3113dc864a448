import { AccessList } from '../../../wire/access.ts'
import { pageMeta } from '../../http/page.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import { MANAGE } from './access.rules.ts'
import type { RightsStore } from './rights.store.ts'
import type { UserStore } from './users.store.ts'

export const rightsRoutes = (rights: RightsStore, users: UserStore): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/auth/users/:id/rooms',
    auth: 'user',
    permission: MANAGE,
    action: 'auth.users.rooms.read',
    target: (p) => ({ type: 'user', id: p.id }),
    query: AccessList,
    run: ({ params, query }) => {
      const { rooms, total } = rights.page(users.get(params.id).id, query)
      return { data: rooms, beside: { meta: pageMeta(rooms.length, total, query.limit, query.offset) } }
    },
  }),
]
