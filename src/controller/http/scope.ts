import { BYPASS_ROLES, CAPABILITY_OF, PERMISSIONS, type Permission, type Role } from '../../wire/permissions.ts'
import type { Db, Stmt } from '../store/db.ts'
import type { Pair, UserPrincipal } from './principal.ts'
import type { Target } from './route.ts'

export type Verdict =
  | { allowed: true; via?: { capability: string; roomId: string } }
  | { allowed: false; reason: 'missing_permission' | 'missing_resource_scope' | 'access_policy_denied' }

// What a target expands to: a grant, policy or roster entry on any member applies (docs/contract/access.md: Expansion).
const EXPANSIONS: Record<string, string> = {
  node: `
    SELECT 'site' AS type, site AS id FROM nodes WHERE id = @id
    UNION ALL SELECT 'room', room_id FROM node_rooms WHERE node_id = @id`,
  interface: `
    SELECT 'node' AS type, node_id AS id FROM interfaces WHERE id = @id
    UNION ALL SELECT 'site', n.site FROM interfaces i JOIN nodes n ON n.id = i.node_id WHERE i.id = @id
    UNION ALL SELECT 'room', coalesce(c.room_id, n.room_id) FROM interfaces i JOIN nodes n ON n.id = i.node_id
      JOIN channels c ON c.interface_id = i.id WHERE i.id = @id`,
  schedule: `
    SELECT 'room' AS type, room_id AS id FROM schedules WHERE id = @id
    UNION ALL SELECT 'node', node_id FROM schedules WHERE id = @id
    UNION ALL SELECT 'site', n.site FROM schedules s JOIN nodes n ON n.id = s.node_id WHERE s.id = @id`,
  // Never the node's room union: a recording belongs to the room it was made in.
  recording: `
    SELECT 'room' AS type, room_id AS id FROM recordings WHERE id = @id
    UNION ALL SELECT 'node', node_id FROM recordings WHERE id = @id
    UNION ALL SELECT 'site', n.site FROM recordings r JOIN nodes n ON n.id = r.node_id WHERE r.id = @id
    UNION ALL SELECT 'schedule', schedule_id FROM recordings WHERE id = @id
    UNION ALL SELECT 'room', s.room_id FROM recordings r JOIN schedules s ON s.id = r.schedule_id WHERE r.id = @id
    UNION ALL SELECT 'node', s.node_id FROM recordings r JOIN schedules s ON s.id = r.schedule_id WHERE r.id = @id
    UNION ALL SELECT 'site', n.site FROM recordings r JOIN schedules s ON s.id = r.schedule_id JOIN nodes n ON n.id = s.node_id WHERE r.id = @id`,
  // A switcher is covered through any room wired to it.
  switcher: `SELECT 'room' AS type, room_id AS id FROM switcher_inputs WHERE switcher_id = @id`,
}
// Every room of an expansion also adds its site.
const SITES_OF_ROOMS = `SELECT DISTINCT 'site' AS type, site AS id FROM rooms WHERE id IN (SELECT value FROM json_each(@rooms))`

const JOB = `SELECT recording_id AS recordingId, node_id AS nodeId FROM recording_jobs WHERE id = @id`
const CHANNEL = `
  SELECT 'interface' AS type, i.id FROM interfaces i WHERE i.id = @interfaceId
  UNION ALL SELECT 'node', i.node_id FROM interfaces i WHERE i.id = @interfaceId
  UNION ALL SELECT 'site', n.site FROM interfaces i JOIN nodes n ON n.id = i.node_id WHERE i.id = @interfaceId
  UNION ALL SELECT 'room', coalesce(c.room_id, n.room_id) FROM channels c JOIN interfaces i ON i.id = c.interface_id
    JOIN nodes n ON n.id = i.node_id WHERE c.interface_id = @interfaceId AND c.idx = @index`
const HEALTH = `SELECT node_id AS nodeId, recording_id AS recordingId, schedule_id AS scheduleId FROM health_events WHERE id = @id`

