import { generateSshKey } from '../../../crypto/sshkey.ts'
import { tokenPrefix } from '../../../crypto/token.ts'
import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { type InstallLine, installLine } from '../../../wire/install.ts'
import { Bootstrap, BootstrapTokenRequest, Enrollment, MaterialQuery, SshRotation } from '../../../wire/nodes.ts'
import { HostKeysChange } from '../../../wire/sshkeys.ts'
import { type AnyRoute, route, type Written } from '../../http/route.ts'
import { type Reconciliation, reconciliation } from '../nodes/interfaces.store.ts'
import { type NodeStore, snapshot } from '../nodes/nodes.store.ts'
import type { Placing } from '../rooms/placing.ts'
import { type CredentialStore, endInvitations, revokeCredentials } from './credentials.store.ts'
import type { HostKeyStore } from './hostkeys.store.ts'
import type { Introducing } from './install.routes.ts'
import { materialOf } from './material.store.ts'
import type { PairingStore } from './pairing.store.ts'
import type { SshKeyStore } from './sshkeys.store.ts'

const node = (p: { id: string }) => ({ type: 'node', id: p.id })
const manage = { auth: 'user', permission: 'node:manage', target: node } as const
/** Who makes a box into this node has all of its audio. */
const manageWhole = { ...manage, whole: true } as const

interface Parts {
  /** The address of this controller as the caller reaches it; undefined when it is not known. */
  address: (host: string | undefined) => string | undefined
  credentials: CredentialStore
  hostKeys: HostKeyStore
  ids: Ids
  introduction: Introducing
  nodes: NodeStore
  pairing: PairingStore
  places: Placing
  sshKeys: SshKeyStore
}

