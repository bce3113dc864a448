import { invalid } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { Channel, Interface, InterfaceInput, InterfacePatch, ReconcileSummary } from '../../../wire/nodes.ts'
import type { Db, SqlValue } from '../../store/db.ts'
import { present, withMember } from '../../store/filter.ts'
import { channelRows, type Hardware, type Known, matchKey, type Plan, reconcile } from './reconcile.rules.ts'
import type { NodeSearch } from './search.store.ts'

interface Row {
  absent: number
  alias: string
  backend: Interface['backend']
  channelCount: number
  /** JSON in wire format, in order: a page of a large fleet has tens of thousands of channels. */
  channels: string
  hardwarePath: string | null
  id: string
  matchKey: string
  nodeId: string
  sampleRates: string
  serialNumber: string | null
  systemName: string
  systemRef: string
}

export type InterfaceFacts = Omit<Row, 'channels' | 'sampleRates'> & { sampleRates: number[] }

const FACTS = `id, node_id AS nodeId, match_key AS matchKey, system_ref AS systemRef, system_name AS systemName, alias, backend,
  channel_count AS channelCount, sample_rates AS sampleRates, hardware_path AS hardwarePath, serial_number AS serialNumber, absent`
const CHANNELS = `(SELECT '[' || coalesce(group_concat('{"alias":' || json_quote(c.alias) || ',"index":' || idx
    || CASE WHEN room_id IS NULL THEN '}' ELSE ',"roomId":' || json_quote(room_id) || '}' END, ',' ORDER BY idx), '') || ']'
  FROM channels c WHERE interface_id = interfaces.id AND c.idx <= interfaces.channel_count)`
const COLUMNS = `${FACTS}, coalesce(channels_json, ${CHANNELS}) AS channels`
// Nodes whose channels are put together by one statement: some milliseconds.
const TOLD = 25
const OF_NODES = 'node_id IN (SELECT value FROM json_each(@nodes))'

/** Interfaces that a person entered and that no recorder has reported yet. */
function placeholders(db: Db) {
  const expected = db.stmt<{ nodeId: string }>(`UPDATE interfaces SET placeholder = 1 WHERE node_id = @nodeId`)
  const met = db.stmt<{ nodeId: string; keys: string }>(
    `UPDATE interfaces SET placeholder = 0
      WHERE node_id = @nodeId AND placeholder = 1 AND match_key IN (SELECT value FROM json_each(@keys))`,
  )
  const vanish = db.stmt<{ id: string }>(
    `DELETE FROM interfaces AS i WHERE i.id = @id AND i.placeholder = 1
        AND NOT EXISTS (SELECT 1 FROM channels WHERE interface_id = i.id AND room_id IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM channel_map_assignments WHERE interface_id = i.id)
        AND NOT EXISTS (SELECT 1 FROM schedules WHERE capture_interface_id = i.id)
        AND NOT EXISTS (SELECT 1 FROM recording_jobs WHERE node_id = i.node_id AND capture_interface = i.id)`,
  )
  return {
    /** Marks all interfaces of the node. */
    expect: (nodeId: string): void => void expected.run({ nodeId }),
    /** Unmarks the reported ones. */
    meet: (nodeId: string, reported: readonly InterfaceInput[]): void =>
      void met.run({ nodeId, keys: JSON.stringify(reported.map(matchKey)) }),
    /** Removes one that nothing refers to; false when it stays, or is not a placeholder. */
    vanish: (id: string): boolean => vanish.run({ id }) === 1,
  }
}

/**
 * Limits per node, channels over all its interfaces: node lists and every heartbeat read them, and a node that invents devices
 * must not slow down the others.
 */
const MAX_INTERFACES = 256
const MAX_CHANNELS = 2048

const IDLE = `SELECT id, channel_count AS channelCount FROM interfaces i
  WHERE node_id = @nodeId AND absent = 1 AND labelled = 0
    AND NOT EXISTS (SELECT 1 FROM channels c WHERE c.interface_id = i.id AND c.room_id IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM schedules s WHERE s.capture_interface_id = i.id)
    AND NOT EXISTS (SELECT 1 FROM channel_map_assignments a WHERE a.interface_id = i.id)
  ORDER BY position`

