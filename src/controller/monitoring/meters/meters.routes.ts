import { found } from '../../../kernel/fail.ts'
import { MeterQuery } from '../../../wire/meters.ts'
import type { Feeds } from '../../http/feed.ts'
import type { Principals } from '../../http/principals.ts'
import { type AnyRoute, route, stream } from '../../http/route.ts'
import { eventStream } from '../../http/sse.ts'
import { meterEvents } from './events.ts'
import type { LayoutStore } from './layout.store.ts'
import type { Meters } from './meters.store.ts'
import { seenFrame, sight } from './sight.rules.ts'

interface Parts {
  feeds: Feeds
  layouts: LayoutStore
  meters: Meters
  principals: Pick<Principals, 'again'>
}

const read = { auth: 'user', permission: 'node:read' } as const

/** Meters as people see them: the newest frame, and the stream of all (contract A, N6 and N7). */
export const meterRoutes = ({ feeds, layouts, meters, principals }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/nodes/:id/meters',
    ...read,
    action: 'meters.read',
    target: (p) => ({ type: 'node', id: p.id }),
    query: MeterQuery,
    run: ({ params: { id }, query, who, now }) => {
      const layout = found(layouts.of(id), 'Node')
      const sample = meters.latest(
        id,
        query.interfaceId && (layouts.interfaceId(id, query.interfaceId) ?? query.interfaceId),
      )
      if (!sample) return { data: { capturedAt: now, interfaceId: layout.interfaceId, levels: [], nodeId: id } }
      return { data: seenFrame(sample.frame, sight(who, 'node:read', layout) ?? new Set()) }
    },
  }),
  stream({
    method: 'GET',
    path: '/meter-events',
    ...read,
    action: 'meters.stream',
    target: () => ({ type: 'node_collection' }),
    run: async ({ request, who, now }) => ({
      response: eventStream(feeds, who.id, request, meterEvents({ layouts, meters, now, principals, who })),
    }),
  }),
]
