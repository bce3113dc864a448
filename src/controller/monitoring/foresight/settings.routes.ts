import { ForesightPatch } from '../../../wire/foresight.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { ForesightSettingsStore } from './settings.store.ts'

// A singleton has no id to be granted (ADR-0003).
const shared = { path: '/settings/foresight', auth: 'user', target: () => ({ type: 'foresight_settings' }) } as const

/** `changed` is told of every change. */
export const foresightRoutes = (settings: ForesightSettingsStore, changed: () => void): AnyRoute[] => [
  route({
    method: 'GET',
    ...shared,
    permission: 'settings:read',
    action: 'settings.foresight.read',
    audit: 'decision',
    run: () => ({ data: settings.get() }),
  }),
  route({
    method: 'PATCH',
    ...shared,
    permission: 'settings:manage',
    action: 'settings.foresight.update',
    body: ForesightPatch,
    run: ({ body, now }) => {
      const { after, before } = settings.patch(body, now)
      changed()
      return { data: after, after, before, target: { type: 'foresight_settings', id: 'foresight' } }
    },
  }),
]
