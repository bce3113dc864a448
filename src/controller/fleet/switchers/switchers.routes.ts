import { Fail, invalid } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import {
  type Switcher,
  SwitcherInput,
  SwitcherMappings,
  SwitcherPatch,
  SwitcherRestore,
} from '../../../wire/switchers.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, flow, route, type Target } from '../../http/route.ts'
import { inScope } from '../../http/scope.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { HealthApi } from '../../monitoring/health/api.ts'
import type { RoomStore } from '../rooms/rooms.store.ts'
import type { Devices } from './devices.ts'
import { restorable } from './matrix.rules.ts'
import { resolveUnreachable } from './reachability.ts'
import type { RoutingStore } from './routing.store.ts'
import { DeviceError } from './session.ts'
import type { Routes } from './switchers.rules.ts'
import { type MappingStore, type Mappings, noRoom, type SwitcherStore } from './switchers.store.ts'

interface Parts {
  devices: Devices
  health: HealthApi['health']
  ids: Ids
  mappings: MappingStore
  visibility: ReturnType<typeof visibilities>
  rooms: RoomStore
  routing: RoutingStore
  switchers: SwitcherStore
}

const all = (): Target => ({ type: 'switcher' })
const one = (p: { id: string }): Target => ({ type: 'switcher', id: p.id })
const named = ({ displayName, id }: Switcher): Target => ({ type: 'switcher', id, name: displayName })
const read = { auth: 'user', permission: 'switcher:read' } as const
const manage = { auth: 'user', permission: 'switcher:manage' } as const

export const switcherRoutes = (parts: Parts): AnyRoute[] => [
  ...listed(parts),
  ...managed(parts),
  ...mapped(parts),
  ...operated(parts),
]

const listed = ({ mappings, visibility, rooms, switchers }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/settings/switchers',
    ...read,
    action: 'settings.switchers.read',
    target: all,
    run: ({ principal }) => ({ data: switchers.list(visibility(principal, 'switcher:read')) }),
  }),
  route({
    method: 'GET',
    path: '/settings/switchers/:id',
    ...read,
    action: 'settings.switchers.detail.read',
    target: one,
    run: ({ params }) => {
      const data = switchers.get(params.id)
      return { data, target: named(data) }
    },
  }),
  route({
    method: 'GET',
    path: '/settings/switcher-mapping-options',
    ...read,
    action: 'settings.switchers.mapping_options.read',
    target: all,
    run: ({ principal }) => {
      const within = rooms.list(visibility(principal, 'node:read'))
      const users = principal.permissions.has('switcher:map') ? mappings.users() : []
      return { data: { rooms: within.map(({ id, name, site }) => ({ id, name, site })), users } }
    },
  }),
]

const managed = ({ health, ids, routing, switchers }: Parts): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/settings/switchers',
    ...manage,
    action: 'settings.switchers.create',
    target: all,
    body: SwitcherInput,
    status: 201,
    run: ({ body, now }) => {
      const after = switchers.create(body.id ?? ids.make('switcher'), body, now)
      return { data: after, after, target: named(after) }
    },
  }),
  route({
    method: 'PATCH',
    path: '/settings/switchers/:id',
    ...manage,
    action: 'settings.switchers.update',
    target: one,
    body: SwitcherPatch,
    run: ({ body, params, now }) => {
      const { before, after } = switchers.patch(params.id, body, now)
      return { data: after, before, after, target: named(after) }
    },
  }),
  route({
    method: 'DELETE',
    path: '/settings/switchers/:id',
    ...manage,
    action: 'settings.switchers.delete',
    target: one,
    status: 204,
    run: ({ params, now }) => {
      const event = routing.eventOf(params.id)
      if (event) resolveUnreachable({ health, routing }, params.id, event, 'switcher_deleted', now)
      const before = switchers.remove(params.id)
      return { data: null, before, target: named(before) }
    },
  }),
]

/**
 * The part of a map the caller may see: visible rooms, the ids of other rooms with access to the switcher, and people with
 * `switcher:map`.
 */
