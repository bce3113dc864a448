import type { MyNotifications } from '../../wire/notifications.ts'
import { MyNotifications as Patch } from '../../wire/notifications.ts'
import type { UserPrincipal } from '../http/principal.ts'
import { type AnyRoute, route } from '../http/route.ts'
import { reachesAnything } from '../http/scope.ts'
import type { PeopleStore } from './people.store.ts'

interface Parts {
  forPeople: () => string | undefined
  people: PeopleStore
}

const target = () => ({ type: 'auth' })

/** What of alerts people want by their own mail. */
export const peopleRoutes = ({ forPeople, people }: Parts): AnyRoute[] => {
  const shown = (principal: UserPrincipal): MyNotifications => {
    const undelivered = !reachesAnything(principal, 'health:read')
      ? 'nothing_to_read'
      : forPeople() === undefined
        ? 'no_channel'
        : undefined
    const email = people.get(principal.id)
    return { email, isDelivered: undelivered === undefined, ...(undelivered ? { undelivered } : {}) }
  }
  return [
    route({
      method: 'GET',
      path: '/auth/me/notifications',
      auth: 'user',
      permission: null,
      action: 'auth.me.notifications.read',
      target,
      run: ({ principal }) => ({ data: shown(principal) }),
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
        return { data: shown(principal), before, after }
      },
    }),
  ]
}
