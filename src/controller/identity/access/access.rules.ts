import type { CurrentUser, Policy, PolicyInput } from '../../../wire/access.ts'
import { type Permission, permissionsOf } from '../../../wire/permissions.ts'

/** Permission to manage access: required by every route of accounts, groups and policies. */
export const MANAGE: Permission = 'auth:manage'

/** A readable group id: `Stage & Sound` gives `stage-sound`; '' when no usable character is left. */
export const slug = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 120)
    .replace(/^-+|-+$/g, '')

/** The first of `wanted`, `wanted-2`, `wanted-3`... that is free, within 120 characters. */
export function freeId(wanted: string, taken: (id: string) => boolean): string {
  if (!taken(wanted)) return wanted
  for (let n = 2; ; n++) {
    const id = `${wanted.slice(0, 119 - String(n).length)}-${n}`
    if (!taken(id)) return id
  }
}

export interface Subject {
  email: string
  id: string
}

/** Why the actor may not disable this user: nobody may lock out themselves or the env-configured admin. */
export const disableRefusal = (user: Subject, actorId: string, localAdmin: string): string | undefined =>
  refusal('disable', user, actorId, localAdmin)

export const deleteRefusal = (user: Subject, actorId: string, localAdmin: string): string | undefined =>
  refusal('delete', user, actorId, localAdmin)

/** Why the actor may not change the env-configured admin's password or access: that would take the account over. */
export const takeoverRefusal = (
  what: 'access' | 'password',
  user: Subject,
  actorId: string,
  localAdmin: string,
): string | undefined => (user.email === localAdmin && user.id !== actorId ? `local_admin_${what}_denied` : undefined)

function refusal(verb: string, user: Subject, actorId: string, localAdmin: string): string | undefined {
  if (user.id === actorId) return `self_${verb}_denied`
  return user.email === localAdmin ? `local_admin_${verb}_denied` : undefined
}

/** The fields of a user that audit rows show before and after a change. */
export const userSnapshot = ({ disabledAt, groups, resourceGrants, roles }: CurrentUser) => ({
  disabledAt,
  groups,
  resourceGrants,
  roles,
})

const keyOf = (p: PolicyInput): string =>
  JSON.stringify([p.effect, p.subjectType, p.subjectId ?? '', p.resourceType, p.resourceId])

/** `everyone` has no subject; e-mails are compared in lower case. */
function normalized({ subjectId, ...policy }: PolicyInput): PolicyInput {
  if (policy.subjectType === 'everyone' || subjectId === undefined) return policy
  const email = policy.subjectType === 'user' && subjectId.includes('@')
  return { ...policy, subjectId: email ? subjectId.toLowerCase() : subjectId }
}

/** The list as it is stored: duplicates collapse to the last one, an unchanged policy keeps its id. */
export function policyList(wanted: PolicyInput[], stored: Policy[], makeId: () => string): Policy[] {
  const ids = new Map(stored.map((policy) => [keyOf(policy), policy.id]))
  const collapsed = new Map(wanted.map(normalized).map((policy) => [keyOf(policy), policy]))
  return [...collapsed].map(([key, policy]) => ({ ...policy, id: ids.get(key) ?? makeId() }))
}

export interface Manager extends Subject {
  groupIds: string[]
}

const deniesAll = (p: Policy): boolean => p.effect === 'deny' && p.resourceType === '*' && p.resourceId === '*'

const binds = (policy: Policy, user: Manager): boolean => {
  if (policy.subjectType === 'everyone') return true
  const names = policy.subjectType === 'user' ? [user.id, user.email] : user.groupIds
  return names.includes(policy.subjectId ?? '')
}

/** Whether these policies deny everything to everyone, or to everyone who could take them back. */
export function locksOut(policies: Policy[], managers: Manager[]): boolean {
  const denials = policies.filter(deniesAll)
  if (denials.some((policy) => policy.subjectType === 'everyone')) return true
  return managers.length > 0 && managers.every((user) => denials.some((policy) => binds(policy, user)))
}

export const manages = (roles: readonly string[]): boolean => permissionsOf(roles).includes(MANAGE)
