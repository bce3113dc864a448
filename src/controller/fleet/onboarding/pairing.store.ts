import { hashPairingCode, mintPairingCode } from '../../../crypto/token.ts'
import { isoPlus } from '../../../kernel/clock.ts'
import type { Db, Params } from '../../store/db.ts'

interface Spent {
  /** Who had it made; their token is minted with it. */
  createdBy: string | null
  nodeId: string
}

/** Codes that stand in for a bootstrap token, one per node at most. Call every write inside a transaction. */
export function pairingStore(db: Db, secret: Uint8Array) {
  const expired = db.stmt<{ now: string }>('DELETE FROM pairing_codes WHERE expires_at <= @now')
  const put = db.stmt<Params>(
    `INSERT INTO pairing_codes (node_id, code_hash, created_by, expires_at) VALUES (@nodeId, @hash, @by, @expiresAt)
     ON CONFLICT (node_id) DO UPDATE
       SET code_hash = excluded.code_hash, created_by = excluded.created_by, expires_at = excluded.expires_at`,
  )
  const spend = db.stmt<{ hash: string; now: string }, Spent>(
    `DELETE FROM pairing_codes WHERE code_hash = @hash AND expires_at > @now
     RETURNING node_id AS nodeId, created_by AS createdBy`,
  )
  const end = db.stmt<{ nodeId: string }>('DELETE FROM pairing_codes WHERE node_id = @nodeId')
  const alive = db.stmt<{ nodeId: string; now: string }, { expiresAt: string }>(
    'SELECT expires_at AS expiresAt FROM pairing_codes WHERE node_id = @nodeId AND expires_at > @now',
  )
  return {
    /** The one code of a node: an earlier one ends, and so do those of other nodes that have expired. */
    issue(nodeId: string, ttlSeconds: number, by: string, now: string): { code: string; expiresAt: string } {
      const code = mintPairingCode()
      const expiresAt = isoPlus(now, ttlSeconds)
      expired.run({ now })
      put.run({ nodeId, hash: hashPairingCode(secret, code), by, expiresAt })
      return { code, expiresAt }
    },
    /** Whose it was; undefined for one that is unknown, used or expired. */
    spend: (code: string, now: string): Spent | undefined => spend.get({ hash: hashPairingCode(secret, code), now }),
    /** Returns how many ended: none or one. */
    end: (nodeId: string): number => end.run({ nodeId }),
    /** For the audit: until when a code of this node is good. */
    held(nodeId: string, now: string): { pairingCode?: { expiresAt: string } } {
      const found = alive.get({ nodeId, now })
      return found ? { pairingCode: found } : {}
    },
  }
}
export type PairingStore = ReturnType<typeof pairingStore>
