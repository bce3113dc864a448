interface Grant {
  resourceId: string
  resourceType: string
}

const EVERYWHERE: Grant = { resourceId: '*', resourceType: '*' }
const isEverywhere = ({ resourceId, resourceType }: Grant): boolean => resourceId === '*' && resourceType === '*'

/** What a form ticks of grants: everywhere, whole sites, and whatever else is held, which stays as it is. */
export interface Places {
  everywhere: boolean
  other: Grant[]
  sites: string[]
}

export const placesOf = (grants: readonly Grant[]): Places => ({
  everywhere: grants.some(isEverywhere),
  other: grants.filter((grant) => !isEverywhere(grant) && grant.resourceType !== 'site'),
  sites: grants.filter(({ resourceType }) => resourceType === 'site').map(({ resourceId }) => resourceId),
})

export const grantsOf = ({ everywhere, other, sites }: Places): Grant[] => [
  ...(everywhere ? [EVERYWHERE] : []),
  ...sites.map((resourceId) => ({ resourceId, resourceType: 'site' })),
  ...other,
]

interface Known {
  id: string
}

/** Members after somebody changed `before` into `chosen`, while the list has become `now`. */
export const membersOf = (now: readonly Known[], before: readonly Known[], chosen: readonly Known[]): string[] => {
  const [old, wanted] = [new Set(before.map(({ id }) => id)), new Set(chosen.map(({ id }) => id))]
  const kept = now.map(({ id }) => id).filter((id) => wanted.has(id) || !old.has(id))
  return [...new Set([...kept, ...[...wanted].filter((id) => !old.has(id))])]
}
