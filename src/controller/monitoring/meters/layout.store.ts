import type { Db } from '../../store/db.ts'
import type { Layout } from './channelvisibility.rules.ts'

interface Row {
  index: number | null
  interfaceId: string | null
  nodeRoomId: string | null
  roomId: string | null
  roomSite: string | null
  site: string
}

interface Named {
  id: string
  systemName: string
  systemRef: string
}

/** The rooms of a node's channels, and the interface that a name refers to. */
export function layoutStore(db: Db) {
  const layout = db.stmt<{ nodeId: string }, Row>(
    `SELECT n.site, n.room_id AS nodeRoomId, i.id AS interfaceId, c.idx AS "index", coalesce(c.room_id, n.room_id) AS roomId,
            r.site AS roomSite
       FROM nodes n LEFT JOIN interfaces i ON i.node_id = n.id LEFT JOIN channels c ON c.interface_id = i.id
         LEFT JOIN rooms r ON r.id = coalesce(c.room_id, n.room_id)
      WHERE n.id = @nodeId ORDER BY i.position, c.idx`,
  )
  const exact = db.stmt<{ nodeId: string; name: string }, { id: string }>(
    `SELECT id FROM interfaces WHERE node_id = @nodeId AND (id = @name OR system_ref = @name OR match_key = @name)
      ORDER BY absent, position LIMIT 1`,
  )
  const all = db.stmt<{ nodeId: string }, Named>(
    `SELECT id, system_ref AS systemRef, system_name AS systemName FROM interfaces WHERE node_id = @nodeId ORDER BY absent, position`,
  )
  return {
    /** Undefined for an unknown node. */
    of(nodeId: string): Layout | undefined {
      const rows = layout.all({ nodeId })
      const [first] = rows
      if (!first) return undefined
      const channels = rows.flatMap(({ index, interfaceId, roomId }) =>
        index === null || interfaceId === null ? [] : [{ index, interfaceId, roomId }],
      )
      const sites = new Map(rows.map(({ roomId, roomSite }) => [roomId ?? '', roomSite ?? '']))
      const { nodeRoomId: roomId, site } = first
      return { channels, interfaceId: first.interfaceId ?? '', nodeId, roomId, site, sites }
    },
    /**
     * The controller's id of an interface named by id, system ref or the agent's own id (docs/contract/nodes.md: Interfaces).
     */
    interfaceId: (nodeId: string, name: string): string | undefined =>
      exact.get({ nodeId, name })?.id ?? all.all({ nodeId }).find((known) => localId(known) === name)?.id,
  }
}
export type LayoutStore = ReturnType<typeof layoutStore>

/** The agent's own id of a device (docs/contract/nodes.md: Interfaces). */
function localId({ systemName, systemRef }: Named): string | undefined {
  const [, card, device] = /^hw:CARD=([^,]+),DEV=(\d+)$/.exec(systemRef) ?? []
  const token = card?.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  if (token) return `alsa_card_${token}_dev_${device}`
  const [, number, sub] = /^hw:(\d+),(\d+)$/.exec(systemRef) ?? []
  if (number) return `alsa_hw_${number}_${sub}`
  return systemName === 'Audio backend discovery pending' ? 'iface_default_capture' : undefined
}