/** Removes absent, unlabelled and unused devices, oldest first, until the added ones fit. @throws Fail 400 when they do not. */
function roomMaker(db: Db) {
  const sizeOf = db.stmt<{ nodeId: string }, { channels: number; interfaces: number }>(
    `SELECT count(*) AS interfaces, coalesce(sum(channel_count), 0) AS channels FROM interfaces WHERE node_id = @nodeId`,
  )
  const idle = db.stmt<{ nodeId: string }, { channelCount: number; id: string }>(IDLE)
  const forget = db.stmt<{ id: string }>(`DELETE FROM interfaces WHERE id = @id`)
  return (nodeId: string, { added, changed }: Plan): void => {
    if (added.length + changed.length === 0) return
    const have = sizeOf.get({ nodeId }) ?? { channels: 0, interfaces: 0 }
    let interfaces = have.interfaces + added.length
    let channels = have.channels + added.reduce((sum, { input }) => sum + input.channelCount, 0)
    const fits = (): boolean => interfaces <= MAX_INTERFACES && channels <= MAX_CHANNELS
    if (fits()) return
    for (const { channelCount, id } of idle.all({ nodeId })) {
      forget.run({ id })
      interfaces--
      channels -= channelCount
      if (fits()) return
    }
    throw invalid(
      'Too many interfaces',
      ['interfaces'],
      `a node can have at most ${MAX_INTERFACES} interfaces with ${MAX_CHANNELS} channels in all, counting absent ones that are still in use`,
    )
  }
}

/** Sets the number of channels of an interface; existing ones keep their names and rooms. */
function channelSetter(db: Db) {
  const addChannel = db.stmt<{ id: string; index: number; alias: string }>(
    `INSERT INTO channels (interface_id, idx, alias) VALUES (@id, @index, @alias) ON CONFLICT DO NOTHING`,
  )
  const cutChannels = db.stmt<{ id: string; count: number }>(
    // A device may tell of fewer channels for a while, at a double rate for one: what an operator named or placed in a room
    // comes back as it was, and never as a channel of the node's own room.
    `DELETE FROM channels WHERE interface_id = @id AND idx > @count AND room_id IS NULL
       AND NOT EXISTS (SELECT 1 FROM interfaces i WHERE i.id = @id AND i.labelled = 1)`,
  )
  return (id: string, input: Pick<InterfaceInput, 'channelCount' | 'channels'>): void => {
    cutChannels.run({ id, count: input.channelCount })
    for (const channel of channelRows(input)) addChannel.run({ id, ...channel })
  }
}

/** Half a million channels are put together once, not for each page that shows them. */
function teller(db: Db): (nodeIds: readonly string[]) => void {
  const tell = db.stmt<{ nodes: string }>(
    `UPDATE interfaces SET channels_json = ${CHANNELS} WHERE ${OF_NODES} AND channels_json IS NULL`,
  )
  return (nodeIds) => {
    for (let at = 0; at < nodeIds.length; at += TOLD)
      db.tx(() => tell.run({ nodes: JSON.stringify(nodeIds.slice(at, at + TOLD)) }), false)
  }
}

