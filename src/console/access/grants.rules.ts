import { BYPASS_ROLES, type Role } from '../../wire/permissions.ts'

interface Grant {
  resourceId: string
  resourceType: string
}

const EVERYWHERE: Grant = { resourceId: '*', resourceType: '*' }
const isEverywhere = ({ resourceId, resourceType }: Grant): boolean => resourceId === '*' && resourceType === '*'

/** Owners and administrators hold every place. */
export const needsNoPlace = (role: Role): boolean => BYPASS_ROLES.includes(role)

/** What a form asks of grants: everywhere, sites, rooms and recorders by id; whatever else is held stays as it is. */
export interface Places {
  everywhere: boolean
  nodes: string[]
  other: Grant[]
  rooms: string[]
  sites: string[]
}

const ASKED = ['node', 'room', 'site']
const isAsked = ({ resourceId, resourceType }: Grant): boolean => ASKED.includes(resourceType) && resourceId !== '*'

export function placesOf(grants: readonly Grant[]): Places {
  const of = (type: string): string[] =>
    grants.filter((grant) => isAsked(grant) && grant.resourceType === type).map(({ resourceId }) => resourceId)
  return {
    everywhere: grants.some(isEverywhere),
    nodes: of('node'),
    other: grants.filter((grant) => !isEverywhere(grant) && !isAsked(grant)),
    rooms: of('room'),
    sites: of('site'),
  }
}

export function grantsOf({ everywhere, nodes, other, rooms, sites }: Places): Grant[] {
  const to = (resourceType: string, ids: readonly string[]): Grant[] =>
    ids.map((resourceId) => ({ resourceId, resourceType }))
  return [
    ...(everywhere ? [EVERYWHERE] : []),
    ...to('site', sites),
    ...to('room', rooms),
    ...to('node', nodes),
    ...other,
  ]
}

interface Known {
  id: string
}

/** Members after somebody changed `before` into `chosen`, while the list has become `now`. */
export const membersOf = (now: readonly Known[], before: readonly Known[], chosen: readonly Known[]): string[] => {
  const [old, wanted] = [new Set(before.map(({ id }) => id)), new Set(chosen.map(({ id }) => id))]
  const kept = now.map(({ id }) => id).filter((id) => wanted.has(id) || !old.has(id))
  return [...new Set([...kept, ...[...wanted].filter((id) => !old.has(id))])]
}
