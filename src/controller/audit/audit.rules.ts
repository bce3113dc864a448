import type { AuditEvent } from '../../wire/audit.ts'
import type { Permission } from '../../wire/permissions.ts'
import type { UserPrincipal } from '../http/principal.ts'
import type { Cover, Visibility } from '../http/visibility.ts'
import type { Condition } from '../store/filter.ts'

/** A caller's grants and refusals, separately: a row is judged by several views, and each needs both. */
interface Sides {
  allow: Visibility
  deny: Visibility
  unrestricted: boolean
}

/** Splits a caller's visibility. `allow` gives at most one condition per view, `deny` at most one negated. */
export function sidesOf(
  visibility: (principal: UserPrincipal, permission: Permission) => Visibility,
  principal: UserPrincipal,
  permission: Permission,
): Sides {
  return {
    allow: visibility({ ...principal, deny: [] }, permission),
    // Owners need no grants: only the refusals remain.
    deny: visibility({ ...principal, roles: ['owner'] }, permission),
    unrestricted: visibility(principal, permission).unrestricted,
  }
}

/** Where a target's row is found (alias as in `Visibility`), and the views that decide on it. */
interface TargetLookup {
  from: string
  key: string
  views: (visibility: Visibility) => Condition[]
}

// A channel is named `<interface>:<index>` or `<node>:<interface>:<index>`.
const BARE = `rtrim(rtrim(t.target_id, '0123456789'), ':')`
const CHANNEL = `x.id IN (${BARE}, substr(${BARE}, instr(${BARE}, ':') + 1))`
const AT_INDEX = `c.idx = CAST(substr(t.target_id, length(${BARE}) + 2) AS INTEGER)`
const THE_CHANNEL = `interfaces x LEFT JOIN channels c ON c.interface_id = x.id AND ${AT_INDEX}`
// A channel map's assignment is named by its id or, where it is written, by what it is for: `interface:<id>`, `node:<id>`.
const mapFor = (type: 'interface' | 'node'): string =>
  `(SELECT id FROM channel_map_assignments WHERE ${type}_id = substr(t.target_id, ${type.length + 2})
    AND t.target_id GLOB '${type}:*')`
const ASSIGNMENT = `x.id = coalesce(${mapFor('interface')}, ${mapFor('node')}, t.target_id)`
// A room of a node that serves several opens its own devices and channels only (docs/contract/access.md: Expansion).
const TARGET_LOOKUPS: Record<string, TargetLookup> = {
  channel: { from: THE_CHANNEL, key: CHANNEL, views: (r) => r.channels() },
  channel_map_assignment: { from: 'channel_map_assignments x', key: ASSIGNMENT, views: (r) => r.assignments() },
  health_event: { from: 'health_events h', key: 'h.id = t.target_id', views: (r) => r.healthEvents() },
  interface: { from: 'interfaces x', key: 'x.id = t.target_id', views: (r) => r.interfaces() },
  node: { from: 'nodes n', key: 'n.id = t.target_id', views: (r) => r.nodes() },
  recording: { from: 'recordings r', key: 'r.id = t.target_id', views: (r) => r.recordings() },
  recording_job: { from: 'recording_jobs j', key: 'j.id = t.target_id', views: (r) => r.jobs() },
  room: { from: 'rooms', key: 'rooms.id = t.target_id', views: (r) => r.rooms() },
  schedule: { from: 'schedules s', key: 's.id = t.target_id', views: (r) => r.schedules() },
}

/** Target types that are readable within the reader's scope only (docs/contract/audit.md: Reading). */
const SCOPED = [
  ...Object.keys(TARGET_LOOKUPS),
  'channel_map_assignment_plan',
  'channel_map_template',
  'recording_profile',
  'retention_policy',
  'notification_channel',
  'notification_rule',
  'upload_destination',
  'upload_policy',
  'upload_provider',
  'watchdog_policy',
]

export const SCOPED_LIST = SCOPED.map((type) => `'${type}'`).join(', ')

const joined = (parts: Condition[], word: 'AND' | 'OR'): Condition => ({
  sql: parts.map((c) => `(${c.sql})`).join(` ${word} `),
  params: Object.assign({}, ...parts.map((c) => c.params)),
})

/** `own` uses the same parameter names for every type: they are made unique here, and the condition is put on the target. */
const ownOf = (visibility: Visibility, type: string): Condition[] =>
  visibility.own(type).map(({ sql, params }) => ({
    sql: sql.replace(/@(\w+)/g, `@$1_${type}`).replaceAll('x.id', 't.target_id'),
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [`${name}_${type}`, value])),
  }))

