import type { Permission } from '../../wire/permissions.ts'
import type { Reach } from '../edge/reach.ts'
import type { UserWho } from '../edge/who.ts'
import type { Condition } from '../store/filter.ts'

/** What is granted and what is refused, apart: a row is judged by several views, and each needs both. */
export interface Sides {
  allow: Reach
  deny: Reach
  unrestricted: boolean
}

/** Takes a caller's reach apart. `allow` gives at most one condition per view, `deny` at most one negated. */
export function sidesOf(
  reach: (who: UserWho, permission: Permission) => Reach,
  who: UserWho,
  permission: Permission,
): Sides {
  return {
    allow: reach({ ...who, deny: [] }, permission),
    // Owners bypass what is granted: only the refusals are left.
    deny: reach({ ...who, roles: ['owner'] }, permission),
    unrestricted: reach(who, permission).unrestricted,
  }
}

type Side = 'allow' | 'deny'

/** Where a target's row is found (alias as in `Reach`), and the views that decide on it. */
interface Place {
  from: string
  key: string
  views: (reach: Reach, side: Side) => Condition[]
}

// A channel is named `<interface>:<index>` or `<node>:<interface>:<index>`.
const BARE = `rtrim(rtrim(a.target_id, '0123456789'), ':')`
const CHANNEL = `x.id IN (${BARE}, substr(${BARE}, instr(${BARE}, ':') + 1))`
const ON_NODE = 'interfaces x JOIN nodes n ON n.id = x.node_id'
const HEALTH = 'health_events x LEFT JOIN recordings r ON r.id = x.recording_id LEFT JOIN nodes n ON n.id = x.node_id'

// The recording decides; without one the node does.
const healthViews = (reach: Reach, side: Side): Condition[] => {
  const guard = side === 'allow' ? 'x.recording_id IS NULL AND' : 'x.recording_id IS NOT NULL OR'
  const nodes = reach.nodes().map(({ sql, params }) => ({ sql: `${guard} (${sql})`, params }))
  return [...reach.recordings(), ...nodes]
}

// Who sees a node sees it whole, so its interfaces and channels are judged by the node.
const PLACES: Record<string, Place> = {
  channel: { from: ON_NODE, key: CHANNEL, views: (r) => r.nodes() },
  health_event: { from: HEALTH, key: 'x.id = a.target_id', views: healthViews },
  interface: { from: ON_NODE, key: 'x.id = a.target_id', views: (r) => r.nodes() },
  node: { from: 'nodes n', key: 'n.id = a.target_id', views: (r) => r.nodes() },
  recording: { from: 'recordings r', key: 'r.id = a.target_id', views: (r) => r.recordings() },
  recording_job: { from: 'recording_jobs j', key: 'j.id = a.target_id', views: (r) => r.jobs() },
  room: { from: 'rooms', key: 'rooms.id = a.target_id', views: (r) => r.rooms() },
}

/** Target types that are readable within the reader's scope only (contract B, section 10). */
export const SCOPED = [
  ...Object.keys(PLACES),
  'channel_map_assignment_plan',
  'channel_map_template',
  'recording_profile',
  'retention_policy',
  'schedule',
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

/** `own` binds the same names for every type: each gets its own here, and looks at the event's target. */
const ownOf = (reach: Reach, type: string): Condition[] =>
  reach.own(type).map(({ sql, params }) => ({
    sql: sql.replace(/@(\w+)/g, `@$1_${type}`).replaceAll('x.id', 'a.target_id'),
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [`${name}_${type}`, value])),
  }))

const exists = ({ from, key }: Place, { sql, params }: Condition): Condition => ({
  sql: `EXISTS (SELECT 1 FROM ${from} WHERE ${key} AND (${sql}))`,
  params,
})

/** A target that is gone is still in scope of a grant on itself. */
function typeReadable({ allow, deny }: Sides, type: string): Condition {
  const place = PLACES[type]
  const allowed = ownOf(allow, type)
  const kept = ownOf(deny, type)
  if (place) {
    const [granted, refused] = [place.views(allow, 'allow'), place.views(deny, 'deny')]
    if (granted.length > 0) allowed.push(exists(place, joined(granted, 'OR')))
    if (refused.length > 0) kept.push(negated(exists(place, negated(joined(refused, 'AND')))))
  }
  const typed = { sql: `a.target_type = '${type}'`, params: {} }
  return joined([typed, ...(allowed.length > 0 ? [joined(allowed, 'OR')] : []), ...kept], 'AND')
}

const negated = ({ sql, params }: Condition): Condition => ({ sql: `NOT (${sql})`, params })

/**
 * Which events (alias `a`) the reader may see: their own, those without a target id, those of types that are not
 * scoped, and those whose target is in the reader's scope.
 */
export function readable(sides: Sides, readerId: string): Condition[] {
  if (sides.unrestricted) return []
  const open: Condition[] = [
    { sql: 'a.actor_id = @reader', params: { reader: readerId } },
    { sql: 'a.target_id IS NULL', params: {} },
    { sql: `a.target_type NOT IN (${SCOPED_LIST})`, params: {} },
  ]
  return [joined([...open, ...SCOPED.map((type) => typeReadable(sides, type))], 'OR')]
}

/** Health events within reach: FROM with alias `x`, and its conditions. */
export function healthWithin({ allow, deny, unrestricted }: Sides): { from: string; conditions: Condition[] } {
  if (unrestricted) return { from: 'health_events x', conditions: [] }
  const granted = [...healthViews(allow, 'allow'), ...allow.own('health_event')]
  const refused = [...healthViews(deny, 'deny'), ...deny.own('health_event')]
  return { from: HEALTH, conditions: [...(granted.length > 0 ? [joined(granted, 'OR')] : []), ...refused] }
}
