import type { ChangeState } from '../../../wire/changes.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import type { Authorization } from '../../module.ts'
import type { Db } from '../../store/db.ts'
import { countStore } from '../status/counts.store.ts'

type Counts = NonNullable<ChangeState['counts']>

/** Unresolved health events within a person's scope; counted once for all streams of people with the same rights. */
export function healthCounts(db: Db, visibility: Authorization['visibility']) {
  const store = countStore(db)
  const known = new Map<string, Counts>()
  const count = (person: UserPrincipal): Counts => {
    const counts = { critical: 0, warning: 0 }
    for (const { n, severity, status } of store.health(visibility(person, 'health:read')))
      if (status !== 'resolved' && severity !== 'info') counts[severity] += n
    return counts
  }
  return {
    /** Something has changed: what was counted may be wrong. */
    forget: (): void => known.clear(),
    of(person: UserPrincipal): Counts {
      const { allow, deny, permissions, roles, rooms } = person
      const held = [...rooms].map(([id, capabilities]) => [id, [...capabilities]])
      const key = JSON.stringify([allow, deny, [...permissions], roles, held])
      const counts = known.get(key) ?? count(person)
      known.set(key, counts)
      return counts
    },
  }
}
