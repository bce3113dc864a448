import { found } from '../../../kernel/fail.ts'
import { folded } from '../../../kernel/fold.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { Enrollment, Heartbeat, Interface, Node, NodeFilters, NodePatch, NodeStatus } from '../../../wire/nodes.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, SqlValue } from '../../store/db.ts'
import { type Condition, contains, Lister, present, when, withMember } from '../../store/filter.ts'
import { type InterfaceFacts, interfaceStore } from './interfaces.store.ts'
import { nodeSearch } from './search.store.ts'
import { mustBeInUse, offlineBefore, problemsOf, SILENT, STATUS } from './status.rules.ts'

interface Row {
  agentVersion: string
  alias: string
  audioDefaults: string | null
  building: string | null
  floor: string | null
  hostname: string
  id: string
  ipAddresses: string
  lastSeenAt: string
  maxConcurrent: number | null
  notes: string | null
  room: string
  roomId: string | null
  runtime: string | null
  site: string
  status: NodeStatus
  tags: string
}

// Rows per turn of the event loop.
const EXPORT_SLICE = 100

const COLUMNS = `n.id, n.alias, n.hostname, n.site, n.room, n.building, n.floor, n.room_id AS roomId, ${STATUS} AS status,
  n.agent_version AS agentVersion, n.ip_addresses AS ipAddresses, n.tags, n.notes, n.audio_defaults AS audioDefaults,
  n.runtime, n.max_concurrent AS maxConcurrent, n.last_seen_at AS lastSeenAt`
const SEARCHED = `n.id IN (SELECT node_id FROM node_search WHERE words LIKE @words ESCAPE '\\')
  OR (${STATUS}) LIKE @q ESCAPE '\\'`
const BACKEND = `EXISTS (SELECT 1 FROM json_each(n.runtime, '$.audioBackends') WHERE value = @backend)
  OR EXISTS (SELECT 1 FROM interfaces i WHERE i.node_id = n.id AND i.backend = @backend)`

