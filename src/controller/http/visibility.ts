import { CAPABILITY_OF, type Permission } from '../../wire/permissions.ts'
import type { Db } from '../store/db.ts'
import type { Condition } from '../store/filter.ts'
import type { Pair, UserPrincipal } from './principal.ts'
import { bypasses } from './scope.ts'

/** Ids one side (allow or deny) covers, each as a JSON array for `json_each`. */
export interface Cover {
  /** Types covered whole by a `*` id. */
  every: ReadonlySet<string>
  /** Nodes covered by themselves or their site: full authority, a room does not count. */
  nodes: string
  own: (type: string) => string
  rooms: string
  schedules: string
}

/** What a caller sees of lists: the scope rules turned into conditions, so that SQL filters, counts and pages. */
export interface Visibility {
  nodes(): Condition[]
  recordings(): Condition[]
  /** A job is reached through its recording, its own node, or itself. */
  jobs(): Condition[]
  /** The same for counted groups of jobs: `r` has what their recordings share, `j` their node. No grant names a group. */
  jobCells(): Condition[]
  rooms(): Condition[]
  /** A device (`x`) by itself, its node, or a room of its own channels (docs/contract/access.md: Expansion). */
  interfaces(): Condition[]
  /** A channel (`c`, of device `x`) by its device, node or own room; a grant on the channel itself is `own`. */
  channels(): Condition[]
  schedules(): Condition[]
  /** A channel map is reached through itself or through the interface or node that has it. */
  assignments(): Condition[]
  /** An event is reached through itself, its recording, its schedule, or as one of neither through its node. */
  healthEvents(): Condition[]
  /** The same for counted groups of events: `r` has what their recordings share, `h` the other columns. */
  healthCells(): Condition[]
  /** Resources that expand to nothing but themselves: profiles, policies, templates. */
  own(type: string): Condition[]
  /** A switcher (`x`) is reached through itself or a room wired to it. */
  switchers(): Condition[]
  /** Ids of one type that a grant or a refusal names individually. */
  named(type: string): string[]
  /** What grants and allow policies cover; undefined for a caller who bypasses them. */
  readonly granted: Cover | undefined
  /** No condition at all applies. */
  readonly unrestricted: boolean
}

const ids = (value: Iterable<string>): string => JSON.stringify([...value])
const listed = (name: string): string => `(SELECT value FROM json_each(@${name}))`

