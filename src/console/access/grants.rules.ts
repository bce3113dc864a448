export interface Grant {
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
