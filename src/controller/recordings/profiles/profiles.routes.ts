import type { Ids } from '../../../kernel/ids.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import { ProfileInput, ProfilePatch } from '../../../wire/profiles.ts'
import { actionStates } from '../../http/actions.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { ProfileStore } from './profiles.store.ts'

const all = () => ({ type: 'recording_profile_collection' })
const one = (p: { id: string }) => ({ type: 'recording_profile', id: p.id })
const read = { auth: 'user', permission: 'settings:read' } as const
const manage = { auth: 'user', permission: 'settings:manage' } as const

export const profileRoutes = (
  profiles: ProfileStore,
  ids: Ids,
  visibility: ReturnType<typeof visibilities>,
): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/settings/recording-profiles',
    ...read,
    action: 'settings.recording_profiles.read',
    target: all,
    run: ({ principal }) => ({ data: profiles.list(visibility(principal, 'settings:read')) }),
  }),
  route({
    method: 'POST',
    path: '/settings/recording-profiles',
    ...manage,
    action: 'settings.recording_profiles.create',
    target: all,
    body: ProfileInput,
    status: 201,
    run: ({ body, now }) => {
      const after = profiles.create(ids.make('recording_profile'), body, now)
      return { data: after, after, target: { type: 'recording_profile', id: after.id, name: after.name } }
    },
  }),
  route({
    method: 'GET',
    path: '/settings/recording-profiles/:id',
    ...read,
    action: 'settings.recording_profiles.detail.read',
    target: one,
    run: ({ params }) => ({ data: profiles.get(params.id) }),
  }),
  route({
    method: 'GET',
    path: '/settings/recording-profiles/:id/actions',
    ...read,
    action: 'settings.recording_profiles.actions.read',
    target: one,
    run: ({ params, principal }) => {
      const profile = profiles.get(params.id)
      return { data: { actions: actions(principal, profile.id), links: links(profile.id), profile } }
    },
  }),
  route({
    method: 'PATCH',
    path: '/settings/recording-profiles/:id',
    ...manage,
    action: 'settings.recording_profiles.update',
    target: one,
    body: ProfilePatch,
    run: ({ params, body, now }) => {
      const { before, after } = profiles.patch(params.id, body, now)
      return { data: after, before, after }
    },
  }),
]

const links = (id: string) => {
  const self = `${API_PREFIX}/settings/recording-profiles/${encodeURIComponent(id)}`
  return { detail: self, update: self }
}

const actions = (principal: UserPrincipal, id: string) =>
  actionStates(principal, {
    detail: { method: 'GET', href: links(id).detail, permission: 'settings:read' },
    update: { method: 'PATCH', href: links(id).update, permission: 'settings:manage' },
  })