function seen({ visibility, rooms }: Parts, principal: UserPrincipal, id: string, map: Mappings): Mappings {
  const mine = new Set(rooms.list(visibility(principal, 'node:read')).map((room) => room.id))
  const whole = inScope(principal, [{ type: 'switcher', id }])
  return {
    inputs: map.inputs.flatMap((wired) => {
      if (mine.has(wired.roomId)) return [wired]
      return whole ? [{ input: wired.input, roomId: wired.roomId }] : []
    }),
    outputs: principal.permissions.has('switcher:map') ? map.outputs : [],
  }
}

/**
 * A map is replaced as a whole, so the caller must see all of it and name only visible rooms: access to one room of a switcher
 * must not decide where the others are shown.
 * @throws Fail 403 when part of the map is not visible, 400 `invalid_mapping` for a room that is not.
 */
function mayReplace(parts: Parts, principal: UserPrincipal, id: string, wanted: SwitcherMappings): void {
  const known = parts.mappings.read(id).inputs
  if (seen(parts, principal, id, { inputs: known, outputs: [] }).inputs.length < known.length)
    throw new Fail(403, 'missing_resource_scope', 'Forbidden', { outcome: 'denied' })
  const kept = new Set(known.map((input) => input.roomId))
  const mine = new Set(parts.rooms.list(parts.visibility(principal, 'node:read')).map((room) => room.id))
  wanted.inputs.forEach(({ roomId }, i) => {
    if (!kept.has(roomId) && !mine.has(roomId)) throw noRoom(roomId, i)
  })
}

const mapped = (parts: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/settings/switchers/:id/mappings',
    ...read,
    action: 'settings.switchers.mappings.read',
    target: one,
    run: ({ params, principal }) => {
      const target = named(parts.switchers.get(params.id))
      return { data: seen(parts, principal, params.id, parts.mappings.read(params.id)), target }
    },
  }),
  route({
    method: 'PUT',
    path: '/settings/switchers/:id/mappings',
    auth: 'user',
    permission: 'switcher:map',
    action: 'settings.switchers.mappings.update',
    target: one,
    body: SwitcherMappings,
    run: ({ body, params, principal }) => {
      const target = named(parts.switchers.get(params.id))
      mayReplace(parts, principal, params.id, body)
      const { before, after } = parts.mappings.replace(params.id, body)
      return { data: after, before, after, target }
    },
  }),
]

const operated = ({ devices, switchers }: Parts): AnyRoute[] => [
  flow({
    method: 'POST',
    path: '/settings/switchers/:id/test',
    ...manage,
    action: 'settings.switchers.test',
    target: one,
    run: async ({ params }) => {
      const switcher = switchers.get(params.id)
      const data = await devices.use(switcher, (driver) => driver.test())
      return { data, details: { ...data }, target: named(switcher) }
    },
  }),
  flow({
    method: 'GET',
    path: '/settings/switchers/:id/config-snapshot',
    ...manage,
    action: 'settings.switchers.snapshot',
    target: one,
    run: async ({ params }) => {
      const switcher = switchers.get(params.id)
      const snapshot = await answered(
        'Snapshot failed',
        devices.use(switcher, (driver) => driver.snapshot()),
      )
      return { data: { snapshot }, details: { characters: snapshot.length }, target: named(switcher) }
    },
  }),
  flow({
    method: 'POST',
    path: '/settings/switchers/:id/restore',
    ...manage,
    action: 'settings.switchers.restore',
    target: one,
    body: SwitcherRestore,
    run: async ({ body, params }) => {
      const switcher = switchers.get(params.id)
      if (restorable(body.snapshot).length === 0)
        throw invalid('Invalid restore payload', ['snapshot'], 'there is no SET line to restore')
      const { after, before } = await answered(
        'Restore failed',
        devices.use(switcher, (driver) => driver.restore(body.snapshot)),
      )
      const reported = (routes: Routes) => ({ routes: Object.fromEntries(routes) })
      return {
        data: { id: switcher.id, restored: true },
        before: reported(before),
        after: reported(after),
        details: { characters: body.snapshot.length },
        target: named(switcher),
      }
    },
  }),
]

/** @throws Fail 502 with the device's reason. */
async function answered<T>(error: string, asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (e) {
    if (e instanceof DeviceError) throw new Fail(502, e.message, error)
    throw e
  }
}
