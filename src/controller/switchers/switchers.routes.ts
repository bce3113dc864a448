import { Fail, invalid } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import { type Switcher, SwitcherInput, SwitcherMappings, SwitcherPatch, SwitcherRestore } from '../../wire/switchers.ts'
import { type AnyRoute, flow, route, type Target } from '../edge/route.ts'
import { refuses } from '../edge/scope.ts'
import type { UserWho } from '../edge/who.ts'
import type { HealthStore } from '../health/health.store.ts'
import type { Devices } from './devices.ts'
import { restorable } from './matrix.rules.ts'
import { reached } from './reachability.ts'
import type { RoutingStore } from './routing.store.ts'
import { DeviceError } from './session.ts'
import type { MappingStore, SwitcherStore } from './switchers.store.ts'

interface Parts {
  devices: Devices
  health: HealthStore
  ids: Ids
  mappings: MappingStore
  routing: RoutingStore
  switchers: SwitcherStore
}

// Reading and mapping switchers is a matter of permission alone: nobody has grants on them (contract B, section 4).
// A refusal binds all the same.
const refusedTo = (who: UserWho, id: string): boolean => refuses(who, [{ type: 'switcher', id }])
const mayKnow = (who: UserWho, id: string): void => {
  if (refusedTo(who, id)) throw new Fail(403, 'access_policy_denied', 'Forbidden', { outcome: 'denied' })
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

const listed = ({ mappings, switchers }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/settings/switchers',
    ...read,
    action: 'settings.switchers.read',
    target: all,
    run: ({ who }) => ({ data: switchers.list().filter(({ id }) => !refusedTo(who, id)) }),
  }),
  route({
    method: 'GET',
    path: '/settings/switchers/:id',
    ...read,
    action: 'settings.switchers.detail.read',
    target: all,
    run: ({ params, who }) => {
      mayKnow(who, params.id)
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
    run: () => ({ data: mappings.options() }),
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
      if (event) reached({ health, routing }, params.id, event, 'switcher_deleted', now)
      const before = switchers.remove(params.id)
      return { data: null, before, target: named(before) }
    },
  }),
]

const mapped = ({ mappings, switchers }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/settings/switchers/:id/mappings',
    ...read,
    action: 'settings.switchers.mappings.read',
    target: all,
    run: ({ params, who }) => {
      mayKnow(who, params.id)
      const target = named(switchers.get(params.id))
      return { data: mappings.read(params.id), target }
    },
  }),
  route({
    method: 'PUT',
    path: '/settings/switchers/:id/mappings',
    auth: 'user',
    permission: 'switcher:map',
    action: 'settings.switchers.mappings.update',
    target: all,
    body: SwitcherMappings,
    run: ({ body, params, who }) => {
      mayKnow(who, params.id)
      const target = named(switchers.get(params.id))
      const { before, after } = mappings.replace(params.id, body)
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
      await answered(
        'Restore failed',
        devices.use(switcher, (driver) => driver.restore(body.snapshot)),
      )
      return { data: { id: switcher.id, restored: true }, target: named(switcher) }
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
