import { hashToken, mintToken, tokenPrefix } from '../../../crypto/token.ts'
import { isoPlus } from '../../../kernel/clock.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { NodeCredential } from '../../../wire/nodes.ts'
import type { Db, SqlValue } from '../../store/db.ts'
import type { PairingStore } from './pairing.store.ts'
import type { SshKeyStore } from './sshkeys.store.ts'

interface HeldToken {
  createdAt: string
  id: string
  state: 'active' | 'pending'
  tokenPrefix: string
}

interface HeldCredentials {
  bootstrapTokens: { count: number; expiresAt?: string }
  tokens: HeldToken[]
}

/** Controller tokens of nodes and their single-use bootstrap tokens. Plain tokens leave here once and are never stored. */
export function credentialStore(db: Db, ids: Ids) {
  const insert = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO node_credentials (id, node_id, token_hash, token_prefix, state, created_by, created_at)
     VALUES (@id, @nodeId, @hash, @prefix, @state, @by, @now)`,
  )
  const revoke = db.stmt<{ nodeId: string; now: string }>(
    `UPDATE node_credentials SET state = 'revoked', revoked_at = @now WHERE node_id = @nodeId AND state <> 'revoked'`,
  )
  const revokePending = db.stmt<{ nodeId: string; now: string }>(
    `UPDATE node_credentials SET state = 'revoked', revoked_at = @now WHERE node_id = @nodeId AND state = 'pending'`,
  )
  const addBootstrap = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO bootstrap_tokens (token_hash, token_prefix, node_id, created_by, created_at, expires_at)
     VALUES (@hash, @prefix, @nodeId, @by, @now, @expiresAt)`,
  )
  const spend = db.stmt<{ hash: string; nodeId: string; now: string }>(
    `UPDATE bootstrap_tokens SET consumed_at = @now
      WHERE token_hash = @hash AND node_id = @nodeId AND consumed_at IS NULL AND revoked_at IS NULL AND expires_at > @now`,
  )
  const revokeBootstrap = db.stmt<{ nodeId: string; now: string }>(
    `UPDATE bootstrap_tokens SET revoked_at = @now
      WHERE node_id = @nodeId AND consumed_at IS NULL AND revoked_at IS NULL AND expires_at > @now`,
  )

  const living = db.stmt<{ nodeId: string }, HeldToken>(
    `SELECT created_at AS createdAt, id, state, token_prefix AS tokenPrefix FROM node_credentials
      WHERE node_id = @nodeId AND state <> 'revoked' ORDER BY created_at, id`,
  )
  const unspent = db.stmt<{ nodeId: string; now: string }, { count: number; expiresAt: string | null }>(
    `SELECT count(*) AS count, max(expires_at) AS expiresAt FROM bootstrap_tokens
      WHERE node_id = @nodeId AND consumed_at IS NULL AND revoked_at IS NULL AND expires_at > @now`,
  )

  const mint = (nodeId: string, state: 'active' | 'pending', by: string | null, now: string): NodeCredential => {
    const token = mintToken('node')
    const id = ids.uuid()
    insert.run({ id, nodeId, hash: hashToken(token), prefix: tokenPrefix(token), state, by, now })
    return { createdAt: now, id, nodeId, token, tokenPrefix: tokenPrefix(token) }
  }

  return {
    /** A new token, valid at once; revokes every earlier one of the node. */
    issue(nodeId: string, by: string | null, now: string): NodeCredential {
      revoke.run({ nodeId, now })
      return mint(nodeId, 'active', by, now)
    },
    /** The tokens of a node for the audit: prefixes, states, and the number and expiry of bootstrap tokens. */
    held(nodeId: string, now: string): HeldCredentials {
      const { count, expiresAt } = unspent.get({ nodeId, now }) as { count: number; expiresAt: string | null }
      return { bootstrapTokens: { count, ...(expiresAt ? { expiresAt } : {}) }, tokens: living.all({ nodeId }) }
    },
    /** A token for a deploy: the current one stays valid until this one is first used (ADR-0006). */
    issuePending(nodeId: string, now: string): NodeCredential {
      revokePending.run({ nodeId, now })
      return mint(nodeId, 'pending', null, now)
    },
    /** Revokes every token but bootstrap tokens; returns how many. */
    revoke: (nodeId: string, now: string): number => revoke.run({ nodeId, now }),
    /** Revokes unspent bootstrap tokens; returns how many. */
    revokeBootstrap: (nodeId: string, now: string): number => revokeBootstrap.run({ nodeId, now }),
    mintBootstrap(
      nodeId: string,
      ttlSeconds: number,
      by: string | null,
      now: string,
    ): { token: string; expiresAt: string } {
      const token = mintToken('bootstrap')
      const expiresAt = isoPlus(now, ttlSeconds)
      addBootstrap.run({ hash: hashToken(token), prefix: tokenPrefix(token), nodeId, by, now, expiresAt })
      return { token, expiresAt }
    },
    /** Consumes the token; false when somebody else was first, or it expired or was revoked meanwhile. */
    spend: (hash: string, nodeId: string, now: string): boolean => spend.run({ hash, nodeId, now }) === 1,
  }
}
export type CredentialStore = ReturnType<typeof credentialStore>

export interface Invitations {
  credentials: CredentialStore
  pairing: PairingStore
}

export interface CredentialStores extends Invitations {
  sshKeys: SshKeyStore
}

/** Revokes all credentials of a node: tokens, unspent bootstrap tokens, its pairing code, SSH keys. Returns how many. */
export function revokeCredentials({ credentials, pairing, sshKeys }: CredentialStores, nodeId: string, now: string) {
  const ended = {
    ...endInvitations({ credentials, pairing }, nodeId, now),
    tokensRevoked: credentials.revoke(nodeId, now),
  }
  sshKeys.revoke(nodeId, now)
  return ended
}

/** Ends what could still make a box into this node: unspent bootstrap tokens and its pairing code. Returns how many. */
export const endInvitations = ({ credentials, pairing }: Invitations, nodeId: string, now: string) => ({
  bootstrapTokensRevoked: credentials.revokeBootstrap(nodeId, now),
  pairingCodesRevoked: pairing.end(nodeId),
})
