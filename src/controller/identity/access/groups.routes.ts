import type { Ids } from '../../../kernel/ids.ts'
import { AccessList, type GroupDetail, GroupInput, GroupMembers, GroupPatch } from '../../../wire/access.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import { actionStates } from '../../http/actions.ts'
import { pageMeta } from '../../http/page.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route, type Target } from '../../http/route.ts'
import { MANAGE } from './access.rules.ts'
import type { GroupStore } from './groups.store.ts'
import type { LockoutGuard } from './policies.store.ts'

const manage = { auth: 'user', permission: MANAGE } as const
const all = (): Target => ({ type: 'group_collection' })
const one = (p: { id: string }): Target => ({ type: 'group', id: p.id })
const named = (group: GroupDetail): Target => ({ type: 'group', id: group.id, name: group.name })

const snapshot = ({ description, id, members, name }: GroupDetail) => ({
  description,
  id,
  memberIds: members.map((member) => member.id),
  name,
})

const changed = ({ before, after }: { before: GroupDetail; after: GroupDetail }) => ({
  data: after,
  before: snapshot(before),
  after: snapshot(after),
  target: named(after),
})

/** `keep`: a deny policy may name a group, so that joining it can lock its members out. */
export const groupRoutes = (groups: GroupStore, ids: Ids, keep: LockoutGuard): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/auth/groups',
    ...manage,
    action: 'auth.groups.read',
    target: all,
    query: AccessList,
    run: ({ query }) => {
      const { groups: data, total } = groups.page(query)
      return { data, beside: { meta: pageMeta(data.length, total, query.limit, query.offset) } }
    },
  }),
  route({
    method: 'POST',
    path: '/auth/groups',
    ...manage,
    action: 'auth.groups.create',
    target: all,
    body: GroupInput,
    status: 201,
    run: ({ body, now }) => {
      const made = keep(() => groups.create(body, ids.uuid().slice(0, 6), now))
      return { data: made, after: snapshot(made), target: named(made) }
    },
  }),
  route({
    method: 'GET',
    path: '/auth/groups/:id',
    ...manage,
    action: 'auth.groups.detail.read',
    target: one,
    run: ({ params, principal }) => {
      const group = groups.get(params.id)
      return { data: { actions: actions(principal, group.id), group, links: links(group.id) }, target: named(group) }
    },
  }),
  route({
    method: 'PATCH',
    path: '/auth/groups/:id',
    ...manage,
    action: 'auth.groups.update',
    target: one,
    body: GroupPatch,
    run: ({ params, body, now }) => changed(groups.patch(params.id, body, now)),
  }),
  route({
    method: 'PUT',
    path: '/auth/groups/:id/members',
    ...manage,
    action: 'auth.groups.members.update',
    target: one,
    body: GroupMembers,
    run: ({ params, body, now }) => changed(keep(() => groups.setMembers(params.id, body.memberIds, now))),
  }),
  route({
    method: 'DELETE',
    path: '/auth/groups/:id',
    ...manage,
    action: 'auth.groups.delete',
    target: one,
    status: 204,
    run: ({ params }) => {
      const { before, schedulesUpdated } = groups.remove(params.id)
      const details = { memberCount: before.memberCount, schedulesUpdated }
      return { data: null, before: snapshot(before), details, target: named(before) }
    },
  }),
]

const hrefOf = (id: string): string => `${API_PREFIX}/auth/groups/${encodeURIComponent(id)}`

const links = (id: string) => ({
  delete: hrefOf(id),
  detail: hrefOf(id),
  members: `${hrefOf(id)}/members`,
  update: hrefOf(id),
})

const actions = (principal: UserPrincipal, id: string) =>
  actionStates(principal, {
    delete: { method: 'DELETE', href: hrefOf(id), permission: MANAGE },
    detail: { method: 'GET', href: hrefOf(id), permission: MANAGE },
    updateGroup: { method: 'PATCH', href: hrefOf(id), permission: MANAGE },
    updateMembers: { method: 'PUT', href: `${hrefOf(id)}/members`, permission: MANAGE },
  })
