import type { MyNotifications } from '../../wire/notifications.ts'
import { MyNotifications as Patch } from '../../wire/notifications.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { PeopleStore } from './people.store.ts'

interface Parts {
  forPeople: () => string | undefined
  people: PeopleStore
}

const target = () => ({ type: 'auth' })

/** What of alerts people want by their own mail. */
export const peopleRoutes = ({ forPeople, people }: Parts): AnyRoute[] => {
  const shown = (userId: string): MyNotifications => ({
    email: people.get(userId),
    isDelivered: forPeople() !== undefined,
  })
  return [
    route({
      method: 'GET',
      path: '/auth/me/notifications',
      auth: 'user',
      permission: null,
      action: 'auth.me.notifications.read',
      target,
      run: ({ principal }) => ({ data: shown(principal.id) }),
    }),
    route({
      method: 'PATCH',
      path: '/auth/me/notifications',
      auth: 'user',
      permission: null,
      action: 'auth.me.notifications.update',
      target,
      body: Patch,
      run: ({ body, now, principal }) => {
        const { before, after } = people.put(principal.id, body, now)
        return { data: shown(principal.id), before, after }
      },
    }),
  ]
}
