import { open, SealError, seal } from '../../../crypto/seal.ts'
import { blobFingerprint } from '../../../crypto/sshkey.ts'
import { conflict, Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { USERS } from '../../../system/host/places.ts'
import type { SshCredential } from '../../../wire/nodes.ts'
import type { Db, SqlValue } from '../../store/db.ts'
import { present } from '../../store/filter.ts'

interface Row {
  confirmedAt: string | null
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

interface KeyMaterial {
  fingerprint: string
  privateKey: string
  publicKey: string
}

/** The keys that the lifecycle runner gets. */
interface Keys extends KeyMaterial {
  /** Whether the node is known to hold the key. */
  confirmed: boolean
  id: string
  /** Earlier keys the node may still have, oldest first; none once the key is confirmed. */
  previous: KeyMaterial[]
  /** How many earlier keys are left out because they were sealed with another master key. */
  previousUnreadable: number
  username: string
}

/** An SSH server lets a client try six keys: the current one, these previous ones, and an operator's own. */
const MAX_PREVIOUS = 3

const aad = (id: string): string => `ssh_credentials/${id}/sealed_key`

/** Node SSH keys: the private half sealed with the node master key and bound to its row. */
export function sshKeyStore(db: Db, ids: Ids, masterKey: Uint8Array) {
  const current = db.stmt<{ nodeId: string }, Row>(
    `SELECT id, node_id AS nodeId, state, username, public_key AS publicKey, fingerprint, sealed_key AS sealedKey,
       created_at AS createdAt, rotated_at AS rotatedAt, confirmed_at AS confirmedAt
       FROM ssh_credentials WHERE node_id = @nodeId AND state IN ('active', 'previous') ORDER BY state, created_at, rowid`,
  )
  const insert = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO ssh_credentials
       (id, node_id, state, username, public_key, fingerprint, sealed_key, created_at, rotated_at, confirmed_by)
     VALUES (@id, @nodeId, 'active', @username, @publicKey, @fingerprint, @sealedKey, @now, @rotatedAt, @confirmedBy)`,
  )
  const retire = db.stmt<{ id: string; now: string }>(
    `UPDATE ssh_credentials SET state = 'revoked', sealed_key = NULL, revoked_at = @now WHERE id = @id`,
  )
  const mark = db.stmt<{ nodeId: string; since: string; now: string }>(
    `UPDATE ssh_credentials SET confirmed_at = @now
      WHERE node_id = @nodeId AND state = 'active' AND confirmed_at IS NULL AND created_at <= @since`,
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
      previous: list.filter((row) => row.state === 'previous'),
    }
  }
  const add = (
    nodeId: string,
    key: { privateKey: string; publicKey: string },
    { username, rotatedAt, confirmedBy }: { username: string; rotatedAt: string | null; confirmedBy: string | null },
    now: string,
  ) => {
    const id = ids.uuid()
    const fingerprint = blobFingerprint(key.publicKey)
    const sealedKey = seal(masterKey, aad(id), key.privateKey)
    insert.run({ id, nodeId, username, publicKey: key.publicKey, fingerprint, sealedKey, now, rotatedAt, confirmedBy })
    return shown({ id, nodeId, username, publicKey: key.publicKey, fingerprint, createdAt: now, rotatedAt })
  }
  /** Undefined for a key that was sealed with another master key. */
  const opened = (row: Row): KeyMaterial | undefined => {
    try {
      const privateKey = Buffer.from(open(masterKey, aad(row.id), row.sealedKey ?? '')).toString('utf8')
      return { fingerprint: row.fingerprint, privateKey, publicKey: row.publicKey }
    } catch (e) {
      if (!(e instanceof SealError)) throw e
      return undefined
    }
  }
  /**
   * Turns the active key of a node into a previous one. The oldest previous key always stays, because no later one is known to
   * have arrived; of the others the newest stay.
   */
  const demoteActive = (nodeId: string, now: string): Row | undefined => {
    const { active, previous } = rows(nodeId)
    if (!active) return undefined
    keep.run({ id: active.id })
    if (previous.length >= MAX_PREVIOUS) retire.run({ id: previous[1]!.id, now })
    return active
  }
  const refuseWhileBusy = (nodeId: string): void => {
    if (busy.get({ nodeId }))
      throw conflict('lifecycle_job_running', 'A lifecycle action is under way on this node: wait until it has ended')
  }

  return {
    find(nodeId: string): SshCredential | null {
      const { active } = rows(nodeId)
      return active ? shown(active) : null
    },
    /**
     * Stores the key a node generated. The node installs it afterwards, and only then uses its new token (`tokenId`): until
     * then it may still have an earlier key, which is kept as a previous one. @throws Fail 409 `lifecycle_job_running`.
     */
    adopt(
      nodeId: string,
      key: { privateKey: string; publicKey: string },
      { tokenId, username }: { tokenId: string; username: string | undefined },
      now: string,
    ): SshCredential {
      refuseWhileBusy(nodeId)
      const active = demoteActive(nodeId, now)
      const about = { username: username ?? active?.username ?? USERS.agent, rotatedAt: null, confirmedBy: tokenId }
      return add(nodeId, key, about, now)
    },
    /**
     * Stores a key the controller generated: the node's earlier keys are kept as previous ones until the new one is known to
     * be installed (ADR-0006). @throws Fail 409 `lifecycle_job_running`.
     */
    rotate(
      nodeId: string,
      key: { privateKey: string; publicKey: string },
      username: string | undefined,
      now: string,
    ): SshCredential {
      refuseWhileBusy(nodeId)
      const active = demoteActive(nodeId, now)
      const rotatedAt = active ? now : null
      return add(
        nodeId,
        key,
        { username: username ?? active?.username ?? USERS.agent, rotatedAt, confirmedBy: null },
        now,
      )
    },
    /**
     * A run that began at `since` has installed the current key: the previous ones end (ADR-0006). False when that was known
     * already, or the current key is newer than the run.
     */
    confirm(nodeId: string, since: string, now: string): boolean {
      if (mark.run({ nodeId, since, now }) === 0) return false
      for (const { id } of rows(nodeId).previous) retire.run({ id, now })
      return true
    },
    revoke(nodeId: string, now: string): void {
      const { active, previous } = rows(nodeId)
      for (const row of [active, ...previous]) if (row) retire.run({ id: row.id, now })
    },
    /** @throws Fail 404 without a key, 409 when the master key changed since it was sealed. */
    material(nodeId: string): Keys {
      const { active, previous } = rows(nodeId)
      if (!active) throw new Fail(404, 'ssh_credential_not_found', 'Node has no active SSH credential')
      const key = opened(active)
      if (!key)
        throw conflict(
          'ssh_credential_unreadable',
          'The key was sealed with another master key: rotate the SSH credential',
        )
      const older = previous.map(opened).filter((one) => one !== undefined)
      return {
        ...key,
        confirmed: active.confirmedAt !== null,
        id: active.id,
        previous: older,
        previousUnreadable: previous.length - older.length,
        username: active.username,
      }
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
}: Omit<Row, 'confirmedAt' | 'sealedKey' | 'state'>): SshCredential =>
  present({ id, nodeId, username, publicKey, fingerprint, createdAt, rotatedAt }) as SshCredential
