import { isDeepStrictEqual } from 'node:util'
import { conflict, Fail, found } from '../../../kernel/fail.ts'
import { type Interface, InterfacePatch, type Node, NodeFilters, NodePatch } from '../../../wire/nodes.ts'
import type { Events } from '../../events.ts'
import { heldRows, pageMeta } from '../../http/page.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route, stream } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'
import type { visibilities } from '../../http/visibility.ts'
import { endInvitations, type Invitations } from '../onboarding/credentials.store.ts'
import type { Placing } from '../rooms/placing.ts'
import { movedWith } from './channelrooms.routes.ts'
import { type NodeStore, snapshot } from './nodes.store.ts'
import { sameDevice } from './reconcile.rules.ts'

const all = () => ({ type: 'node_collection' })
const one = (p: { id: string }) => ({ type: 'node', id: p.id })
const read = { auth: 'user', permission: 'node:read' } as const
const manage = { auth: 'user', permission: 'node:manage' } as const

interface Stores extends Invitations {
  events: Events
  nodes: NodeStore
  places: Placing
  scope: Scope
  visibility: ReturnType<typeof visibilities>
}

export const nodeRoutes = ({ events, nodes, places, scope, visibility, ...invitations }: Stores): AnyRoute[] => [
  stream({
    method: 'GET',
    path: '/nodes',
    ...read,
    action: 'nodes.read',
    target: all,
    query: NodeFilters,
    run: async ({ principal, query, now }) => {
      const limit = Math.min(query.limit ?? 50, 200)
      const { rows, total } = nodes.list(visibility(principal, 'node:read'), query, limit, now)
      return { response: heldRows<Node>(rows, pageMeta(rows.length, total, limit, query.offset ?? 0)) }
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
      const whole = scope.holdsNode(principal, params.id)
      const { before, after } = nodes.patch(params.id, body, now)
      if (!whole && !isDeepStrictEqual(ofAll(before), ofAll(after))) throw notHeld()
      const ended = after.location.site === before.location.site ? {} : endInvitations(invitations, params.id, now)
      events.emit('config.changed', { nodeId: params.id })
      // Channels without a room of their own have the node's.
      const moved = body.roomId === undefined ? {} : { reassignedScheduleIds: movedWith(events, params.id, now) }
      return { data: after, before: snapshot(before), after: snapshot(after), details: { ...ended, ...moved } }
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
    run: ({ params, body, principal, now }) => {
      const devices = nodes.get(params.id, now).interfaces
      const before = found(
        devices.find((i) => i.id === params.iid),
        'Interface',
      )
      if (!scope.holdsNode(principal, params.id)) checkLabels(scope, principal, before, body)
      checkRef(devices, before, body.systemRef)
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

/** What is for all rooms of a node alike; tags and notes are labels that each of them may set. */
const ofAll = ({ notes: _, tags: __, ...rest }: Node): object => rest

const notHeld = (): Fail => new Fail(403, 'missing_resource_scope', 'Forbidden', { outcome: 'denied' })

/** @throws Fail 403 for facts of the hardware, and for labels of channels that are out of reach. */
function checkLabels(scope: Scope, principal: UserPrincipal, device: Interface, patch: InterfacePatch): void {
  const { alias: _, channels = [], ...facts } = patch
  const shown = device as unknown as Record<string, unknown>
  if (Object.entries(facts).some(([name, value]) => !isDeepStrictEqual(value ?? undefined, shown[name])))
    throw notHeld()
  const known = new Map(device.channels.map(({ alias, index }) => [index, alias]))
  for (const { alias, index } of channels) {
    const target = { type: 'channel', id: `${device.id}:${index}` }
    if (known.get(index) !== alias && !scope.decide(principal, 'node:manage', target).allowed) throw notHeld()
  }
}

/** Two interfaces with one ref would record the same device. @throws Fail 409 */
function checkRef(devices: Interface[], { id, systemRef }: Interface, wanted = systemRef): void {
  if (wanted === systemRef) return
  const other = devices.find((one) => one.id !== id && sameDevice(one.systemRef, wanted))
  if (other) throw conflict('system_ref_in_use', `${other.alias} of this recorder has the device ${other.systemRef}`)
}