export function interfaceStore(db: Db, ids: Ids, search: NodeSearch) {
  const entered = placeholders(db)
  const makeRoom = roomMaker(db)
  const ofNodes = db.stmt<{ nodes: string }, Row>(
    `SELECT ${COLUMNS} FROM interfaces WHERE ${OF_NODES} ORDER BY node_id, position`,
  )
  const tell = teller(db)
  const factsOf = db.stmt<{ nodes: string }, Omit<Row, 'channels'>>(
    `SELECT ${FACTS} FROM interfaces WHERE ${OF_NODES} ORDER BY node_id, position`,
  )
  const one = db.stmt<{ id: string; nodeId: string }, Row>(
    `SELECT ${COLUMNS} FROM interfaces WHERE id = @id AND node_id = @nodeId`,
  )
  const insert = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO interfaces (id, node_id, match_key, position, system_ref, system_name, alias, backend, channel_count, sample_rates,
       hardware_path, serial_number)
     VALUES (@id, @nodeId, @matchKey, (SELECT coalesce(max(position), 0) + 1 FROM interfaces WHERE node_id = @nodeId),
       @systemRef, @systemName, @alias, @backend, @channelCount, @sampleRates, @hardwarePath, @serialNumber)`,
  )
  const update = db.stmt<Record<string, SqlValue>>(
    `UPDATE interfaces SET system_ref = @systemRef, system_name = @systemName, backend = @backend, channel_count = @channelCount,
       sample_rates = @sampleRates, hardware_path = @hardwarePath, serial_number = @serialNumber, absent = 0 WHERE id = @id`,
  )
  const correct = db.stmt<Record<string, SqlValue>>(
    `UPDATE interfaces SET system_ref = @systemRef, system_name = @systemName, sample_rates = @sampleRates,
       hardware_path = @hardwarePath, serial_number = @serialNumber WHERE id = @id`,
  )
  const relabel = db.stmt<{ id: string; alias: string | null }>(
    `UPDATE interfaces SET alias = coalesce(@alias, alias), labelled = 1 WHERE id = @id`,
  )
  const flag = db.stmt<{ id: string }>(`UPDATE interfaces SET absent = 1 WHERE id = @id`)
  const nameChannel = db.stmt<{ id: string; index: number; alias: string }>(
    `UPDATE channels SET alias = @alias WHERE interface_id = @id AND idx = @index`,
  )
  const setChannels = channelSetter(db)
  const knownOf = (nodeId: string): Known[] => ofNodes.all({ nodes: JSON.stringify([nodeId]) }).map(known)

  /**
   * Brings the stored interfaces in line with a report; the operator's labels and rooms stay. A placeholder that is not
   * reported is removed, or marked absent when something refers to it.
   */
  const apply = (nodeId: string, reported: readonly InterfaceInput[]): ReconcileSummary => {
    entered.meet(nodeId, reported)
    const plan = reconcile(knownOf(nodeId), reported)
    const gone = [...plan.absent, ...plan.missing].filter(({ id }) => entered.vanish(id))
    const absent = plan.absent.filter((known) => !gone.includes(known))
    for (const { id } of absent) flag.run({ id })
    for (const { hardware, input, known } of plan.changed) {
      update.run({ id: known.id, ...hardwareColumns(hardware) })
      setChannels(known.id, input)
    }
    makeRoom(nodeId, plan)
    for (const { hardware, input, matchKey: key } of plan.added) {
      const id = ids.uuid()
      insert.run({ id, nodeId, matchKey: key, alias: input.alias, ...hardwareColumns(hardware) })
      setChannels(id, input)
    }
    if (plan.added.length + plan.changed.length + gone.length > 0) search.index(nodeId)
    return {
      absent: absent.map((k) => k.systemName),
      added: plan.added.map((a) => a.hardware.systemName),
      reactivated: plan.changed.filter((c) => c.reactivated).map((c) => c.hardware.systemName),
      unchanged: plan.unchanged + plan.missing.filter((known) => !gone.includes(known)).length,
      updated: plan.changed.filter((c) => c.updated).map((c) => c.hardware.systemName),
      ...(gone.length > 0 ? { removed: gone.map((k) => k.systemName) } : {}),
    }
  }

  return {
    apply,
    /** Adds interfaces that a person expects: placeholders until they are reported. */
    expect(nodeId: string, expected: readonly InterfaceInput[]): void {
      apply(nodeId, expected)
      entered.expect(nodeId)
    },
    /** Interfaces with their channels, by node. */
    byNode(nodeIds: readonly string[]): Map<string, Interface[]> {
      const nodes = JSON.stringify(nodeIds)
      const out = new Map<string, Interface[]>()
      for (const row of ofNodes.all({ nodes })) {
        const list = out.get(row.nodeId) ?? []
        list.push(shown(row))
        out.set(row.nodeId, list)
      }
      return out
    },
    /** The same as JSON, each node's as one list, and what they are without their channels. */
    told(nodeIds: readonly string[]): Map<string, { facts: Facts[]; json: string }> {
      const nodes = JSON.stringify(nodeIds)
      tell(nodeIds)
      const byNode = Map.groupBy(ofNodes.all({ nodes }), (row) => row.nodeId)
      return new Map([...byNode].map(([id, rows]) => [id, toldOf(rows)]))
    },
    /** Interfaces without their channels, by node. */
    facts(nodeIds: readonly string[]): Map<string, InterfaceFacts[]> {
      const rows = factsOf.all({ nodes: JSON.stringify(nodeIds) })
      return Map.groupBy(
        rows.map((row) => ({ ...row, sampleRates: JSON.parse(row.sampleRates) as number[] })),
        (row) => row.nodeId,
      )
    },
    find: (nodeId: string, id: string): Row | undefined => one.get({ id, nodeId }),
    /** Operator's labels, and corrections of hardware facts until the agent reports again. */
    patch(row: Row, patch: InterfacePatch): void {
      const { alias, channels, ...facts } = patch
      if (alias !== undefined || channels) relabel.run({ id: row.id, alias: alias ?? null })
      for (const channel of channels ?? []) nameChannel.run({ id: row.id, ...channel })
      if (Object.keys(facts).length > 0) correct.run({ ...hardwareColumns({ ...known(row), ...facts }), id: row.id })
      search.index(row.nodeId)
    },
  }
}

const known = (row: Row): Known => ({ ...row, absent: row.absent === 1, sampleRates: JSON.parse(row.sampleRates) })

const hardwareColumns = (h: Hardware): Record<string, SqlValue> => ({
  backend: h.backend,
  channelCount: h.channelCount,
  hardwarePath: h.hardwarePath,
  sampleRates: JSON.stringify(h.sampleRates),
  serialNumber: h.serialNumber,
  systemName: h.systemName,
  systemRef: h.systemRef,
})

type Facts = Omit<Interface, 'channels'>

const toldOf = (rows: readonly Row[]): { facts: Facts[]; json: string } => {
  const facts = rows.map(factsShown)
  return {
    facts,
    json: `[${rows.map(({ channels }, i) => withMember(facts[i] as Facts, 'channels', channels)).join(',')}]`,
  }
}

const shown = (row: Row): Interface => ({ ...factsShown(row), channels: JSON.parse(row.channels) as Channel[] })

function factsShown(row: Row): Facts {
  return present({
    id: row.id,
    alias: row.alias,
    systemName: row.systemName,
    systemRef: row.systemRef,
    backend: row.backend,
    channelCount: row.channelCount,
    sampleRates: JSON.parse(row.sampleRates) as number[],
    hardwarePath: row.hardwarePath,
    serialNumber: row.serialNumber,
    absent: row.absent === 1 ? (true as const) : null,
  }) as Facts
}

/** What a report of devices changed, for the response and the audit. */
export interface Reconciliation {
  after: Record<string, unknown>
  before: Record<string, unknown>
  changed: boolean
  counts: Record<string, number>
  summary: ReconcileSummary
}

const auditFacts = ({ absent, channelCount, id, sampleRates, systemName, systemRef }: InterfaceFacts) => ({
  ...{ id, systemName, systemRef },
  ...{ absent: absent === 1, channelCount, sampleRates },
})

/** Brings the interfaces of a node in line with a report. */
export function reconciliation(
  interfaces: Pick<ReturnType<typeof interfaceStore>, 'apply' | 'facts'>,
  nodeId: string,
  reported: readonly InterfaceInput[],
): Reconciliation {
  const facts = () => ({ interfaces: (interfaces.facts([nodeId]).get(nodeId) ?? []).map(auditFacts) })
  const before = facts()
  const summary = interfaces.apply(nodeId, reported)
  const { unchanged, ...found } = summary
  const lists = { ...found, removed: found.removed ?? [] }
  const counts = Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, list.length]))
  return {
    after: { ...lists, ...facts(), interfaceCount: reported.length },
    before,
    changed: Object.values(counts).some((count) => count > 0),
    counts: { ...counts, unchanged },
    summary,
  }
}