// Every room a node records in or stands in, a null row for a channel without one; whether the room is in the node's site.
const ROOMS_OF_NODE = `
  SELECT r.id, r.site, r.site = n.site AS home FROM nodes n LEFT JOIN interfaces i ON i.node_id = n.id
    LEFT JOIN channels c ON c.interface_id = i.id LEFT JOIN rooms r ON r.id = coalesce(c.room_id, n.room_id) WHERE n.id = @id
  UNION SELECT r.id, r.site, r.site = n.site FROM nodes n JOIN rooms r ON r.id = n.room_id WHERE n.id = @id`

const ASSIGNED = `SELECT target_type AS type, coalesce(interface_id, node_id) AS id FROM channel_map_assignments WHERE id = @id`

// Fields by which records name their place.
const PLACES = { nodeId: 'node', roomId: 'room', scheduleId: 'schedule', site: 'site' } as const

export interface Scope {
  decide(principal: UserPrincipal, permission: Permission, target: Target): Verdict
  expand(target: Target): Pair[]
  /** Whether the whole of a node is in the caller's scope, not only one of its rooms (docs/contract/access.md: Whole nodes). */
  holdsNode(principal: UserPrincipal, nodeId: string): boolean
  /** What a record says of its own place: node, room, schedule and site, each with its site. */
  placesOf(record: object): Pair[]
}

export function scope(db: Db): Scope {
  const expansions = new Map<string, Stmt<{ id: string }, { type: string; id: string | null }>>()
  for (const [type, sql] of Object.entries(EXPANSIONS)) expansions.set(type, db.stmt(sql))
  const channel = db.stmt<{ interfaceId: string; index: number }, { type: string; id: string | null }>(CHANNEL)
  const job = db.stmt<{ id: string }, { recordingId: string; nodeId: string }>(JOB)
  const health = db.stmt<
    { id: string },
    { nodeId: string | null; recordingId: string | null; scheduleId: string | null }
  >(HEALTH)

  const assigned = db.stmt<{ id: string }, Pair>(ASSIGNED)
  const roomsOfNode = db.stmt<{ id: string }, { home: number; id: string | null; site: string }>(ROOMS_OF_NODE)
  const sites = db.stmt<{ rooms: string }, Pair>(SITES_OF_ROOMS)

  const related: Record<string, (id: string) => Pair[]> = {
    channel: (id) => {
      const [index = '', interfaceId = ''] = id.split(':').reverse()
      return named(channel.all({ interfaceId, index: Number(index) || 0 }))
    },
    recording_job: (id) => {
      const row = job.get({ id })
      return row ? [...expand('recording', row.recordingId), ...expand('node', row.nodeId, ['site'])] : []
    },
    // One that is being created has the id `<type>:<id>` of its target (docs/contract/access.md: Expansion).
    channel_map_assignment: (id) => {
      const [, type, targetId] = /^(interface|node):(.+)$/s.exec(id) ?? []
      const target = type && targetId ? { type, id: targetId } : assigned.get({ id })
      return target ? expand(target.type, target.id) : []
    },
    health_event: (id) => {
      const { nodeId = null, recordingId = null, scheduleId = null } = health.get({ id }) ?? {}
      const source = recordingId ? expand('recording', recordingId) : []
      if (scheduleId) return [...source, ...expand('schedule', scheduleId)]
      return nodeId && !recordingId ? expand('node', nodeId) : source
    },
  }

  const expand = (type: string, id: string, only?: string[]): Pair[] => {
    const more = related[type]?.(id) ?? named(expansions.get(type)?.all({ id }) ?? [])
    return [{ type, id }, ...more.filter((pair) => !only || only.includes(pair.type))]
  }

  const expandWithSites = (type: string, id: string): Pair[] => {
    const pairs = expand(type, id)
    const rooms = pairs.filter((pair) => pair.type === 'room').map((room) => room.id)
    return rooms.length === 0 ? pairs : [...pairs, ...sites.all({ rooms: JSON.stringify(rooms) })]
  }

  const placesOf = ({ location, ...record }: { location?: object }): Pair[] =>
    Object.entries(PLACES).flatMap(([field, type]) => {
      const id = ({ ...record, ...location } as Record<string, unknown>)[field]
      if (typeof id !== 'string') return []
      // Not the rooms of a node: a recording belongs to the room it was made in.
      return expandWithSites(type, id).filter((pair) => pair.type === type || pair.type === 'site')
    })

  const holdsNode = (principal: UserPrincipal, nodeId: string): boolean => {
    if (inScope(principal, expand('node', nodeId, ['site']))) return true
    const rooms = roomsOfNode.all({ id: nodeId })
    const isHeld = ({ id, site }: (typeof rooms)[number]): boolean =>
      id !== null &&
      inScope(principal, [
        { type: 'room', id },
        { type: 'site', id: site },
      ])
    return rooms.some(({ home }) => home === 1) && rooms.every(isHeld)
  }

  return {
    holdsNode,
    placesOf,
    expand: (target) => (target.id === undefined ? [] : expandWithSites(target.type, target.id)),
    decide: (principal, permission, target) =>
      verdict(principal, permission, target.id === undefined ? undefined : expandWithSites(target.type, target.id)),
  }
}

