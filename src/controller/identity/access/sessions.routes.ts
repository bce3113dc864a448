import { OtherSessions } from '../../../wire/access.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import { MANAGE } from './access.rules.ts'
import type { OpenSessions } from './sessions.store.ts'
import type { UserStore } from './users.store.ts'

// Everybody may see and end their own sessions: no permission is required.
const own = { auth: 'user', permission: null } as const
const manage = { auth: 'user', permission: MANAGE } as const
const one = (id: string, name: string) => ({ type: 'session', id, name })

/** Open sessions: one's own, and those of anybody with permission to manage access. */
export const sessionRoutes = (sessions: OpenSessions, users: UserStore): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/auth/sessions',
    ...own,
    action: 'auth.sessions.read',
    target: () => ({ type: 'session_collection' }),
    run: ({ now, principal }) => ({ data: sessions.list(principal.id, principal.sessionId, now) }),
  }),
  route({
    method: 'DELETE',
    path: '/auth/sessions',
    ...own,
    action: 'auth.sessions.revoke_others',
    target: () => ({ type: 'session_collection' }),
    query: OtherSessions,
    status: 204,
    run: ({ now, principal }) => {
      const sessionsEnded = sessions.endOthers(principal.id, principal.sessionId, now)
      return { data: null, after: { sessionsEnded }, target: { type: 'user', id: principal.id, name: principal.email } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/auth/sessions/:id',
    ...own,
    action: 'auth.sessions.revoke',
    // Without an id: the owner of the session decides, not a grant.
    target: () => ({ type: 'session' }),
    status: 204,
    run: ({ now, params, principal }) => {
      const ended = sessions.end(params.id, principal.id, now)
      return { data: null, ...ended, target: one(params.id, principal.email) }
    },
  }),
  route({
    method: 'GET',
    path: '/auth/users/:id/sessions',
    ...manage,
    action: 'auth.users.sessions.read',
    target: (p) => ({ type: 'user', id: p.id }),
    run: ({ now, params, principal }) => ({
      data: sessions.list(users.get(params.id).id, principal.sessionId, now),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/auth/users/:id/sessions/:sessionId',
    ...manage,
    action: 'auth.users.sessions.revoke',
    target: (p) => ({ type: 'user', id: p.id }),
    status: 204,
    run: ({ now, params }) => {
      const user = users.get(params.id)
      const ended = sessions.end(params.sessionId, user.id, now)
      return {
        data: null,
        ...ended,
        details: { sessionId: params.sessionId },
        target: { type: 'user', id: user.id, name: user.email },
      }
    },
  }),
]
