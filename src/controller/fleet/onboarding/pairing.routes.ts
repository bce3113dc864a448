import { tokenPrefix } from '../../../crypto/token.ts'
import { Fail } from '../../../kernel/fail.ts'
import { pairingCodeOf, shownPairingCode } from '../../../kernel/pairing.ts'
import { typedInstallLine } from '../../../wire/install.ts'
import { Pair, type Paired, type PairingCode, PairingCodeRequest } from '../../../wire/pairing.ts'
import type { Principals } from '../../http/principals.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { NodeStore } from '../nodes/nodes.store.ts'
import type { CredentialStore } from './credentials.store.ts'
import type { Introducing } from './install.routes.ts'
import type { PairingStore } from './pairing.store.ts'

interface Parts {
  /** The address of this controller as the caller reaches it; undefined when it is not known. */
  address: (host: string | undefined) => string | undefined
  credentials: CredentialStore
  introduction: Introducing
  nodes: NodeStore
  pairing: PairingStore
  vouches: Principals['vouches']
}

/** Of one address, and of all together: far more than people type, far fewer than it takes to find a code. */
const ATTEMPTS = { perMinute: 10, perMinuteOverall: 60 } as const
/** The box joins right away. */
const TOKEN_SECONDS = 600

const NO_STORE = { 'cache-control': 'no-store' }

/** One answer, whatever is wrong with a code: who guesses learns nothing. */
const refusal = (): Fail =>
  new Fail(401, 'invalid_pairing_code', 'This code is wrong, was used, or has expired', { outcome: 'denied' })

/** A short code where a person types at a box (docs/contract/nodes.md: Pairing codes). */
export const pairingRoutes = ({ address, credentials, introduction, nodes, pairing, vouches }: Parts): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/nodes/:id/pairing-code',
    auth: 'user',
    permission: 'node:manage',
    action: 'nodes.pairing_code.issue',
    target: ({ id }) => ({ type: 'node', id }),
    whole: true,
    body: PairingCodeRequest,
    status: 201,
    run: ({ body, now, params: { id: nodeId }, principal, request }) => {
      nodes.mustServe(nodeId)
      const before = pairing.held(nodeId, now)
      const { code, expiresAt } = pairing.issue(nodeId, body.ttlSeconds, principal.id, now)
      const url = body.controllerUrl ?? address(request.header('host'))
      const installLine = url && typedInstallLine({ controllerUrl: url, pin: introduction(url)?.pin })
      const data: PairingCode = {
        code: shownPairingCode(code),
        expiresAt,
        ...(installLine ? { installLine } : {}),
        nodeId,
      }
      return { data, headers: NO_STORE, before, after: pairing.held(nodeId, now), details: { expiresAt } }
    },
  }),
  route({
    method: 'POST',
    path: '/nodes/pair',
    auth: 'none',
    permission: null,
    ...ATTEMPTS,
    signsIn: true,
    action: 'nodes.pairing',
    success: ['nodes.pairing.completed', 'nodes.pairing.failed'],
    target: () => ({ type: 'node_collection' }),
    body: Pair,
    badBody: refusal,
    run: ({ body, now }) => {
      const code = pairingCodeOf(body.code)
      const spent = code === undefined ? undefined : pairing.spend(code, now)
      if (!spent || !vouches(spent.createdBy, spent.nodeId)) throw refusal()
      const { alias, id: nodeId } = nodes.get(spent.nodeId, now)
      const before = credentials.held(nodeId, now)
      const { expiresAt, token } = credentials.mintBootstrap(nodeId, TOKEN_SECONDS, spent.createdBy, now)
      const issued = { expiresAt, tokenPrefix: tokenPrefix(token) }
      const data: Paired = { expiresAt, nodeId, token }
      return {
        // Whoever knows the code speaks for the box.
        actor: { id: nodeId, name: nodeId, roles: [], type: 'node' },
        data,
        headers: NO_STORE,
        before,
        after: { ...credentials.held(nodeId, now), issued },
        details: { ...issued, ...(spent.createdBy ? { issuedBy: spent.createdBy } : {}) },
        target: { type: 'node', id: nodeId, name: alias },
      }
    },
  }),
]
