import { Fail } from '../../../kernel/fail.ts'
import type { Node } from '../../../wire/nodes.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { bypasses, type Scope, verdict } from '../../http/scope.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { RoomStore } from './rooms.store.ts'

const MANAGE = 'node:manage'
/** Of what does not exist yet: only a rule for every id matches. */
const UNMADE = ''

interface Parts {
  rooms: RoomStore
  scope: Scope
  visibility: ReturnType<typeof visibilities>
}

/** Where a caller may put nodes and rooms: the gate has judged what is moved, not where to (docs/contract/access.md: Places). */
export function placing({ rooms, scope, visibility }: Parts) {
  const allowed = (decision: ReturnType<typeof verdict>): void => {
    if (!decision.allowed) throw new Fail(403, decision.reason, 'Forbidden', { outcome: 'denied' })
  }
  const within = (principal: UserPrincipal, type: 'node' | 'room', id: string, site: string): void =>
    allowed(
      verdict(principal, MANAGE, [
        { type, id },
        { type: 'site', id: site },
      ]),
    )
  return {
    /** What concerns every room of a node, where the gate has asked for one of them. @throws Fail 403 */
    whole(principal: UserPrincipal, nodeId: string): void {
      if (!scope.holdsNode(principal, nodeId)) allowed({ allowed: false, reason: 'missing_resource_scope' })
    },
    /** Something new, or moved, in a site. @throws Fail 403 */
    into: (principal: UserPrincipal, type: 'node' | 'room', site: string): void =>
      within(principal, type, UNMADE, site),
    /** A node leaves its place: one of its rooms is not enough. @throws Fail 403 */
    away: (principal: UserPrincipal, { id, location }: Pick<Node, 'id' | 'location'>): void =>
      within(principal, 'node', id, location.site),
    /**
     * A room that is named in a body. @throws Fail 403, alike for an unknown room, where the caller needs scope; 400 otherwise
     */
    room(principal: UserPrincipal, roomId: string, path: (string | number)[]): void {
      if (!bypasses(principal)) allowed(scope.decide(principal, MANAGE, { type: 'room', id: roomId }))
      rooms.mustExist(roomId, visibility(principal, MANAGE), path)
    },
  }
}
export type Placing = ReturnType<typeof placing>
