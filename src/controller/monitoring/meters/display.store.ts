import type { Wall, WallNode } from '../../../wire/displays.ts'
import { offlineBefore, STATUS } from '../../fleet/nodes/status.rules.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db } from '../../store/db.ts'
import { Lister } from '../../store/filter.ts'
import type { ChannelVisibility } from './channelvisibility.rules.ts'

type Row = Omit<WallNode, 'devices'>

interface ChannelRow {
  alias: string | null
  channelCount: number
  index: number | null
  interfaceId: string
}

const MOST = 200

/** What a screen on a wall shows of nodes: names, states, devices and channels. */
export function displayNodes(db: Db, offlineAfterSeconds: number) {
  const nodes = new Lister<Row>(db, { columns: `n.id, n.alias, n.room, ${STATUS} AS status`, from: 'nodes n' })
  const channels = db.stmt<{ nodeId: string }, ChannelRow>(
    `SELECT i.id AS interfaceId, i.channel_count AS channelCount, c.idx AS "index", c.alias FROM interfaces i
       LEFT JOIN channels c ON c.interface_id = i.id WHERE i.node_id = @nodeId AND i.absent = 0 ORDER BY i.position, c.idx`,
  )
  /** Those in service; `offlineBefore` is for the status. */
  const inService = (now: string) => ({
    params: { offlineBefore: offlineBefore(now, offlineAfterSeconds) },
    sql: `n.status <> 'retired'`,
  })

  const devicesOf = (nodeId: string, seen: ChannelVisibility): WallNode['devices'] => {
    const rows = Map.groupBy(channels.all({ nodeId }), ({ interfaceId }) => interfaceId)
    return [...rows].flatMap(([id, own]) => {
      const shown = named(own).filter(({ index }) => seen === 'all' || seen.has(`${id}:${index}`))
      return shown.length > 0 ? [{ channels: shown, id }] : []
    })
  }
  return {
    page(
      visible: Visibility,
      seen: (nodeId: string) => ChannelVisibility | undefined,
      now: string,
    ): Pick<Wall, 'nodes' | 'total'> {
      const conditions = [...visible.nodes(), inService(now)]
      const { rows, total } = nodes.page(conditions, 'n.room, n.alias, n.id', MOST, 0)
      return {
        nodes: rows.map((node) => ({ ...node, devices: devicesOf(node.id, seen(node.id) ?? new Set()) })),
        total,
      }
    },
  }
}
export type DisplayNodes = ReturnType<typeof displayNodes>

/** By their aliases, or by number where the device has told of none. */
function named(rows: ChannelRow[]): { alias: string; index: number }[] {
  const known = rows.flatMap(({ alias, index }) => (index === null ? [] : [{ alias: alias ?? '', index }]))
  const count = rows[0]?.channelCount ?? 0
  return known.length > 0 ? known : Array.from({ length: count }, (_, i) => ({ alias: '', index: i + 1 }))
}