/** Conditions speak of fixed aliases: `n` nodes, `r` recordings, `j` jobs, `s` schedules, `h` health events, `rooms`, `x` for resources of their own kind. */
export function visibilities(db: Db): (principal: UserPrincipal, permission: Permission) => Visibility {
  const nodesOf = db.stmt<{ nodes: string; sites: string }, { id: string }>(
    `SELECT id FROM nodes WHERE id IN ${listed('nodes')} UNION SELECT id FROM nodes WHERE site IN ${listed('sites')}`,
  )
  const roomsOf = db.stmt<{ sites: string }, { id: string }>(`SELECT id FROM rooms WHERE site IN ${listed('sites')}`)
  const everyNode = db.stmt<object, { id: string }>(`SELECT id FROM nodes`)
  const everyRoom = db.stmt<object, { id: string }>(`SELECT id FROM rooms`)
  const everySchedule = db.stmt<object, { id: string }>(`SELECT id FROM schedules`)
  const schedulesOf = db.stmt<{ own: string; rooms: string; nodes: string }, { id: string }>(
    `SELECT id FROM schedules WHERE id IN ${listed('own')}
     UNION SELECT id FROM schedules WHERE room_id IN ${listed('rooms')}
     UNION SELECT id FROM schedules WHERE node_id IN ${listed('nodes')}`,
  )

  const cover = (pairs: Pair[], capabilityRooms: string[]): Cover => {
    const of = (type: string) => pairs.filter((p) => p.type === type || p.type === '*').map((p) => p.id)
    const every = new Set(pairs.filter((p) => p.id === '*').map((p) => p.type))
    const whole = (type: string) => every.has('*') || every.has(type)
    const nodeRows =
      whole('node') || whole('site')
        ? everyNode.all({})
        : nodesOf.all({ nodes: ids(of('node')), sites: ids(of('site')) })
    const nodes = ids(nodeRows.map((row) => row.id))
    const roomRows = whole('room') || whole('site') ? everyRoom.all({}) : roomsOf.all({ sites: ids(of('site')) })
    const rooms = ids(new Set([...roomRows.map((row) => row.id), ...of('room'), ...capabilityRooms]))
    let schedules: string | undefined
    const listSchedules = () =>
      whole('schedule') ? everySchedule.all({}) : schedulesOf.all({ own: ids(of('schedule')), rooms, nodes })
    return {
      every,
      nodes,
      own: (type) => ids(of(type)),
      rooms,
      // Possibly tens of thousands of ids: read only where things are judged by their schedule.
      get schedules() {
        schedules ??= ids(listSchedules().map((row) => row.id))
        return schedules
      },
    }
  }

  return (principal, permission) => {
    const capability = CAPABILITY_OF[permission]
    const capable = [...principal.rooms]
      .filter(([, held]) => capability !== undefined && held.has(capability))
      .map(([id]) => id)
    const allow = bypasses(principal) ? undefined : cover(principal.allow, capable)
    const deny = principal.deny.length > 0 ? cover(principal.deny, []) : undefined
    const both = (parts: (side: Cover, tag: string) => Condition): Condition[] => [
      ...(allow ? [parts(allow, 'allow')] : []),
      ...(deny ? [negated(parts(deny, 'deny'))] : []),
    ]
    return {
      granted: allow,
      unrestricted: !allow && !deny,
      nodes: () => both(nodesWithin),
      own: (type) => both((side, tag) => ownWithin(side, tag, type)),
      switchers: () => both(switchersWithin),
      named: (type) => namedBy(allow ? [...principal.allow, ...principal.deny] : principal.deny, type),
      recordings: () => both(recordingsWithin),
      jobs: () => both(jobsWithin),
      jobCells: () => both(jobCellsWithin),
      rooms: () => both((side, tag) => roomsWithin(side, tag, deny)),
      interfaces: () => both(interfacesWithin),
      channels: () => both(channelsWithin),
      schedules: () => both(schedulesWithin),
      assignments: () => both(assignmentsWithin),
      healthEvents: () => both(healthWithin),
      healthCells: () => both(healthCellsWithin),
    }
  }
}

const namedBy = (pairs: Pair[], type: string): string[] =>
  pairs.filter((p) => (p.type === type || p.type === '*') && p.id !== '*').map((p) => p.id)

const covers = (side: Cover, type: string): boolean => side.every.has('*') || side.every.has(type)
const EVERYTHING: Condition = { sql: '1', params: {} }

// `coalesce`: a comparison with a NULL column is no match, and must stay one under NOT.
const negated = (c: Condition): Condition => ({ sql: `NOT coalesce((${c.sql}), 0)`, params: c.params })

function nodesWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'node')) return EVERYTHING
  return {
    sql: `n.id IN ${listed(`${tag}Nodes`)} OR n.id IN (SELECT node_id FROM node_rooms WHERE room_id IN ${listed(`${tag}Rooms`)})`,
    params: { [`${tag}Nodes`]: side.nodes, [`${tag}Rooms`]: side.rooms },
  }
}

function recordingsWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'recording')) return EVERYTHING
  const either = ['r.id', 'r.room_id', 'r.node_id', 'r.schedule_id']
  const names = ['Recordings', 'Rooms', 'Nodes', 'Schedules'].map((name) => tag + name)
  const values = [side.own('recording'), side.rooms, side.nodes, side.schedules]
  return {
    sql: either.map((column, i) => `${column} IN ${listed(names[i] as string)}`).join(' OR '),
    params: Object.fromEntries(names.map((name, i) => [name, values[i] as string])),
  }
}

function jobsWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'recording_job')) return EVERYTHING
  const { sql, params } = recordingsWithin(side, tag)
  return {
    // Looked up job by job: the caller may see hundreds of thousands of recordings.
    sql: `EXISTS (SELECT 1 FROM recordings r WHERE r.id = j.recording_id AND (${sql}))
      OR j.id IN ${listed(`${tag}Jobs`)} OR j.node_id IN ${listed(`${tag}Nodes`)}`,
    params: { ...params, [`${tag}Jobs`]: side.own('recording_job'), [`${tag}Nodes`]: side.nodes },
  }
}

function jobCellsWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'recording_job')) return EVERYTHING
  const { sql, params } = recordingsWithin(side, tag)
  return { sql: `${sql} OR j.node_id IN ${listed(`${tag}Nodes`)}`, params: { ...params, [`${tag}Nodes`]: side.nodes } }
}

function roomsWithin(side: Cover, tag: string, deny: Cover | undefined): Condition {
  if (covers(side, 'room')) return EVERYTHING
  const own = { sql: `rooms.id IN ${listed(`${tag}Rooms`)}`, params: { [`${tag}Rooms`]: side.rooms } }
  // Full authority over a node shows its rooms, and a refusal of the node takes that authority away (docs/contract/access.md:
  // Visible sets); a room that is reached in another way stays.
  if (tag === 'deny') return own
  return {
    sql: `${own.sql} OR rooms.id IN (SELECT room_id FROM node_rooms WHERE node_id IN ${listed(`${tag}Nodes`)}
      AND node_id NOT IN ${listed('refusedNodes')})`,
    params: { ...own.params, [`${tag}Nodes`]: side.nodes, refusedNodes: deny?.nodes ?? '[]' },
  }
}

function schedulesWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'schedule')) return EVERYTHING
  // Not `Schedules`: in a statement with recordings that parameter holds every covered schedule, whatever covers it.
  const names = ['OwnSchedules', 'Rooms', 'Nodes'].map((name) => tag + name)
  const values = [side.own('schedule'), side.rooms, side.nodes]
  return {
    sql: ['s.id', 's.room_id', 's.node_id']
      .map((column, i) => `${column} IN ${listed(names[i] as string)}`)
      .join(' OR '),
    params: Object.fromEntries(names.map((name, i) => [name, values[i] as string])),
  }
}

// The room a channel of device `x` is really in.
const EFFECTIVE_ROOM = 'coalesce(c.room_id, (SELECT room_id FROM nodes WHERE id = x.node_id))'

function interfacesWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'interface')) return EVERYTHING
  return {
    sql: `x.id IN ${listed(`${tag}Interfaces`)} OR x.node_id IN ${listed(`${tag}Nodes`)} OR EXISTS (SELECT 1 FROM channels c
      WHERE c.interface_id = x.id AND ${EFFECTIVE_ROOM} IN ${listed(`${tag}Rooms`)})`,
    params: { [`${tag}Interfaces`]: side.own('interface'), [`${tag}Nodes`]: side.nodes, [`${tag}Rooms`]: side.rooms },
  }
}

function channelsWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'interface') || covers(side, 'channel')) return EVERYTHING
  return {
    sql: `x.id IN ${listed(`${tag}Interfaces`)} OR x.node_id IN ${listed(`${tag}Nodes`)}
      OR ${EFFECTIVE_ROOM} IN ${listed(`${tag}Rooms`)}`,
    params: { [`${tag}Interfaces`]: side.own('interface'), [`${tag}Nodes`]: side.nodes, [`${tag}Rooms`]: side.rooms },
  }
}

function assignmentsWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'channel_map_assignment')) return EVERYTHING
  const [nodes, rooms] = [listed(`${tag}Nodes`), listed(`${tag}Rooms`)]
  const interfaces = covers(side, 'interface') ? '1' : `x.interface_id IN ${listed(`${tag}Interfaces`)}`
  return {
    sql: `x.id IN ${listed(`${tag}Own`)} OR x.node_id IN ${nodes}
      OR x.node_id IN (SELECT node_id FROM node_rooms WHERE room_id IN ${rooms})
      OR (x.interface_id IS NOT NULL AND (${interfaces}
        OR x.interface_id IN (SELECT id FROM interfaces WHERE node_id IN ${nodes})
        OR x.interface_id IN (SELECT interface_id FROM channels WHERE room_id IN ${rooms}
            UNION ALL SELECT i.id FROM nodes n CROSS JOIN interfaces i ON i.node_id = n.id WHERE n.room_id IN ${rooms}
              AND EXISTS (SELECT 1 FROM channels c WHERE c.interface_id = i.id AND +c.room_id IS NULL))))`,
    params: {
      [`${tag}Own`]: side.own('channel_map_assignment'),
      [`${tag}Nodes`]: side.nodes,
      [`${tag}Rooms`]: side.rooms,
      ...(covers(side, 'interface') ? {} : { [`${tag}Interfaces`]: side.own('interface') }),
    },
  }
}

// As the gate expands an event (docs/contract/access.md: Expansion): by its recording, and by its schedule; one that has
// neither by its node. Looked up event by event: the caller may see hundreds of thousands of recordings.
function healthWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'health_event')) return EVERYTHING
  const recordings = recordingsWithin(side, tag)
  const nodes = nodesWithin(side, tag)
  const recording = covers(side, 'recording')
    ? 'h.recording_id IS NOT NULL'
    : `h.recording_id IN ${listed(`${tag}Recordings`)}
      OR EXISTS (SELECT 1 FROM recordings r WHERE r.id = h.recording_id AND (${recordings.sql}))`
  const node = covers(side, 'node')
    ? 'h.node_id IS NOT NULL'
    : `EXISTS (SELECT 1 FROM nodes n WHERE n.id = h.node_id AND (${nodes.sql}))`
  return {
    sql: `h.id IN ${listed(`${tag}Events`)} OR h.schedule_id IN ${listed(`${tag}Schedules`)} OR ${recording}
      OR (h.recording_id IS NULL AND h.schedule_id IS NULL AND ${node})`,
    params: {
      ...recordings.params,
      ...nodes.params,
      [`${tag}Events`]: side.own('health_event'),
      [`${tag}Schedules`]: side.schedules,
    },
  }
}

function healthCellsWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'health_event')) return EVERYTHING
  const recordings = recordingsWithin(side, tag)
  const nodes = nodesWithin(side, tag)
  const recording = covers(side, 'recording') ? 'h.of_recording = 1' : recordings.sql
  const node = covers(side, 'node')
    ? 'h.node_id IS NOT NULL'
    : `EXISTS (SELECT 1 FROM nodes n WHERE n.id = h.node_id AND (${nodes.sql}))`
  return {
    sql: `h.schedule_id IN ${listed(`${tag}Schedules`)} OR ${recording}
      OR (h.of_recording = 0 AND h.schedule_id IS NULL AND ${node})`,
    params: { ...recordings.params, ...nodes.params, [`${tag}Schedules`]: side.schedules },
  }
}

function switchersWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'switcher')) return EVERYTHING
  return {
    sql: `x.id IN ${listed(`${tag}Own`)}
      OR x.id IN (SELECT switcher_id FROM switcher_inputs WHERE room_id IN ${listed(`${tag}Rooms`)})`,
    params: { [`${tag}Own`]: side.own('switcher'), [`${tag}Rooms`]: side.rooms },
  }
}

function ownWithin(side: Cover, tag: string, type: string): Condition {
  if (covers(side, type)) return EVERYTHING
  return { sql: `x.id IN ${listed(`${tag}Own`)}`, params: { [`${tag}Own`]: side.own(type) } }
}
