import { open, SealError, seal } from '../../crypto/seal.ts'
import { blobFingerprint } from '../../crypto/sshkey.ts'
import { USERS } from '../../host/places.ts'
import { conflict, Fail } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import type { SshCredential } from '../../wire/nodes.ts'
import type { Db, SqlValue } from '../store/db.ts'
import { present } from '../store/filter.ts'

interface Row {
  createdAt: string
  fingerprint: string
  id: string
  nodeId: string
  publicKey: string
  rotatedAt: string | null
  sealedKey: string | null
  state: 'active' | 'previous'
  username: string
}

export interface KeyMaterial {
  fingerprint: string
  privateKey: string
  publicKey: string
}

const aad = (id: string): string => `ssh_credentials/${id}/sealed_key`

/** Node SSH keys: the private half sealed with the node master key and bound to its row. */
export function sshKeyStore(db: Db, ids: Ids, masterKey: Uint8Array) {
  const current = db.stmt<{ nodeId: string }, Row>(
    `SELECT id, node_id AS nodeId, state, username, public_key AS publicKey, fingerprint, sealed_key AS sealedKey,
       created_at AS createdAt, rotated_at AS rotatedAt
       FROM ssh_credentials WHERE node_id = @nodeId AND state IN ('active', 'previous') ORDER BY state`,
  )
  const insert = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO ssh_credentials (id, node_id, state, username, public_key, fingerprint, sealed_key, created_at, rotated_at)
     VALUES (@id, @nodeId, 'active', @username, @publicKey, @fingerprint, @sealedKey, @now, @rotatedAt)`,
  )
  const retire = db.stmt<{ id: string; now: string }>(
    `UPDATE ssh_credentials SET state = 'revoked', sealed_key = NULL, revoked_at = @now WHERE id = @id`,
  )
  const confirm = db.stmt<{ nodeId: string; since: string; now: string }>(
    `UPDATE ssh_credentials SET state = 'revoked', sealed_key = NULL, revoked_at = @now
      WHERE node_id = @nodeId AND state = 'previous'
        AND EXISTS (SELECT 1 FROM ssh_credentials WHERE node_id = @nodeId AND state = 'active' AND created_at <= @since)`,
  )
  // The run under way installs the key it fetched: a newer one now would leave the node with neither.
  const busy = db.stmt<{ nodeId: string }, { n: number }>(
    `SELECT 1 AS n FROM node_lifecycle_jobs WHERE node_id = @nodeId AND status = 'running'`,
  )
  const keep = db.stmt<{ id: string }>(`UPDATE ssh_credentials SET state = 'previous' WHERE id = @id`)

  const rows = (nodeId: string) => {
    const list = current.all({ nodeId })
    return {
      active: list.find((row) => row.state === 'active'),
      previous: list.find((row) => row.state === 'previous'),
    }
  }
  const add = (
    nodeId: string,
    key: { privateKey: string; publicKey: string },
    username: string,
    rotatedAt: string | null,
    now: string,
  ) => {
    const id = ids.uuid()
    const fingerprint = blobFingerprint(key.publicKey)
    const sealedKey = seal(masterKey, aad(id), key.privateKey)
    insert.run({ id, nodeId, username, publicKey: key.publicKey, fingerprint, sealedKey, now, rotatedAt })
    return shown({ id, nodeId, username, publicKey: key.publicKey, fingerprint, createdAt: now, rotatedAt })
  }
  const opened = (row: Row): KeyMaterial => {
    try {
      const privateKey = Buffer.from(open(masterKey, aad(row.id), row.sealedKey ?? '')).toString('utf8')
      return { fingerprint: row.fingerprint, privateKey, publicKey: row.publicKey }
    } catch (e) {
      if (!(e instanceof SealError)) throw e
      throw conflict(
        'ssh_credential_unreadable',
        'The key was sealed with another master key: rotate the SSH credential',
      )
    }
  }

  /** Ends every key of a node; gives the one that was active. */
  const end = (nodeId: string, now: string): Row | undefined => {
    const { active, previous } = rows(nodeId)
    for (const row of [active, previous]) if (row) retire.run({ id: row.id, now })
    return active
  }

  return {
    find(nodeId: string): SshCredential | null {
      const { active } = rows(nodeId)
      return active ? shown(active) : null
    },
    /** The key a node made for itself: the only one it holds, so that earlier ones end. */
    adopt(
      nodeId: string,
      key: { privateKey: string; publicKey: string },
      username: string | undefined,
      now: string,
    ): SshCredential {
      const active = end(nodeId, now)
      return add(nodeId, key, username ?? active?.username ?? USERS.agent, null, now)
    },
    /**
     * The key the controller made: the one the node still holds is kept beside it until the new one is known to
     * be there (decision 23). Rotated twice before that, the node's own stays.
     * @throws Fail 409 `lifecycle_job_running`.
     */
    rotate(
      nodeId: string,
      key: { privateKey: string; publicKey: string },
      username: string | undefined,
      now: string,
    ): SshCredential {
      if (busy.get({ nodeId })) throw conflict('lifecycle_job_running', 'A lifecycle action is under way on this node')
      const { active, previous } = rows(nodeId)
      if (active && previous) retire.run({ id: active.id, now })
      else if (active) keep.run({ id: active.id })
      return add(nodeId, key, username ?? active?.username ?? USERS.agent, active ? now : null, now)
    },
    /**
     * A run that began at `since` has put the current key on the node: the one kept beside it ends (decision 23).
     * False when there was none, or the current key is younger than the run.
     */
    confirm: (nodeId: string, since: string, now: string): boolean => confirm.run({ nodeId, since, now }) === 1,
    revoke: (nodeId: string, now: string): void => void end(nodeId, now),
    /** @throws Fail 404 without a key, 409 when the master key changed since. */
    material(nodeId: string): KeyMaterial & { id: string; previous?: KeyMaterial; username: string } {
      const { active, previous } = rows(nodeId)
      if (!active) throw new Fail(404, 'ssh_credential_not_found', 'Node has no active SSH credential')
      const older = previous ? { previous: opened(previous) } : {}
      return { ...opened(active), ...older, id: active.id, username: active.username }
    },
  }
}
export type SshKeyStore = ReturnType<typeof sshKeyStore>

const shown = ({
  id,
  nodeId,
  username,
  publicKey,
  fingerprint,
  createdAt,
  rotatedAt,
}: Omit<Row, 'sealedKey' | 'state'>): SshCredential =>
  present({ id, nodeId, username, publicKey, fingerprint, createdAt, rotatedAt }) as SshCredential
