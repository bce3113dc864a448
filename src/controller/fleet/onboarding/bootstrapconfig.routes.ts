import { tokenPrefix } from '../../../crypto/token.ts'
import { Fail, invalid } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { Enrollment, type Node } from '../../../wire/nodes.ts'
import {
  BootstrapConfigRequest,
  SETUP_FILE_MAX,
  type SetupEntry,
  type SetupFile,
  type WantedNode,
} from '../../../wire/provision.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route, type Written } from '../../http/route.ts'
import type { Visibility, visibilities } from '../../http/visibility.ts'
import { type NodeStore, snapshot } from '../nodes/nodes.store.ts'
import type { Placing } from '../rooms/placing.ts'
import type { CredentialStore } from './credentials.store.ts'

interface Parts {
  credentials: CredentialStore
  ids: Ids
  nodes: NodeStore
  places: Placing
  visibility: ReturnType<typeof visibilities>
}

interface Asking {
  now: string
  principal: UserPrincipal
  within: Visibility
}

/** The content of a setup stick: new nodes are enrolled, and each node gets a token; all or nothing. */
export const bootstrapConfigRoutes = ({ credentials, ids, nodes, places, visibility }: Parts): AnyRoute[] => {
  /** The existing, visible node, or a newly enrolled one. */
  const nodeOf = (wanted: WantedNode, { principal, within, now }: Asking): { node: Node; made: boolean } => {
    if (!('nodeId' in wanted)) return { node: nodes.enroll(ids.make('node'), enrollment(wanted), now), made: true }
    if (nodes.chosen(within, [wanted.nodeId], now).length === 0)
      throw new Fail(404, 'node_not_visible', `Node ${wanted.nodeId} is not visible`, { outcome: 'denied' })
    places.whole(principal, wanted.nodeId)
    nodes.mustServe(wanted.nodeId)
    return { node: nodes.get(wanted.nodeId, now), made: false }
  }
  return [
    route({
      method: 'POST',
      path: '/nodes/bootstrap-config',
      auth: 'user',
      permission: 'node:manage',
      action: 'nodes.bootstrap_config.issue',
      target: () => ({ type: 'node_collection' }),
      body: BootstrapConfigRequest,
      status: 201,
      run: ({ body: { nodes: wanted, ttlSeconds, ...shared }, principal, now }) => {
        rejectDuplicates(wanted)
        const within = visibility(principal, 'node:manage')
        const written: Written[] = []
        for (const one of wanted) if ('site' in one) places.into(principal, 'node', one.site)
        const entries = wanted.map((one) => {
          const { node, made } = nodeOf(one, { principal, within, now })
          const before = credentials.held(node.id, now)
          const { token, expiresAt } = credentials.mintBootstrap(node.id, ttlSeconds, principal.id, now)
          const target = { type: 'node', id: node.id, name: node.alias }
          if (made) written.push({ action: 'nodes.enroll', after: snapshot(node), target })
          const issued = { expiresAt, tokenPrefix: tokenPrefix(token) }
          const after = { ...credentials.held(node.id, now), issued }
          written.push({ action: 'nodes.bootstrap_token.issue', before, after, details: issued, target })
          return entry(node, one, token, expiresAt)
        })
        const file: SetupFile = { version: 1, ...shared, nodes: entries }
        fits(file)
        return { data: file, each: written, headers: { 'cache-control': 'no-store' } }
      },
    }),
    // Lets a box check its token before it changes anything; the token is not spent.
    route({
      method: 'GET',
      path: '/nodes/:id/bootstrap',
      auth: 'bootstrap',
      permission: 'node:manage',
      action: 'nodes.bootstrap_token.check',
      audit: 'decision',
      target: ({ id }) => ({ type: 'node', id }),
      run: ({ params }) => ({ data: { nodeId: params.id } }),
    }),
  ]
}

const entry = (node: Node, { match }: WantedNode, bootstrapToken: string, expiresAt: string): SetupEntry => ({
  alias: node.alias,
  bootstrapToken,
  expiresAt,
  ...(match ? { match } : {}),
  nodeId: node.id,
  room: node.location.room,
  site: node.location.site,
})

function enrollment({ alias, hostname, room, site }: Exclude<WantedNode, { nodeId: string }>): Enrollment {
  const made = alias
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 63)
  return Enrollment.parse({ alias, hostname: hostname ?? (made || 'recorder'), location: { room, site } })
}

/** Two tokens for one node on one stick would let two boxes compete for it. */
function rejectDuplicates(wanted: readonly WantedNode[]): void {
  const named = wanted.map((one) => ('nodeId' in one ? one.nodeId : undefined))
  const twice = named.findIndex((id, i) => id !== undefined && named.indexOf(id) !== i)
  if (twice >= 0) throw invalid('Invalid bootstrap config request', ['nodes', twice], 'this node is named twice')
}

function fits(file: SetupFile): void {
  if (Buffer.byteLength(JSON.stringify(file, null, 2)) > SETUP_FILE_MAX)
    throw invalid('Invalid bootstrap config request', ['nodes'], 'this is too much for one file: ask for fewer nodes')
}