export const onboardingRoutes = ({
  address,
  credentials,
  hostKeys,
  ids,
  introduction,
  nodes,
  pairing,
  places,
  sshKeys,
}: Parts): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/nodes/enroll',
    auth: 'user',
    permission: 'node:manage',
    action: 'nodes.enroll',
    target: () => ({ type: 'node_collection' }),
    body: Enrollment,
    status: 201,
    run: ({ body, principal, now }) => {
      places.into(principal, 'node', body.location.site)
      const node = nodes.enroll(ids.make('node'), body, now)
      const credential = credentials.issue(node.id, principal.id, now)
      return {
        data: { credential, node },
        after: { ...snapshot(node), ...credentials.held(node.id, now) },
        target: { type: 'node', id: node.id, name: node.alias },
        details: { credentialId: credential.id, tokenPrefix: credential.tokenPrefix },
      }
    },
  }),
  route({
    method: 'POST',
    path: '/nodes/:id/bootstrap-token',
    ...manageWhole,
    action: 'nodes.bootstrap_token.issue',
    body: BootstrapTokenRequest,
    status: 201,
    run: ({ params, body, request, principal, now }) => {
      nodes.mustServe(params.id)
      const { id: nodeId, location } = nodes.get(params.id, now)
      const before = credentials.held(params.id, now)
      const { token, expiresAt } = credentials.mintBootstrap(params.id, body.ttlSeconds, principal.id, now)
      const issued = { expiresAt, tokenPrefix: tokenPrefix(token) }
      const url = body.controllerUrl ?? address(request.header('host'))
      const wish = { controllerCa: body.controllerCaPath, pin: introduction(url)?.pin, version: body.version }
      const line = installLineFor(url, { ...location, ...wish, nodeId, token })
      return {
        data: { token, expiresAt, nodeId, ...line },
        headers: { 'cache-control': 'no-store' },
        before,
        after: { ...credentials.held(params.id, now), issued },
        details: issued,
      }
    },
  }),
  // One transaction: spend, seal, reconcile, mint, audit (ADR-0006). What fails half way leaves the token unspent.
  route({
    method: 'POST',
    path: '/nodes/:id/bootstrap',
    auth: 'bootstrap',
    permission: 'node:manage',
    target: node,
    action: 'nodes.bootstrap',
    success: ['nodes.bootstrap.completed', 'nodes.bootstrap.failed'],
    body: Bootstrap,
    status: 201,
    run: ({ params: { id }, body, principal, now }) => {
      const before = credentials.held(id, now)
      if (!credentials.spend(principal.tokenHash, id, now))
        throw new Fail(401, 'invalid_bootstrap_token', 'Unauthorized', { outcome: 'denied' })
      const credential = credentials.issue(id, null, now)
      const ssh = sshKeys.adopt(id, body, { tokenId: credential.id, username: body.username }, now)
      const known = hostKeys.replace(id, body.hostKeys)
      const found = reconciliation(nodes.interfaces, id, body.interfaces)
      return {
        data: { controllerToken: credential.token, fingerprint: ssh.fingerprint, nodeId: id },
        changed: true,
        before,
        after: { ...credentials.held(id, now), fingerprint: ssh.fingerprint },
        also: found.changed ? [reconciled(id, found)] : [],
        details: {
          fingerprint: ssh.fingerprint,
          hostKeys: known,
          interfaceCount: body.interfaces.length,
          interfaces: found.summary,
          ...(principal.createdBy ? { issuedBy: principal.createdBy } : {}),
          mintedTokenPrefix: credential.tokenPrefix,
          username: ssh.username,
        },
      }
    },
  }),
  route({
    method: 'POST',
    path: '/nodes/:id/credentials/rotate',
    ...manageWhole,
    action: 'nodes.credentials.rotate',
    status: 201,
    run: ({ params, principal, now }) => {
      nodes.mustServe(params.id)
      const node = nodes.get(params.id, now)
      const held = () => ({ ...credentials.held(params.id, now), ...pairing.held(params.id, now) })
      const before = held()
      const ended = endInvitations({ credentials, pairing }, params.id, now)
      const credential = credentials.issue(params.id, principal.id, now)
      return {
        data: { credential, node },
        before,
        after: held(),
        details: { ...ended, credentialId: credential.id, tokenPrefix: credential.tokenPrefix },
      }
    },
  }),
  route({
    method: 'POST',
    path: '/nodes/:id/credentials/revoke',
    ...manageWhole,
    action: 'nodes.credentials.revoke',
    run: ({ params, now }) => {
      const data = nodes.get(params.id, now)
      const held = () => ({
        ...credentials.held(params.id, now),
        ...pairing.held(params.id, now),
        ssh: sshKeys.find(params.id),
      })
      const before = held()
      const ended = revokeCredentials({ credentials, pairing, sshKeys }, params.id, now)
      return { data, before, after: held(), details: ended }
    },
  }),
  route({
    method: 'GET',
    path: '/nodes/:id/ssh-credential',
    ...manage,
    action: 'nodes.ssh_credential.read',
    run: ({ params }) => {
      nodes.mustExist(params.id)
      const credential = sshKeys.find(params.id)
      const known = hostKeys.shown(params.id)
      return { data: credential && known.length > 0 ? { ...credential, hostKeys: known } : credential }
    },
  }),
  // For a box that was set up by hand or got a new SSH server: with a bootstrap the keys come automatically.
  route({
    method: 'PUT',
    path: '/nodes/:id/ssh-credential/host-keys',
    ...manageWhole,
    action: 'nodes.ssh_credential.host_keys.replace',
    body: HostKeysChange,
    run: ({ params, body }) => {
      nodes.mustExist(params.id)
      const before = { hostKeys: hostKeys.shown(params.id) }
      const after = { hostKeys: hostKeys.replace(params.id, body.hostKeys) }
      return { data: after, before, after }
    },
  }),
  route({
    method: 'POST',
    path: '/nodes/:id/ssh-credential/rotate',
    ...manageWhole,
    action: 'nodes.ssh_credential.rotate',
    body: SshRotation,
    status: 201,
    run: ({ params, body, now }) => {
      nodes.mustServe(params.id)
      const before = sshKeys.find(params.id)
      const after = sshKeys.rotate(params.id, generateSshKey(`svc-${params.id}`), body.username, now)
      return { data: after, before, after }
    },
  }),
  // The only answer that ever carries a private key; `mintToken=1` adds a token that waits for its first use.
  route({
    method: 'GET',
    path: '/nodes/:id/ssh-credential/material',
    auth: 'runner',
    permission: null,
    target: node,
    action: 'nodes.ssh_credential.fetch',
    success: ['nodes.ssh_credential.fetch', 'nodes.ssh_credential.fetch'],
    query: MaterialQuery,
    run: ({ params, query, now }) => ({
      ...materialOf({ credentials, hostKeys, nodes, sshKeys }, params.id, query.mintToken === '1', now),
      changed: true,
      headers: { 'cache-control': 'no-store' },
    }),
  }),
]

const reconciled = (id: string, { after, before, counts }: Reconciliation): Written => ({
  ...{ action: 'nodes.inventory.reconciled', before, after },
  ...{ details: counts, target: node({ id }) },
})

/** The command for the new box; empty when the address of this controller is not known. */
function installLineFor(
  controllerUrl: string | undefined,
  wish: Omit<InstallLine, 'controllerUrl'>,
): { installLine?: string } {
  if (controllerUrl === undefined) return {}
  return { installLine: installLine({ ...wish, allowInsecure: controllerUrl.startsWith('http:'), controllerUrl }) }
}