const exists = ({ from, key }: TargetLookup, { sql, params }: Condition): Condition => ({
  sql: `EXISTS (SELECT 1 FROM ${from} WHERE ${key} AND (${sql}))`,
  params,
})

const negated = ({ sql, params }: Condition): Condition => ({ sql: `NOT (${sql})`, params })

const typed = (type: string): Condition => ({ sql: `t.type = '${type}' AND t.target_id <> ''`, params: {} })

/** A deleted target is still in scope of a grant on itself. */
function typeReadable({ allow, deny }: Sides, type: string): Condition {
  const place = TARGET_LOOKUPS[type]
  const allowed = ownOf(allow, type)
  const kept = ownOf(deny, type)
  if (place) {
    const [granted, refused] = [place.views(allow), place.views(deny)]
    if (granted.length > 0) allowed.push(exists(place, joined(granted, 'OR')))
    if (refused.length > 0) kept.push(negated(exists(place, negated(joined(refused, 'AND')))))
  }
  return joined([typed(type), ...(allowed.length > 0 ? [joined(allowed, 'OR')] : []), ...kept], 'AND')
}

/** Which targets a reader may see. */
export interface Readable {
  /** Whether no refusals apply: then exactly what `granted` covers is in scope. */
  exact: boolean
  /** Ids the grants cover; undefined for a caller who bypasses them. */
  granted: Cover | undefined
  /** On alias `t`: whether the target is of a scoped type and in the reader's scope. */
  inScope: Condition
  reader: string
}

/**
 * Which events a reader may see: their own, those without a target id, those of types that are not scoped, and those
 * whose target is in the reader's scope (docs/contract/audit.md: Reading). Undefined: all of them.
 */
export function readable(sides: Sides, reader: string): Readable | undefined {
  if (sides.unrestricted) return undefined
  const inScope = joined(
    SCOPED.map((type) => typeReadable(sides, type)),
    'OR',
  )
  return { exact: sides.deny.unrestricted, granted: sides.allow.granted, inScope, reader }
}

// Accounts, and what concerns the whole controller: visible to every auditor.
const UNSCOPED_TYPES: ReadonlySet<string> = new Set([
  ...['auth', 'controller', 'controller_settings', 'group', 'group_collection', 'session', 'session_collection'],
  ...['user', 'user_collection'],
])
/** Rows of switchers are readable, but their hosts and wiring only for callers who may see all switchers. */
function isKnown({ granted }: Readable, { id, type }: AuditEvent['target']): boolean {
  if (type !== 'switcher') return id !== undefined
  return !granted || granted.every.has('*') || granted.every.has('switcher')
}

const PUBLIC_DETAILS = ['method', 'path', 'requiredPermission', 'roles'] as const

/**
 * An action on many things at once has no target to judge it by: a reader with a limited scope sees who did it and how it
 * ended, not what it changed. Readers see all of their own actions.
 */
export function redactedFor(readable: Readable | undefined, event: AuditEvent): AuditEvent {
  const { actor, after: _, before: __, correlationIds: ___, details, target, ...rest } = event
  const open = !readable || actor.id === readable.reader || UNSCOPED_TYPES.has(target.type) || isKnown(readable, target)
  if (open) return event
  const plain = PUBLIC_DETAILS.flatMap((name) => (details[name] === undefined ? [] : [[name, details[name]]]))
  return { ...rest, actor, details: Object.fromEntries(plain), target }
}

/** A query for targets: the text after FROM, with the target as alias `t`, and the ids it starts from (`@within`, JSON). */
export interface TargetQuery {
  from: string
  within: string
}

/** Queries for the targets that the grants cover, without judging every target; some are found more than once. */
export function targetQueries(granted: Cover): TargetQuery[] {
  const sets = {
    ...{ nodes: granted.nodes, rooms: granted.rooms, schedules: granted.schedules },
    ...{ interfaces: granted.own('interface'), recordings: granted.own('recording') },
  }
  return SCOPED.flatMap((type) => {
    if (granted.every.has('*') || granted.every.has(type))
      return [{ from: `${TARGETS} WHERE ${typed(type).sql}`, within: '["*"]' }]
    // From the granted ids to the targets, each step by its index: CROSS JOIN fixes the order.
    const along = (way: string, ids: string): TargetQuery => ({
      from: `json_each(@within) w CROSS JOIN ${way} WHERE ${typed(type).sql}`,
      within: ids,
    })
    const ways = [along(NAMED, granted.own(type)), ...(PATHS[type] ?? []).map(([way, set]) => along(way, sets[set]))]
    return ways.filter(({ within }) => within !== '[]')
  })
}

