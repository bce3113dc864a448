import type { ChecksumVerification, UploadItem } from '../../wire/uploads.ts'
import type { Db, Params } from '../store/db.ts'
import type { Condition } from '../store/filter.ts'
import { Lister, present } from '../store/filter.ts'
import { ITEM_COLUMNS } from './queue.store.ts'

type Row = { [K in keyof Required<UploadItem>]: UploadItem[K] | null }

// A pass started by somebody who sees few items examines this many of a destination's due items.
const WINDOW = 5000

/** The runner's side of the queue: claim with a lease, renew, settle. Guarded updates, no read before a write. */
export function uploadWorkStore(db: Db) {
  // Loose index scan: one step per destination, however long its queue.
  const destinations = db.stmt<object, { id: string }>(
    `WITH RECURSIVE d (id) AS (
       SELECT (SELECT destination_id FROM upload_queue INDEXED BY upload_queue_due
         WHERE status IN ('queued', 'retrying') ORDER BY destination_id LIMIT 1)
       UNION ALL
       SELECT (SELECT destination_id FROM upload_queue INDEXED BY upload_queue_due
         WHERE status IN ('queued', 'retrying') AND destination_id > d.id
               ORDER BY destination_id LIMIT 1) FROM d WHERE d.id IS NOT NULL)
     SELECT id FROM d WHERE id IS NOT NULL`,
  )
  const due = new Lister<{ id: string }>(db, {
    columns: 'q.id',
    from: `(SELECT id, recording_id, next_attempt_at FROM upload_queue
             WHERE destination_id = @destinationId AND status IN ('queued', 'retrying') AND next_attempt_at <= @now
             ORDER BY next_attempt_at LIMIT ${WINDOW}) q`,
  })
  const claim = db.stmt<Params>(
    `UPDATE upload_queue SET status = 'retrying', attempt_count = attempt_count + 1, last_error = NULL, claim = @claim,
       next_attempt_at = @leaseEnd, updated_at = @now
      WHERE id = @id AND status IN ('queued', 'retrying') AND next_attempt_at <= @now AND attempt_count < max_attempts`,
  )
  const exhaust = db.stmt<Params>(
    `UPDATE upload_queue SET status = 'failed', last_error = 'upload_interrupted', claim = NULL, updated_at = @now
      WHERE id = @id AND status IN ('queued', 'retrying') AND next_attempt_at <= @now AND attempt_count >= max_attempts`,
  )
  const resetClaims = db.stmt<{ now: string }>(
    `UPDATE upload_queue SET claim = NULL, next_attempt_at = @now, updated_at = @now WHERE claim IS NOT NULL`,
  )
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${ITEM_COLUMNS} FROM upload_queue q WHERE q.id = @id`)
  const item = (id: string): UploadItem => present(byId.get({ id }) as Row) as UploadItem

  return {
    /** Makes the attempts of a previous process due at once; call it at start only. */
    recover: (now: string): number => resetClaims.run({ now }),
    /** Destinations that items are queued for, due or not. */
    destinations: (): string[] => destinations.all({}).map((row) => row.id),
    /** Ids of due items of one destination, oldest first. */
    due: (destinationId: string, within: Condition[], limit: number, now: string): string[] =>
      due
        .rows([{ sql: '1', params: { destinationId, now } }, ...within], 'q.next_attempt_at', limit, 0)
        .map((row) => row.id),
    /** Claims the item for a new attempt; undefined when it is no longer due. */
    claim(id: string, claimId: string, leaseEnd: string, now: string): UploadItem | undefined {
      return claim.run({ id, claim: claimId, leaseEnd, now }) === 1 ? item(id) : undefined
    },
    /** An item whose last attempt ended with its process has failed. */
    exhaust: (id: string, now: string): UploadItem | undefined =>
      exhaust.run({ id, now }) === 1 ? item(id) : undefined,
    ...settling(db, item),
  }
}
export type UploadWorkStore = ReturnType<typeof uploadWorkStore>

/** Updates of an attempt under way; each requires the claim it was started with. */
function settling(db: Db, item: (id: string) => UploadItem) {
  const renew = db.stmt<Params>(`UPDATE upload_queue SET next_attempt_at = @leaseEnd WHERE id = @id AND claim = @claim`)
  const abandon = db.stmt<Params>(
    `UPDATE upload_queue SET claim = NULL, attempt_count = attempt_count - 1, next_attempt_at = @now, updated_at = @now
      WHERE id = @id AND claim = @claim`,
  )
  const succeed = db.stmt<Params>(
    `UPDATE upload_queue SET status = 'succeeded', last_error = NULL, claim = NULL, verification = @verification,
       next_attempt_at = @now, updated_at = @now WHERE id = @id AND claim = @claim`,
  )
  const fail = db.stmt<Params>(
    `UPDATE upload_queue SET status = CASE WHEN attempt_count < max_attempts THEN 'retrying' ELSE 'failed' END,
       last_error = @lastError, claim = NULL, next_attempt_at = @nextAttemptAt, updated_at = @now
      WHERE id = @id AND claim = @claim`,
  )
  return {
    renew: (id: string, claimId: string, leaseEnd: string): void => void renew.run({ id, claim: claimId, leaseEnd }),
    /** Due at once, and the attempt is not counted. */
    abandon: (id: string, claimId: string, now: string): void => void abandon.run({ id, claim: claimId, now }),
    /** Undefined when the item was removed meanwhile, or restarted for a newer file. */
    succeed(
      id: string,
      claimId: string,
      verification: ChecksumVerification['status'],
      now: string,
    ): UploadItem | undefined {
      return succeed.run({ id, claim: claimId, verification, now }) === 1 ? item(id) : undefined
    },
    /** `retrying` until the budget is spent, then `failed`. Undefined as above. */
    fail(id: string, claimId: string, lastError: string, nextAttemptAt: string, now: string): UploadItem | undefined {
      return fail.run({ id, claim: claimId, lastError, nextAttemptAt, now }) === 1 ? item(id) : undefined
    },
  }
}
