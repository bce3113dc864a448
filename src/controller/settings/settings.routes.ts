import { API_PREFIX } from '../../wire/headers.ts'
import { ControllerSettingsPatch } from '../../wire/settings.ts'
import { actionStates } from '../http/actions.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { SettingsStore } from './settings.store.ts'

// A singleton has no id to be granted (ADR-0003).
const shared = {
  path: '/settings/controller',
  auth: 'user',
  target: () => ({ type: 'controller_settings' }),
} as const

export const settingsRoutes = (settings: SettingsStore): AnyRoute[] => [
  route({
    method: 'GET',
    ...shared,
    permission: 'settings:read',
    action: 'settings.controller.read',
    audit: 'decision',
    run: () => ({ data: settings.get() }),
  }),
  route({
    method: 'GET',
    path: '/settings/controller/actions',
    auth: 'user',
    target: shared.target,
    permission: 'settings:read',
    action: 'settings.controller.actions.read',
    run: ({ principal }) => {
      const href = `${API_PREFIX}${shared.path}`
      const actions = actionStates(principal, {
        detail: { href, method: 'GET', permission: 'settings:read' },
        update: { href, method: 'PATCH', permission: 'settings:manage' },
      })
      return { data: { actions, links: { detail: href, update: href }, settings: settings.get() } }
    },
  }),
  route({
    method: 'PATCH',
    ...shared,
    permission: 'settings:manage',
    action: 'settings.controller.update',
    body: ControllerSettingsPatch,
    run: ({ body, now }) => {
      const { before, after } = settings.patch(body, now)
      return { data: after, before, after, target: { type: 'controller_settings', id: 'controller' } }
    },
  }),
]