const named = (rows: { type: string; id: string | null }[]): Pair[] =>
  rows.filter((row): row is Pair => row.id !== null)

const matches = (rule: Pair, pair: Pair): boolean =>
  (rule.type === '*' || rule.type === pair.type) && (rule.id === '*' || rule.id === pair.id)

const anyMatch = (rules: Pair[], pairs: Pair[]): boolean =>
  rules.some((rule) => pairs.some((pair) => matches(rule, pair)))

export const bypasses = (principal: UserPrincipal): boolean =>
  principal.roles.some((role) => BYPASS_ROLES.includes(role as Role))

/** Whether a deny policy covers the resource: it binds everybody, bypass roles included. */
const isDenied = (principal: UserPrincipal, pairs: Pair[]): boolean => anyMatch(principal.deny, pairs)
const isGranted = (principal: UserPrincipal, pairs: Pair[]): boolean =>
  bypasses(principal) || anyMatch(principal.allow, pairs)

/** Whether a resource is in the caller's scope, whatever the permission. */
export const inScope = (principal: UserPrincipal, pairs: Pair[]): boolean =>
  !isDenied(principal, pairs) && isGranted(principal, pairs)

/**
 * The order of decision (docs/contract/access.md: Order of decision): deny beats everything, then owner and admin, then allow
 * policies and grants, and last a room capability that stands in for permission and scope together. `pairs` is undefined for
 * a target without id, where only the permission decides.
 */
export function verdict(principal: UserPrincipal, permission: Permission, pairs: Pair[] | undefined): Verdict {
  if (pairs && isDenied(principal, pairs)) return { allowed: false, reason: 'access_policy_denied' }
  if ((!pairs || isGranted(principal, pairs)) && principal.permissions.has(permission)) return { allowed: true }
  const capability = CAPABILITY_OF[permission]
  const room = pairs?.find(
    (p) => p.type === 'room' && capability !== undefined && principal.rooms.get(p.id)?.has(capability),
  )
  if (room && capability) return { allowed: true, via: { capability, roomId: room.id } }
  return {
    allowed: false,
    reason: principal.permissions.has(permission) ? 'missing_resource_scope' : 'missing_permission',
  }
}

/** Whether there may be anything at all that the caller may do this with. */
export function reachesAnything(principal: UserPrincipal, permission: Permission): boolean {
  const capability = CAPABILITY_OF[permission]
  const isInRoster = [...principal.rooms.values()].some((held) => capability !== undefined && held.has(capability))
  return isInRoster || (principal.permissions.has(permission) && (bypasses(principal) || principal.allow.length > 0))
}

/** Everything the caller may do with a resource of these pairs. */
export const permissionsAt = (principal: UserPrincipal, pairs: Pair[]): Permission[] =>
  PERMISSIONS.filter((permission) => verdict(principal, permission, pairs).allowed)
