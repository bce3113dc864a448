import { CAPABILITY_OF, type Permission } from '../../wire/permissions.ts'
import type { Db } from '../store/db.ts'
import type { Condition } from '../store/filter.ts'
import { bypasses } from './scope.ts'
import type { Pair, UserWho } from './who.ts'

/** Ids one side (allow or deny) covers, each as a JSON array for `json_each`. */
interface Cover {
  /** Types covered whole by a `*` id. */
  every: ReadonlySet<string>
  /** Nodes covered by themselves or their site: full authority, a room does not count. */
  nodes: string
  own: (type: string) => string
  rooms: string
  schedules: string
}

/** What a caller sees of lists: the scope rules turned into conditions, so that SQL filters, counts and pages. */
export interface Reach {
  nodes(): Condition[]
  recordings(): Condition[]
  /** A job is reached through its recording, its own node, or itself. */
  jobs(): Condition[]
  rooms(): Condition[]
  schedules(): Condition[]
  /** An event is reached through itself or through any one thing it names; one that names nothing is everybody's. */
  healthEvents(): Condition[]
  /** Resources that expand to nothing but themselves: profiles, policies, templates. */
  own(type: string): Condition[]
  /** No condition at all applies. */
  readonly unrestricted: boolean
}

const ids = (value: Iterable<string>): string => JSON.stringify([...value])
const listed = (name: string): string => `(SELECT value FROM json_each(@${name}))`

/** Conditions speak of fixed aliases: `n` nodes, `r` recordings, `j` jobs, `s` schedules, `h` health events, `rooms`, `x` for resources of their own kind. */
export function reaches(db: Db): (who: UserWho, permission: Permission) => Reach {
  const nodesOf = db.stmt<{ nodes: string; sites: string }, { id: string }>(
    `SELECT id FROM nodes WHERE id IN ${listed('nodes')} UNION SELECT id FROM nodes WHERE site IN ${listed('sites')}`,
  )
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
    const rooms = ids(whole('room') ? everyRoom.all({}).map((row) => row.id) : [...of('room'), ...capabilityRooms])
    const scheduleRows = whole('schedule')
      ? everySchedule.all({})
      : schedulesOf.all({ own: ids(of('schedule')), rooms, nodes })
    const schedules = ids(scheduleRows.map((row) => row.id))
    return { every, nodes, own: (type) => ids(of(type)), rooms, schedules }
  }

  return (who, permission) => {
    const capability = CAPABILITY_OF[permission]
    const capable = [...who.rooms]
      .filter(([, held]) => capability !== undefined && held.has(capability))
      .map(([id]) => id)
    const allow = bypasses(who) ? undefined : cover(who.allow, capable)
    const deny = who.deny.length > 0 ? cover(who.deny, []) : undefined
    const both = (parts: (side: Cover, tag: string) => Condition): Condition[] => [
      ...(allow ? [parts(allow, 'allow')] : []),
      ...(deny ? [negated(parts(deny, 'deny'))] : []),
    ]
    return {
      unrestricted: !allow && !deny,
      nodes: () => both(nodesWithin),
      own: (type) => both((side, tag) => ownWithin(side, tag, type)),
      recordings: () => both(recordingsWithin),
      jobs: () => both(jobsWithin),
      rooms: () => both(roomsWithin),
      schedules: () => both(schedulesWithin),
      healthEvents: () => both(healthWithin),
    }
  }
}

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
    sql: `j.recording_id IN (SELECT r.id FROM recordings r WHERE ${sql})
      OR j.id IN ${listed(`${tag}Jobs`)} OR j.node_id IN ${listed(`${tag}Nodes`)}`,
    params: { ...params, [`${tag}Jobs`]: side.own('recording_job'), [`${tag}Nodes`]: side.nodes },
  }
}

function roomsWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'room')) return EVERYTHING
  const own = { sql: `rooms.id IN ${listed(`${tag}Rooms`)}`, params: { [`${tag}Rooms`]: side.rooms } }
  // Full authority over a node shows its rooms; refusing a node does not hide a room that others are in.
  if (tag === 'deny') return own
  return {
    sql: `${own.sql} OR rooms.id IN (SELECT room_id FROM node_rooms WHERE node_id IN ${listed(`${tag}Nodes`)})`,
    params: { ...own.params, [`${tag}Nodes`]: side.nodes },
  }
}

function schedulesWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'schedule')) return EVERYTHING
  return { sql: `s.id IN ${listed(`${tag}Schedules`)}`, params: { [`${tag}Schedules`]: side.schedules } }
}

// The gate looks at the recording first, then the schedule, then the node (contract A, 1.2); so does the list.
function healthWithin(side: Cover, tag: string): Condition {
  if (covers(side, 'health_event')) return EVERYTHING
  const recordings = recordingsWithin(side, tag)
  const nodes = nodesWithin(side, tag)
  const allowed = tag === 'allow' ? `OR coalesce(h.recording_id, h.schedule_id, h.node_id) IS NULL` : ''
  return {
    sql: `h.id IN ${listed(`${tag}Events`)} ${allowed}
      OR h.recording_id IN (SELECT r.id FROM recordings r WHERE ${recordings.sql})
      OR (h.recording_id IS NULL AND h.schedule_id IN ${listed(`${tag}Schedules`)})
      OR (h.recording_id IS NULL AND h.schedule_id IS NULL AND h.node_id IN (SELECT n.id FROM nodes n WHERE ${nodes.sql}))`,
    params: {
      ...recordings.params,
      ...nodes.params,
      [`${tag}Events`]: side.own('health_event'),
      [`${tag}Schedules`]: side.schedules,
    },
  }
}

function ownWithin(side: Cover, tag: string, type: string): Condition {
  if (covers(side, type)) return EVERYTHING
  return { sql: `x.id IN ${listed(`${tag}Own`)}`, params: { [`${tag}Own`]: side.own(type) } }
}
