import { found } from '../../../kernel/fail.ts'
import { version } from '../../../kernel/version.ts'
import type { Wall } from '../../../wire/displays.ts'
import { MeterQuery, MeterStream } from '../../../wire/meters.ts'
import type { Principals } from '../../http/principals.ts'
import { type AnyRoute, route, stream } from '../../http/route.ts'
import { eventStream } from '../../http/sse.ts'
import type { Streams } from '../../http/streams.ts'
import type { Authorization } from '../../module.ts'
import type { SettingsApi } from '../../settings/api.ts'
import { channelVisibility, visibleFrame } from './channelvisibility.rules.ts'
import type { DisplayNodes } from './display.store.ts'
import { meterEvents } from './events.ts'
import type { LayoutStore } from './layout.store.ts'
import type { Meters } from './meters.store.ts'
import type { MeterWatchers } from './watchers.ts'

interface Parts {
  nodes: DisplayNodes
  site: SettingsApi['site']
  visibility: Authorization['visibility']
  streams: Streams
  layouts: LayoutStore
  meters: Meters
  principals: Pick<Principals, 'reload'>
  watchers: MeterWatchers
}

const display = { auth: 'display', permission: 'node:read' } as const
const read = { auth: 'user', permission: 'node:read' } as const

/** Meters for people: the newest frame, and a stream of all (docs/contract/access.md: Visible sets). */
export const meterRoutes = (parts: Parts): AnyRoute[] => [...peopleRoutes(parts), ...displayRoutes(parts)]

const peopleRoutes = ({ streams, layouts, meters, principals, watchers }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/nodes/:id/meters',
    ...read,
    action: 'meters.read',
    target: (p) => ({ type: 'node', id: p.id }),
    query: MeterQuery,
    run: ({ params: { id }, query, principal, now }) => {
      const layout = found(layouts.of(id), 'Node')
      const sample = meters.latest(
        id,
        query.interfaceId && (layouts.interfaceId(id, query.interfaceId) ?? query.interfaceId),
      )
      if (!sample) return { data: { capturedAt: now, interfaceId: layout.interfaceId, levels: [], nodeId: id } }
      return { data: visibleFrame(sample.frame, channelVisibility(principal, 'node:read', layout) ?? new Set()) }
    },
  }),
  stream({
    method: 'GET',
    path: '/meter-events',
    ...read,
    action: 'meters.stream',
    target: () => ({ type: 'node_collection' }),
    query: MeterStream,
    run: async ({ query, request, principal, now }) => ({
      response: eventStream(
        streams,
        principal.id,
        request,
        meterEvents({ ...query, layouts, meters, now, principals, principal, watchers }),
      ),
    }),
  }),
]

/** What a screen on a wall may ask for, and nothing else (docs/contract/access.md: Displays). */
const displayRoutes = ({
  layouts,
  meters,
  nodes,
  principals,
  site,
  streams,
  visibility,
  watchers,
}: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/display',
    ...display,
    action: 'displays.read',
    target: () => ({ type: 'display_link' }),
    run: ({ now, principal }) => {
      const seen = (nodeId: string) => {
        const layout = layouts.of(nodeId)
        return layout && channelVisibility(principal, 'node:read', layout)
      }
      const data: Wall = {
        name: principal.name,
        ...nodes.page(visibility(principal, 'node:read'), seen, now),
        site: site(),
        version,
      }
      return { data }
    },
  }),
  stream({
    method: 'GET',
    path: '/display/meter-events',
    ...display,
    action: 'displays.meters.stream',
    target: () => ({ type: 'display_link' }),
    query: MeterStream,
    run: async ({ now, principal, query, request }) => {
      const source = meterEvents({ ...query, layouts, meters, now, principal, principals, watchers })
      // Screens of one link are as many callers: one of them must not darken the others.
      return { response: eventStream(streams, principal.sessionId, request, source) }
    },
  }),
]
