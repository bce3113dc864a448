// People of every kind, made through the API, and the oracle: what the contract lets each of them reach.
import type { Kit } from '../kit/kit.ts'
import { type Name, ok, type Thing, type World } from './world.ts'

type Client = ReturnType<Kit['bearer']>

export interface Caller {
  allow: Name[]
  client: Client
  deny: Name[]
  grants: Name[]
  id: string
  role: Role | undefined
  /** Capabilities by room. */
  roster: Record<string, string[]>
}
type Role = 'admin' | 'auditor' | 'operator' | 'owner' | 'technician' | 'viewer'

const READS = ['health:read', 'metrics:read', 'node:read', 'recording:download', 'recording:playback', 'recording:read']
const VIEWER = [...READS, 'schedule:read', 'settings:read', 'switcher:read']
const HOLDS: Record<Role, string[] | 'all'> = {
  admin: 'all',
  auditor: ['audit:read', 'health:read', 'metrics:read', 'recording:read'],
  operator: [
    ...[...VIEWER, 'health:acknowledge', 'listen:monitor', 'node:control', 'recording:control', 'recording:create'],
    ...['recording:edit', 'schedule:manage', 'switcher:map'],
  ],
  owner: 'all',
  technician: [
    ...['health:acknowledge', 'health:read', 'listen:monitor', 'node:manage', 'node:read', 'recording:control'],
    ...['recording:create', 'recording:playback', 'recording:read', 'schedule:read', 'settings:read'],
  ],
  viewer: VIEWER,
}
const UNLOCKS: Record<string, string[]> = {
  view: ['node:read', 'recording:read', 'recording:playback', 'schedule:read', 'health:read'],
  listen: ['listen:monitor'],
  download: ['recording:download'],
  operate: ['recording:create', 'recording:control'],
  book: ['schedule:manage'],
  edit: ['recording:edit'],
  delete: ['recording:delete'],
}
export const CAPABILITIES = Object.keys(UNLOCKS)

export const holds = ({ role }: Caller, permission: string | null): boolean => {
  const held = role ? HOLDS[role] : []
  return permission === null || held === 'all' || held.includes(permission)
}

const parts = (name: Name): [type: string, id: string] => {
  const at = name.indexOf(' ')
  return [name.slice(0, at), name.slice(at + 1)]
}
const covers = (rules: Name[], names: Name[]): boolean =>
  rules
    .map(parts)
    .some(([type, id]) => names.map(parts).some(([t, i]) => (type === '*' || type === t) && (id === '*' || id === i)))

const bypasses = ({ role }: Caller): boolean => role === 'owner' || role === 'admin'

/**
 * docs/contract/access.md: Order of decision. Deny, then bypass, allow and grant together with the permission, then a
 * capability in a room.
 */
export function may(c: Caller, permission: string | null, reachedBy: Name[]): boolean {
  if (covers(c.deny, reachedBy)) return false
  if (holds(c, permission) && (bypasses(c) || covers([...c.grants, ...c.allow], reachedBy))) return true
  return Object.entries(c.roster).some(
    ([room, capabilities]) =>
      reachedBy.includes(`room ${room}`) && capabilities.some((one) => UNLOCKS[one]?.includes(permission ?? '')),
  )
}

/** Whether a thing is in scope, whatever the permission: what the audit asks. */
export const scoped = (c: Caller, reachedBy: Name[]): boolean =>
  !covers(c.deny, reachedBy) && (bypasses(c) || covers([...c.grants, ...c.allow], reachedBy))

/** A room also shows in the list through a node held in full: by itself or its site (docs/contract/access.md: Visible sets). */
export function lists(w: World, c: Caller, permission: string, thing: Thing): boolean {
  if (may(c, permission, thing.reachedBy)) return true
  if (thing.type !== 'room' || covers(c.deny, thing.reachedBy) || !holds(c, permission)) return false
  const own = (node: Thing): Name[] => node.reachedBy.filter((name) => !name.startsWith('room '))
  const full = (node: Thing): boolean => !covers(c.deny, own(node)) && covers([...c.grants, ...c.allow], own(node))
  return w.things.some((t) => t.type === 'node' && t.reachedBy.includes(`room ${thing.id}`) && full(t))
}

interface Wish {
  allow?: Name[]
  /** Whom policies name: the person, their e-mail, or their group. */
  by?: 'email' | 'group'
  deny?: Name[]
  grants?: Name[]
  role?: Role
  roster?: Record<string, string[]>
  rosterBy?: 'group'
}

