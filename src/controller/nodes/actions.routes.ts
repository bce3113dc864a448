import { API_PREFIX } from '../../wire/headers.ts'
import type { Node } from '../../wire/nodes.ts'
import { actionStates } from '../edge/actions.ts'
import { type AnyRoute, route } from '../edge/route.ts'
import type { UserWho } from '../edge/who.ts'
import type { NodeStore } from './nodes.store.ts'

/** What can be heard or seen of a node now: a fresh chunk of its audio, else its newest meter frame, else nothing. */
export type Monitor =
  | { available: true; capturedAt: string; contentType: string; durationMs: number; source: 'agent_audio_chunk' }
  | { available: true; capturedAt: string; source: 'meter_frame' }
  | { available: false }

/** Knows what the meters and the live listen hold of a node. */
export interface Monitored {
  monitor(nodeId: string, now: string): Monitor
  /** Whether there is any meter frame. */
  metered(nodeId: string): boolean
}

export const nodeActionRoutes = (nodes: NodeStore, monitored: Monitored): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/nodes/:id/actions',
    auth: 'user',
    permission: 'node:read',
    action: 'nodes.actions.read',
    target: (p) => ({ type: 'node', id: p.id }),
    run: ({ params, who, now }) => {
      const node = nodes.get(params.id, now)
      const monitor = monitored.monitor(node.id, now)
      const seen = { heard: monitor.available, metered: monitored.metered(node.id) }
      return { data: { actions: actions(who, node, seen), links: links(node), monitor, node } }
    },
  }),
]

const links = ({ id, interfaces }: Node) => {
  const detail = `${API_PREFIX}/nodes/${encodeURIComponent(id)}`
  return {
    credentialsRotate: `${detail}/credentials/rotate`,
    detail,
    healthEvents: `${API_PREFIX}/health-events?nodeId=${encodeURIComponent(id)}`,
    interfaces: interfaces.map((i) => ({ href: `${detail}/interfaces/${encodeURIComponent(i.id)}`, id: i.id })),
    listenStart: `${detail}/listen`,
    meters: `${detail}/meters`,
    recordingStart: `${API_PREFIX}/recordings`,
    update: detail,
  }
}

const SILENT: ReadonlySet<string> = new Set(['offline', 'provisioning', 'retired'])

function actions(who: UserWho, node: Node, seen: { heard: boolean; metered: boolean }) {
  const at = links(node)
  const silent = SILENT.has(node.status) && (`node_${node.status}` as const)
  const unable = silent || (node.problems?.[0]?.code ?? false)
  return actionStates(who, {
    detail: { method: 'GET', href: at.detail, permission: 'node:read' },
    editNode: { method: 'PATCH', href: at.update, permission: 'node:manage' },
    health: { method: 'GET', href: at.healthEvents, permission: 'health:read' },
    listen: {
      method: 'POST',
      href: at.listenStart,
      permission: 'listen:monitor',
      blocked: unable || (!seen.heard && 'monitor_source_unavailable'),
    },
    meters: {
      method: 'GET',
      href: at.meters,
      permission: 'node:read',
      blocked: !seen.metered && 'meter_frame_not_found',
    },
    rotateCredential: { method: 'POST', href: at.credentialsRotate, permission: 'node:manage' },
    startRecording: { method: 'POST', href: at.recordingStart, permission: 'recording:create', blocked: unable },
  })
}
