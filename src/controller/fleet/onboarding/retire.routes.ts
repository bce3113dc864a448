import type { Events } from '../../events.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import { type NodeStore, snapshot } from '../nodes/nodes.store.ts'
import { type CredentialStores, revokeCredentials } from './credentials.store.ts'
import type { RetireStore } from './retire.store.ts'

interface Parts extends CredentialStores {
  events: Events
  nodes: NodeStore
  retiring: RetireStore
}

const manage = { auth: 'user', permission: 'node:manage', whole: true } as const
const target = (p: { id: string }) => ({ type: 'node', id: p.id })

/** Retires and reinstates a node. Its recordings, audit rows and health events stay. */
export const retireRoutes = (parts: Parts): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/nodes/:id/retire',
    ...manage,
    action: 'nodes.retire',
    target,
    run: ({ params: { id }, now }) => {
      const { events, nodes, retiring } = parts
      const before = nodes.get(id, now)
      const disabledScheduleIds = retiring.retire(id, now)
      if (!disabledScheduleIds) return { data: before, beside: { disabledScheduleIds: [] } }
      events.emit('node.retired', { disabledScheduleIds, nodeId: id, now })
      const ended = revokeCredentials(parts, id, now)
      const data = nodes.get(id, now)
      return {
        data,
        before: snapshot(before),
        after: snapshot(data),
        beside: { disabledScheduleIds },
        details: { ...ended, disabledScheduleIds },
      }
    },
  }),
  route({
    method: 'POST',
    path: '/nodes/:id/reinstate',
    ...manage,
    action: 'nodes.reinstate',
    target,
    run: ({ params: { id }, now }) => {
      const before = parts.nodes.get(id, now)
      if (!parts.retiring.reinstate(id, now)) return { data: before }
      const data = parts.nodes.get(id, now)
      return { data, before: snapshot(before), after: snapshot(data) }
    },
  }),
]