export function nodeStore(db: Db, ids: Ids, offlineAfterSeconds: number) {
  const search = nodeSearch(db)
  const interfaces = interfaceStore(db, ids, search)
  const lister = new Lister<Row>(db, { columns: COLUMNS, from: 'nodes n' })
  const byId = db.stmt<{ id: string; offlineBefore: string }, Row>(`SELECT ${COLUMNS} FROM nodes n WHERE n.id = @id`)
  const ofRoom = db.stmt<{ roomId: string; offlineBefore: string }, Row>(
    `SELECT ${COLUMNS} FROM nodes n WHERE n.id IN (SELECT node_id FROM node_rooms WHERE room_id = @roomId)
       AND n.status <> 'retired' ORDER BY n.alias, n.id`,
  )
  const exists = db.stmt<{ id: string }, { status: string }>(`SELECT status FROM nodes WHERE id = @id`)
  const insert = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO nodes (id, alias, hostname, site, room, building, floor, agent_version, ip_addresses, tags, notes, audio_defaults,
       runtime, max_concurrent, last_seen_at, created_at, updated_at)
     VALUES (@id, @alias, @hostname, @site, @room, @building, @floor, @agentVersion, @ipAddresses, @tags, @notes, @audioDefaults,
       @runtime, @maxConcurrent, @now, @now, @now)`,
  )
  const update = db.stmt<Record<string, SqlValue>>(
    `UPDATE nodes SET alias = @alias, hostname = @hostname, site = @site, room = @room, building = @building, floor = @floor,
       ip_addresses = @ipAddresses, tags = @tags, notes = @notes, audio_defaults = @audioDefaults, max_concurrent = @maxConcurrent,
       room_id = @roomId, updated_at = @now WHERE id = @id`,
  )
  const beat = db.stmt<Record<string, SqlValue>>(
    `UPDATE nodes SET agent_version = @agentVersion, hostname = @hostname, ip_addresses = @ipAddresses,
       runtime = coalesce(@runtime, runtime), status = @status, last_seen_at = @now WHERE id = @id`,
  )
  const silent = db.stmt<{ offlineBefore: string }, { id: string }>(
    `SELECT n.id FROM nodes n WHERE ${STATUS} = 'offline'`,
  )

  const silentSince = (now: string): string => offlineBefore(now, offlineAfterSeconds)
  const whole = (rows: Row[]): Node[] => {
    const byNode = interfaces.byNode(rows.map((row) => row.id))
    return rows.map((row) => shown(row, byNode.get(row.id) ?? []))
  }
  const find = (id: string, now: string): Node | undefined => {
    const row = byId.get({ id, offlineBefore: silentSince(now) })
    return row && whole([row])[0]
  }
  const get = (id: string, now: string): Node => found(find(id, now), 'Node')
  const withFacts = factsReader(interfaces)
  const within = (visibility: Visibility, now: string): Condition[] => [
    // Always bound: the status column needs it.
    { sql: '1', params: { offlineBefore: silentSince(now) } },
    ...visibility.nodes(),
  ]
  const seen = (visibility: Visibility, f: NodeFilters, now: string): Condition[] => [
    ...within(visibility, now),
    ...matching(f),
  ]

  return {
    interfaces,
    find,
    /** Ids of those that are offline. */
    offline: (now: string): string[] => silent.all({ offlineBefore: silentSince(now) }).map(({ id }) => id),
    get,
    mustExist: (id: string): void => void found(exists.get({ id }), 'Node'),
    /** @throws Fail 404, or 409 `node_retired`. */
    mustServe: (id: string): void => mustBeInUse(found(exists.get({ id }), 'Node')),
    /** A page; `rows` are nodes as JSON: devices may have hundreds of channels each. */
    list(visibility: Visibility, f: NodeFilters, limit: number, now: string): { rows: string[]; total: number } {
      const { rows, total } = lister.page(seen(visibility, f, now), 'n.alias, n.id', limit, f.offset ?? 0)
      const ids = rows.map((row) => row.id)
      const devices = interfaces.told(ids)
      return { rows: rows.map((row) => jsonOf(row, devices.get(row.id))), total }
    },
    /** Every node that matches, in the order of the list; slice by slice, channels left out. */
    *exported(visibility: Visibility, f: NodeFilters, now: string): Generator<ExportedNode[]> {
      const order = { direction: 'ASC', keys: ['n.alias', 'n.id'] } as const
      for (const rows of lister.walk(seen(visibility, f, now), order, EXPORT_SLICE)) yield withFacts(rows)
    },
    /** These nodes in the given order, as far as the caller may see them. */
    chosen(visibility: Visibility, wanted: readonly string[], now: string): ExportedNode[] {
      const named = {
        sql: 'n.id IN (SELECT value FROM json_each(@wanted))',
        params: { wanted: JSON.stringify(wanted) },
      }
      const rows = lister.rows([...within(visibility, now), named], 'n.id', wanted.length, 0)
      const byId = new Map(rows.map((row) => [row.id, row]))
      return withFacts(wanted.flatMap((id) => byId.get(id) ?? []))
    },
    /** Nodes with the room as their own or as one of a channel, by alias. */
    inRoom: (roomId: string, now: string): Node[] => whole(ofRoom.all({ roomId, offlineBefore: silentSince(now) })),
    enroll(id: string, input: Enrollment, now: string): Node {
      insert.run({
        ...columns({ ...input, roomId: null }),
        agentVersion: input.agentVersion,
        runtime: json(input.runtime),
        id,
        now,
      })
      interfaces.expect(id, input.interfaces)
      search.index(id)
      return get(id, now)
    },
    patch(id: string, patch: NodePatch, now: string): { before: Node; after: Node } {
      const before = get(id, now)
      const location = { ...before.location, ...patch.location }
      update.run({ ...columns({ ...before, roomId: before.roomId ?? null, ...patch, location }), id, now })
      search.index(id)
      return { before, after: get(id, now) }
    },
    /** Stores a heartbeat; `changed` unless only the time of the last contact did. */
    heartbeat(id: string, h: Omit<Heartbeat, 'kept'>, now: string): { before: Node; after: Node; changed: boolean } {
      const before = get(id, now)
      const status = SILENT.has(h.status) ? 'online' : h.status
      const ipAddresses = JSON.stringify(h.ipAddresses)
      beat.run({
        id,
        agentVersion: h.agentVersion,
        hostname: h.hostname,
        ipAddresses,
        runtime: json(h.runtime),
        status,
        now,
      })
      const runtime = h.runtime ?? before.runtime
      const after = judged(present({ ...before, ...pick(h), runtime, status, lastSeenAt: now }) as Node)
      const changed = steady(before) !== steady(after)
      if (changed) search.index(id)
      return { before, after, changed }
    },
  }
}
export type NodeStore = ReturnType<typeof nodeStore>

/** A node with its devices, whole or without their channels. */
type NodeWith<D> = Omit<Node, 'interfaces'> & { interfaces: D[] }

/** A node for an export, its devices without channels. */
export type ExportedNode = Omit<Node, 'interfaces'> & { interfaces: InterfaceFacts[] }

const matching = (f: NodeFilters): Condition[] => [
  { sql: f.retired === '1' ? `n.status = 'retired'` : `n.status <> 'retired'`, params: {} },
  ...when(f.status, `${STATUS} = @status`, (status) => ({ status })),
  ...when(f.agentVersion, 'n.agent_version = @agentVersion', (agentVersion) => ({ agentVersion })),
  ...when(f.backend, BACKEND, (backend) => ({ backend })),
  ...(['site', 'building', 'floor', 'room'] as const).flatMap((place) =>
    when(f[place], `n.${place} = @${place} COLLATE NOCASE`, (value) => ({ [place]: value })),
  ),
  ...when(f.lastSeenFrom, 'n.last_seen_at >= @from', (from) => ({ from })),
  ...when(f.lastSeenTo, 'n.last_seen_at <= @to', (to) => ({ to })),
  ...when(f.q, SEARCHED, (q) => ({ q: contains(q), words: contains(folded(q)) })),
]

/** What audit rows keep of a node: facts and labels, the interfaces as a count. */
export const snapshot = ({ interfaces, ...node }: Node): object => ({ ...node, interfaceCount: interfaces.length })

const pick = (h: Heartbeat) => ({ agentVersion: h.agentVersion, hostname: h.hostname, ipAddresses: h.ipAddresses })

// What changes with every heartbeat is not counted as a change: uptime, disk, and by how much a wrong clock is wrong.
const steady = (n: Node): string => {
  const { clock, disk: _, uptimeSeconds: __, ...runtime } = n.runtime ?? { audioBackends: [] }
  const time = [clock?.synced, clock?.skewSeconds !== undefined]
  return JSON.stringify([n.agentVersion, n.hostname, n.ipAddresses, n.status, runtime, time])
}

const json = (value: unknown): string | null =>
  value === undefined || value === null || Object.keys(value).length === 0 ? null : JSON.stringify(value)

interface Editable {
  alias: string
  audioDefaults?: object | undefined
  hostname: string
  ipAddresses: string[]
  location: { site: string; room: string; building?: string | null; floor?: string | null }
  notes?: string | null | undefined
  recordingCapacity?: { maxConcurrentRecordings: number } | undefined
  roomId: string | null
  tags: string[]
}

const columns = (n: Editable): Record<string, SqlValue> => ({
  alias: n.alias,
  hostname: n.hostname,
  site: n.location.site,
  room: n.location.room,
  building: n.location.building ?? null,
  floor: n.location.floor ?? null,
  ipAddresses: JSON.stringify(n.ipAddresses),
  tags: JSON.stringify(n.tags),
  notes: n.notes || null,
  audioDefaults: json(n.audioDefaults),
  maxConcurrent: n.recordingCapacity?.maxConcurrentRecordings ?? null,
  roomId: n.roomId,
})

/** Nodes with their devices, channels left out. */
const factsReader =
  (interfaces: ReturnType<typeof interfaceStore>) =>
  (rows: Row[]): ExportedNode[] => {
    const byNode = interfaces.facts(rows.map((row) => row.id))
    return rows.map((row) => ({ ...shown(row, []), interfaces: byNode.get(row.id) ?? [] }))
  }

type Told = ReturnType<ReturnType<typeof interfaceStore>['told']> extends Map<string, infer T> ? T : never

function jsonOf(row: Row, { facts, json }: Told = { facts: [], json: '[]' }): string {
  const { interfaces: _, ...node } = shown(row, facts)
  return withMember(node, 'interfaces', json)
}

function shown<D extends Omit<Interface, 'channels'>>(row: Row, interfaces: D[]): NodeWith<D> {
  const { site, room, building, floor } = row
  return judged(
    present({
      id: row.id,
      alias: row.alias,
      hostname: row.hostname,
      location: present({ site, room, building, floor }),
      interfaces,
      agentVersion: row.agentVersion,
      ipAddresses: JSON.parse(row.ipAddresses) as string[],
      lastSeenAt: row.lastSeenAt,
      status: row.status,
      tags: JSON.parse(row.tags) as string[],
      notes: row.notes,
      roomId: row.roomId,
      audioDefaults: row.audioDefaults === null ? null : JSON.parse(row.audioDefaults),
      recordingCapacity: row.maxConcurrent === null ? null : { maxConcurrentRecordings: row.maxConcurrent },
      runtime: row.runtime === null ? null : JSON.parse(row.runtime),
    }) as NodeWith<D>,
  )
}

/** The node with its current problems. */
function judged<D extends Omit<Interface, 'channels'>>({ problems: _, ...node }: NodeWith<D>): NodeWith<D> {
  const problems = problemsOf(node)
  return problems.length > 0 ? { ...node, problems } : node
}
