import { type AnyRoute, route } from '../../http/route.ts'
import type { PreflightStore } from './preflights.store.ts'

/** What was heard before the last take of a schedule; null when nothing was. */
export const preflightRoutes = (preflights: Pick<PreflightStore, 'last'>): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/schedules/:id/preflight',
    auth: 'user',
    permission: 'schedule:read',
    action: 'schedules.preflight.read',
    target: (p) => ({ type: 'schedule', id: p.id }),
    run: ({ params }) => ({ data: preflights.last(params.id) ?? null }),
  }),
]