const wishes = ({ library, nodes, schedules, switchers }: World): Record<string, Wish> => {
  const rec = (key: string): Name => `recording ${library[key]?.id}`
  const { desk, devices, vault } = nodes
  return {
    'op-hall': { role: 'operator', grants: ['room hall'] },
    'op-south': { role: 'operator', grants: ['site South'] },
    'op-booth-plan': { role: 'operator', grants: [`schedule ${schedules.booth}`] },
    'op-moved-plan': { role: 'operator', grants: [`schedule ${schedules.moved}`] },
    'op-one-take': { role: 'operator', grants: [rec('booth1')] },
    'op-desk': { role: 'operator', grants: [`node ${desk.id}`] },
    'op-device': { role: 'operator', grants: [`interface ${devices.main}`, `channel ${devices.main}:3`] },
    'op-nothing': { role: 'operator' },
    'op-everything-but-a-take': { role: 'operator', grants: ['* *'], deny: [rec('hall1')] },
    'op-sites-but-a-node': { role: 'operator', grants: ['site North', 'site South'], deny: [`node ${vault.id}`] },
    'op-hall-but-a-plan': { role: 'operator', grants: ['room hall'], deny: [`schedule ${schedules.hall}`] },
    'op-by-group': { role: 'operator', allow: ['room cellar'], by: 'group' },
    'op-by-mail': { role: 'operator', allow: ['room attic'], by: 'email' },
    'viewer-roster': { role: 'viewer', roster: { booth: ['view'] } },
    'viewer-group-roster': { role: 'viewer', roster: { cellar: ['view', 'download'] }, rosterBy: 'group' },
    'viewer-roster-refused': { role: 'viewer', roster: { booth: ['view'], hall: ['view'] }, deny: [rec('booth1')] },
    'viewer-nothing': { role: 'viewer' },
    'viewer-north': { role: 'viewer', grants: ['site North'] },
    'tech-south': { role: 'technician', grants: ['site South'] },
    'tech-hall': { role: 'technician', grants: ['room hall'], roster: { booth: ['listen'] } },
    'tech-north-but-a-node': { role: 'technician', grants: ['site North'], deny: [`node ${desk.id}`] },
    'tech-nothing': { role: 'technician' },
    'op-booker': { role: 'operator', grants: ['room cellar'], roster: { booth: ['book'] } },
    'op-hall-plan': { role: 'operator', grants: [`schedule ${schedules.hall}`, `schedule ${schedules.booth}`] },
    'op-switcher': { role: 'operator', grants: [`switcher ${switchers.both}`, `switcher ${switchers.idle}`] },
    'auditor-booth': { role: 'auditor', grants: ['room booth'] },
    'auditor-nothing': { role: 'auditor' },
    'owner-no-booth': { role: 'owner', deny: ['room booth'] },
    'owner-no-desk': { role: 'owner', deny: [`node ${desk.id}`] },
    'owner-no-take': { role: 'owner', deny: [rec('hall1'), rec('live-cellar')] },
    'owner-no-plan': { role: 'owner', deny: [`schedule ${schedules.moved}`] },
    'owner-no-job': { role: 'owner', deny: [`recording_job ${library.hall1?.jobId}`] },
    'owner-no-site': { role: 'owner', deny: ['site South'], by: 'email' },
    'owner-nothing': { role: 'owner', deny: ['* *'] },
    'admin-group-no-hall': { role: 'admin', deny: ['room hall'], by: 'group' },
    ...Object.fromEntries(CAPABILITIES.map((one) => [`may-${one}`, { roster: { hall: [one] } }])),
  }
}

/** Everybody at once: policies, groups and rosters through the API; who has no role cannot be made there. */
export async function callers(w: World): Promise<Map<string, Caller>> {
  const { k, owner } = w
  const people = new Map<string, Caller>()
  const policies: object[] = []
  const rosters = new Map<string, object[]>()
  for (const [id, wish] of Object.entries(wishes(w))) {
    const { allow = [], by, deny = [], grants = [], role, roster = {}, rosterBy } = wish
    const client = k.person(id, role ? [role] : [])
    if (role) {
      const resourceGrants = grants.map(parts).map(([resourceType, resourceId]) => ({ resourceId, resourceType }))
      ok(await owner.patch(`/auth/users/${id}/access`, { resourceGrants, roles: [role] }), 200)
    }
    const grouped = by === 'group' || rosterBy === 'group'
    const group = grouped
      ? ok(await owner.post('/auth/groups', { memberIds: [id], name: `Group of ${id}` }), 201)
      : undefined
    const groupId = group?.json.data.id as string
    const subjectId = by === 'group' ? groupId : by === 'email' ? `${id}@example.org` : id
    for (const [effect, names] of Object.entries({ allow, deny }))
      for (const [resourceType, resourceId] of names.map(parts))
        policies.push({ effect, resourceId, resourceType, subjectId, subjectType: by === 'group' ? 'group' : 'user' })
    for (const [room, capabilities] of Object.entries(roster)) {
      const entry = { capabilities, subjectId: rosterBy ? groupId : id, subjectType: rosterBy ?? 'user' }
      rosters.set(room, [...(rosters.get(room) ?? []), entry])
    }
    people.set(id, { allow, client, deny, grants, id, role, roster })
  }
  for (const [room, entries] of rosters) ok(await owner.put(`/rooms/${room}/roster`, { entries }), 200)
  ok(await owner.patch('/auth/access-policies', { policies }), 200)
  return people
}
