import { API_PREFIX } from '../../../wire/headers.ts'
import { LIFECYCLE_ACTIONS } from '../../../wire/lifecycle.ts'
import type { Node } from '../../../wire/nodes.ts'
import type { FleetApi } from '../../fleet/api.ts'
import { SILENT } from '../../fleet/nodes/status.rules.ts'
import { type Action, actionStates } from '../../http/actions.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'

/** What is available of a node now: a fresh chunk of its audio, else its newest meter frame, else nothing. */
type Monitor =
  | { available: true; capturedAt: string; contentType: string; durationMs: number; source: 'agent_audio_chunk' }
  | { available: true; capturedAt: string; source: 'meter_frame' }
  | { available: false }

/** Access to the meters and live audio of a node. */
export interface Monitored {
  monitor(nodeId: string, now: string): Monitor
  /** Whether there is any meter frame. */
  metered(nodeId: string): boolean
}

export const nodeActionRoutes = (nodes: FleetApi['nodes'], monitored: Monitored, scope: Scope): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/nodes/:id/actions',
    auth: 'user',
    permission: 'node:read',
    action: 'nodes.actions.read',
    target: (p) => ({ type: 'node', id: p.id }),
    run: ({ params, principal, now }) => {
      const node = nodes.get(params.id, now)
      const monitor = monitored.monitor(node.id, now)
      const seen = { metered: monitored.metered(node.id), whole: scope.holdsNode(principal, node.id) }
      const states = actionStates(principal, actions(node, seen))
      return { data: { actions: states, links: links(node), monitor, node } }
    },
  }),
]

const links = ({ id, interfaces }: Node) => {
  const detail = `${API_PREFIX}/nodes/${encodeURIComponent(id)}`
  return {
    bootstrapToken: `${detail}/bootstrap-token`,
    credentialsRevoke: `${detail}/credentials/revoke`,
    credentialsRotate: `${detail}/credentials/rotate`,
    detail,
    healthEvents: `${API_PREFIX}/health-events?nodeId=${encodeURIComponent(id)}`,
    interfaces: interfaces.map((i) => ({ href: `${detail}/interfaces/${encodeURIComponent(i.id)}`, id: i.id })),
    lifecycle: `${detail}/lifecycle`,
    listenStart: `${detail}/listen`,
    meters: `${detail}/meters`,
    pairingCode: `${detail}/pairing-code`,
    recordingStart: `${API_PREFIX}/recordings`,
    sshCredential: `${detail}/ssh-credential`,
    sshCredentialRotate: `${detail}/ssh-credential/rotate`,
    update: detail,
  }
}

function actions(node: Node, { metered, whole }: { metered: boolean; whole: boolean }): Record<string, Action> {
  const at = links(node)
  const silent = SILENT.has(node.status) && (`node_${node.status}` as const)
  // A node without ffmpeg captures all the same; one without a device cannot.
  const noDevice = node.problems?.find(({ code }) => code === 'no_capture_device')?.code
  const noSound = silent || (noDevice ?? false)
  const partly = !whole && ('missing_resource_scope' as const)
  const manage = {
    permission: 'node:manage',
    blocked: partly || (node.status === 'retired' && 'node_retired'),
  } as const
  return {
    bootstrapToken: { ...manage, method: 'POST', href: at.bootstrapToken },
    detail: { method: 'GET', href: at.detail, permission: 'node:read' },
    editNode: { method: 'PATCH', href: at.update, permission: 'node:manage' },
    health: { method: 'GET', href: at.healthEvents, permission: 'health:read' },
    // Listening makes a connected node send audio: none needs to be there yet.
    listen: { method: 'POST', href: at.listenStart, permission: 'listen:monitor', blocked: noSound },
    meters: { method: 'GET', href: at.meters, permission: 'node:read', blocked: !metered && 'meter_frame_not_found' },
    pairingCode: { ...manage, method: 'POST', href: at.pairingCode },
    revokeCredentials: { method: 'POST', href: at.credentialsRevoke, permission: 'node:manage', blocked: partly },
    rotateCredential: { ...manage, method: 'POST', href: at.credentialsRotate },
    rotateSshCredential: { ...manage, method: 'POST', href: at.sshCredentialRotate },
    sshCredential: { method: 'GET', href: at.sshCredential, permission: 'node:manage' },
    startRecording: { method: 'POST', href: at.recordingStart, permission: 'recording:create', blocked: noSound },
    ...lifecycle(at.lifecycle, manage),
  }
}

/** One per lifecycle action, named in camel case: `rotate_trust` is `rotateTrust`. */
const lifecycle = (base: string, manage: Pick<Action, 'blocked' | 'permission'>): Record<string, Action> =>
  Object.fromEntries(
    LIFECYCLE_ACTIONS.map((action) => [
      action.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      { ...manage, method: 'POST', href: `${base}/${action}` },
    ]),
  )
