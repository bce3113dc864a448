import type { NodeStore } from '../nodes/nodes.store.ts'
import type { CredentialStore } from './credentials.store.ts'
import type { HostKeyStore } from './hostkeys.store.ts'
import type { SshKeyStore } from './sshkeys.store.ts'

export interface MaterialStores {
  credentials: CredentialStore
  hostKeys: HostKeyStore
  nodes: NodeStore
  sshKeys: SshKeyStore
}

/**
 * The material for acting on a node over SSH (docs/contract/lifecycle.md: Material), and its audit fields, which never contain
 * a key.
 * @throws Fail 404 without the node or its key, 409 when the master key changed since.
 */
export function materialOf(stores: MaterialStores, nodeId: string, mint: boolean, now: string) {
  const { credentials, hostKeys, nodes, sshKeys } = stores
  nodes.mustExist(nodeId)
  const { id: credentialId, ...material } = sshKeys.material(nodeId)
  const before = credentials.held(nodeId, now)
  const minted = mint ? credentials.issuePending(nodeId, now) : undefined
  return {
    ...(minted ? { before, after: credentials.held(nodeId, now) } : {}),
    data: { ...material, hostKeys: hostKeys.of(nodeId), ...(minted ? { controllerToken: minted.token } : {}) },
    details: {
      credentialId,
      fingerprint: material.fingerprint,
      provisionedToken: minted !== undefined,
      ...(minted ? { mintedTokenPrefix: minted.tokenPrefix } : {}),
      username: material.username,
    },
  }
}
