import { folded } from '../../../kernel/fold.ts'
import type { Db } from '../../store/db.ts'

interface NodeText {
  /** JSON texts whose values are indexed. */
  json: string
  /** JSON row of plain values. */
  plain: string
}

const NODE = `SELECT json_array(id, alias, hostname, agent_version, notes, site, room, building, floor) AS plain,
  json_array(json(ip_addresses), json(tags), json(runtime), json(audio_defaults)) AS json FROM nodes WHERE id = @id`
const INTERFACES = `SELECT json_array(id, alias, system_name, system_ref, backend, hardware_path, serial_number, channel_count) AS plain,
  json(sample_rates) AS json FROM interfaces WHERE node_id = @id ORDER BY position`
const CHANNELS = `SELECT DISTINCT c.idx AS idx, c.alias AS alias FROM interfaces i JOIN channels c ON c.interface_id = i.id WHERE i.node_id = @id`

/**
 * The searchable text of each node in one row, so that a search reads one text per node instead of every channel of the
 * fleet. Folded here, not by SQLite, which folds only ASCII.
 */
export function nodeSearch(db: Db) {
  const ofNode = db.stmt<{ id: string }, NodeText>(NODE)
  const ofInterfaces = db.stmt<{ id: string }, NodeText>(INTERFACES)
  const ofChannels = db.stmt<{ id: string }, { idx: number; alias: string }>(CHANNELS)
  const put = db.stmt<{ id: string; words: string }>(
    `INSERT INTO node_search (node_id, words) VALUES (@id, @words)
     ON CONFLICT (node_id) DO UPDATE SET words = excluded.words WHERE words <> excluded.words`,
  )
  return {
    /** Updates the text of a node; call it after every write that changes searchable fields. */
    index(id: string): void {
      const node = ofNode.get({ id })
      if (!node) return
      const words = new Set<string>()
      for (const { json, plain } of [node, ...ofInterfaces.all({ id })])
        for (const value of [...leaves(JSON.parse(plain)), ...leaves(JSON.parse(json))]) words.add(folded(value))
      for (const { alias, idx } of ofChannels.all({ id })) words.add(folded(alias)).add(`${idx}`)
      put.run({ id, words: [...words].join('\n') })
    },
  }
}
export type NodeSearch = ReturnType<typeof nodeSearch>

// Uptime changes with every heartbeat, and would update the text each time.
function leaves(value: unknown): string[] {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object') return [`${value}`]
  return Object.entries(value).flatMap(([key, inner]) => (key === 'uptimeSeconds' ? [] : leaves(inner)))
}