const TARGETS = 'audit_targets t'
const NAMED = `${TARGETS} ON t.target_id = w.value`
const to = (from: string, id: string): string => `${from} CROSS JOIN ${TARGETS} ON t.target_id = ${id}`

type Path = readonly [way: string, set: 'interfaces' | 'nodes' | 'recordings' | 'rooms' | 'schedules']
const IN_ROOM = 'node_rooms p ON p.room_id = w.value'
// Channels of a room: its own, and those without a room of nodes that are in it.
const CHANNELS_IN_ROOM = [
  'channels c ON c.room_id = w.value CROSS JOIN interfaces x ON x.id = c.interface_id',
  `nodes n ON n.room_id = w.value CROSS JOIN interfaces x ON x.node_id = n.id
    CROSS JOIN channels c ON c.interface_id = x.id AND +c.room_id IS NULL`,
] as const
// An event of a take or of a schedule is not its node's.
const OF_NODE_ALONE = 'AND h.recording_id IS NULL AND h.schedule_id IS NULL'
const ofRecordings = (more: string, id: string): Path[] => [
  [to(`recordings r ON r.room_id = w.value ${more}`, id), 'rooms'],
  [to(`recordings r ON r.node_id = w.value ${more}`, id), 'nodes'],
  [to(`recordings r ON r.schedule_id = w.value ${more}`, id), 'schedules'],
]

const toMap = (from: string): string =>
  `${from} CROSS JOIN ${TARGETS} ON t.target_id IN (m.id, 'interface:' || m.interface_id, 'node:' || m.node_id)`
const OF_DEVICE = 'channel_map_assignments m ON m.interface_id = x.id'

const PATHS: Record<string, readonly Path[]> = {
  // Its name does not lead to a channel: every one is judged.
  channel: [
    [`interfaces x ON x.node_id = w.value CROSS JOIN ${TARGETS} ON ${CHANNEL}`, 'nodes'],
    [`interfaces x ON x.id = w.value CROSS JOIN ${TARGETS} ON ${CHANNEL}`, 'interfaces'],
    ...CHANNELS_IN_ROOM.map((way): Path => [`${way} CROSS JOIN ${TARGETS} ON ${CHANNEL} AND ${AT_INDEX}`, 'rooms']),
  ],
  channel_map_assignment: [
    [toMap('channel_map_assignments m ON m.node_id = w.value'), 'nodes'],
    [toMap(`interfaces x ON x.node_id = w.value CROSS JOIN ${OF_DEVICE}`), 'nodes'],
    [toMap('channel_map_assignments m ON m.interface_id = w.value'), 'interfaces'],
    [toMap(`${IN_ROOM} CROSS JOIN channel_map_assignments m ON m.node_id = p.node_id`), 'rooms'],
    ...CHANNELS_IN_ROOM.map((way): Path => [toMap(`${way} CROSS JOIN ${OF_DEVICE}`), 'rooms']),
  ],
  health_event: [
    ...ofRecordings('CROSS JOIN health_events h ON h.recording_id = r.id', 'h.id'),
    [to('health_events h ON h.recording_id = w.value', 'h.id'), 'recordings'],
    [to(`health_events h ON h.node_id = w.value ${OF_NODE_ALONE}`, 'h.id'), 'nodes'],
    [to('health_events h ON h.schedule_id = w.value', 'h.id'), 'schedules'],
    [to(`${IN_ROOM} CROSS JOIN health_events h ON h.node_id = p.node_id ${OF_NODE_ALONE}`, 'h.id'), 'rooms'],
  ],
  interface: [
    [to('interfaces x ON x.node_id = w.value', 'x.id'), 'nodes'],
    ...CHANNELS_IN_ROOM.map((way): Path => [to(way, 'x.id'), 'rooms']),
  ],
  node: [
    [NAMED, 'nodes'],
    [to(IN_ROOM, 'p.node_id'), 'rooms'],
  ],
  recording: ofRecordings('', 'r.id'),
  recording_job: [
    ...ofRecordings('CROSS JOIN recording_jobs j ON j.recording_id = r.id', 'j.id'),
    [to('recording_jobs j ON j.recording_id = w.value', 'j.id'), 'recordings'],
    [to('recording_jobs j ON j.node_id = w.value', 'j.id'), 'nodes'],
  ],
  room: [
    [NAMED, 'rooms'],
    [to('node_rooms p ON p.node_id = w.value', 'p.room_id'), 'nodes'],
  ],
  schedule: [[NAMED, 'schedules']],
}
