import { found } from '../../../kernel/fail.ts'
import { InterfacePatch, type Node, NodeFilters, NodePatch } from '../../../wire/nodes.ts'
import type { Events } from '../../events.ts'
import { pageMeta } from '../../http/page.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { Placing } from '../rooms/placing.ts'
import { movedWith } from './channelrooms.routes.ts'
import { type NodeStore, snapshot } from './nodes.store.ts'

const all = () => ({ type: 'node_collection' })
const one = (p: { id: string }) => ({ type: 'node', id: p.id })
const read = { auth: 'user', permission: 'node:read' } as const
const manage = { auth: 'user', permission: 'node:manage' } as const

interface Stores {
  events: Events
  nodes: NodeStore
  places: Placing
  visibility: ReturnType<typeof visibilities>
}

export const nodeRoutes = ({ events, nodes, places, visibility }: Stores): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/nodes',
    ...read,
    action: 'nodes.read',
    target: all,
    query: NodeFilters,
    run: ({ principal, query, now }) => {
      const limit = Math.min(query.limit ?? 50, 200)
      const { rows, total } = nodes.list(visibility(principal, 'node:read'), query, limit, now)
      return { data: rows, beside: { meta: pageMeta(rows.length, total, limit, query.offset ?? 0) } }
    },
  }),
  route({
    method: 'GET',
    path: '/nodes/:id',
    ...read,
    action: 'nodes.detail.read',
    target: one,
    run: ({ params, now }) => ({ data: nodes.get(params.id, now) }),
  }),
  route({
    method: 'PATCH',
    path: '/nodes/:id',
    ...manage,
    action: 'nodes.update',
    target: one,
    body: NodePatch,
    run: ({ params, body, principal, now }) => {
      checkMove(places, principal, nodes.get(params.id, now), body)
      const { before, after } = nodes.patch(params.id, body, now)
      events.emit('config.changed', { nodeId: params.id })
      // Channels without a room of their own have the node's.
      const moved =
        body.roomId === undefined ? {} : { details: { reassignedScheduleIds: movedWith(events, params.id, now) } }
      return { data: after, before: snapshot(before), after: snapshot(after), ...moved }
    },
  }),
  route({
    method: 'PATCH',
    path: '/nodes/:id/interfaces/:iid',
    ...manage,
    action: 'nodes.interfaces.update',
    // Two targets in one: the interface expands to its node, and an unknown interface of a known node is a 404 inside.
    target: (p) => ({ type: 'interface', id: p.iid }),
    body: InterfacePatch,
    run: ({ params, body, now }) => {
      const before = nodes.get(params.id, now).interfaces.find((i) => i.id === params.iid)
      nodes.interfaces.patch(found(nodes.interfaces.find(params.id, params.iid), 'Interface'), body)
      const data = nodes.get(params.id, now)
      return { data, before, after: data.interfaces.find((i) => i.id === params.iid) }
    },
  }),
]

/** @throws Fail 403 or 400 when the node may not leave its place, or not come to the new one. */
function checkMove(places: Placing, principal: UserPrincipal, node: Node, { location, roomId }: NodePatch): void {
  const leaves = location?.site !== undefined && location.site !== node.location.site
  const moves = roomId !== undefined && roomId !== (node.roomId ?? null)
  if (leaves || moves) places.away(principal, node)
  if (leaves) places.into(principal, 'node', location.site as string)
  if (moves && roomId !== null) places.room(principal, roomId, ['roomId'])
}
