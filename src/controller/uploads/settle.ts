// How an attempt ends: the item, its recording, the health event and the audit rows, in one transaction.
import { type Clock, iso, isoPlus } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { ChecksumVerification, UploadItem, UploadRunItem, UploadRunSummary } from '../../wire/uploads.ts'
import type { Audit, AuditEntry } from '../http/audit.ts'
import type { PathClaims } from '../http/claims.ts'
import { systemActor } from '../http/principal.ts'
import type { Db } from '../store/db.ts'
import type { AlarmStore } from './alarms.store.ts'
import { type Delivered, DriverError } from './driver.ts'
import type { Damages } from './library/damages.ts'
import { pauseSeconds } from './queue.rules.ts'
import type { ReconcileStore, Reconciliation } from './reconcile.store.ts'
import type { TroubleStore } from './troubles.store.ts'
import type { UploadWorkStore } from './work.store.ts'

interface Parts {
  alarms: AlarmStore
  audit: Audit
  paths: PathClaims
  clock: Clock
  damages: Pick<Damages, 'kept'>
  db: Db
  log: Log
  reconciles: ReconcileStore
  troubles: TroubleStore
  work: UploadWorkStore
}

const actor = systemActor('upload-runner')
const permission = 'recording:control'

/** The item was removed or restarted meanwhile: there is nothing left to settle. */
const superseded = ({ id, provider, recordingId, status }: UploadItem): UploadRunItem => ({
  itemId: id,
  provider,
  reason: 'upload_queue_item_not_found',
  recordingId,
  status,
})

export function settlement(parts: Parts) {
  const { alarms, audit, clock, damages, db, log, paths, reconciles, troubles, work } = parts
  const nowIso = (): string => iso(clock.now())

  const auditItem = (item: UploadItem, verification: ChecksumVerification | undefined, now: string): UploadRunItem => {
    const [name, outcome] = OUTCOMES[item.status] ?? OUTCOMES.retrying
    audit.write({ ...rowOf(item, verification), action: `recordings.upload_queue.runner_item.${name}`, outcome }, now)
    const { id, lastError, provider, recordingId, status } = item
    const seen = verification ? { checksumVerification: verification } : {}
    return { ...seen, itemId: id, provider, ...(lastError ? { reason: lastError } : {}), recordingId, status }
  }

  const reconcile = (recordingId: string, now: string): string[] => {
    const done = reconciles.reconcile(recordingId, now)
    if (done) audit.write(reconciledRow(recordingId, done), now)
    return done?.unlink ?? []
  }

  /** Runs a transaction that may discard files of a take; they are deleted after the commit. */
  const withFileRemoval = async <T>(
    recordingId: string,
    write: (discard: (files: string[]) => void) => T,
  ): Promise<T> => {
    const { done, failures } = await paths.removing((discard) => db.tx(() => write(discard)))
    for (const { path, error } of failures)
      log.warn('file of an uploaded take could not be removed', { recordingId, path, error })
    return done
  }

  /** Raises the health event once no attempt is left. */
  const attemptsSpent = (item: UploadItem, reason: string, now: string): UploadRunItem => {
    if (item.status === 'failed') {
      alarms.raise(item, reason, now)
      reconcile(item.recordingId, now)
    }
    return auditItem(item, undefined, now)
  }

  return {
    /** The attempt is not counted. */
    abandon: (item: UploadItem, claim: string): void => db.tx(() => work.abandon(item.id, claim, nowIso())),
    /** Audits a pass that attempted anything. */
    completed(summary: UploadRunSummary, limit: number): void {
      const { attempted, deferred, failed, succeeded } = summary
      if (attempted === 0) return
      const outcome = failed === attempted ? 'failed' : succeeded === attempted ? 'succeeded' : 'partial'
      const details = { attempted, deferred, failed, limit, succeeded }
      const action = 'recordings.upload_queue.runner.completed'
      db.tx(() =>
        audit.write({ action, actor, details, outcome, permission, target: { type: 'upload_runner' } }, nowIso()),
      )
    },
    /** Settles an item whose last attempt was interrupted by the end of its process. */
    exhausted: (id: string): void =>
      db.tx(() => {
        const now = nowIso()
        const item = work.exhaust(id, now)
        if (item) attemptsSpent(item, 'upload_interrupted', now)
      }),
    failed: (item: UploadItem, claim: string, e: Error): UploadRunItem =>
      db.tx(() => {
        const now = nowIso()
        const known = e instanceof DriverError
        if (!known)
          log.error('internal error: an upload failed and will be tried again. Please report this', {
            uploadQueueItemId: item.id,
            message: e.message,
            stack: e.stack,
          })
        const lastError = known ? e.message : 'upload_failed'
        const next = isoPlus(now, pauseSeconds(item.attemptCount))
        const after = work.fail(item.id, claim, lastError, next, now)
        if (after?.destinationId) troubles.note(after.destinationId, lastError, now)
        return after ? attemptsSpent(after, known ? e.reason : 'upload_failed', now) : superseded(item)
      }),
    /** Deletes uploaded files that were in use when they were first due for deletion. */
    async releasePostponed(limit: number): Promise<void> {
      for (const id of reconciles.postponed(limit))
        await withFileRemoval(id, (discard) => {
          const now = nowIso()
          const again = reconciles.retry(id, now)
          if (again?.retention.cacheDeleted) audit.write(reconciledRow(id, again), now)
          discard(again?.unlink ?? [])
        })
    },
    succeeded: (item: UploadItem, claim: string, { object, verification }: Delivered): Promise<UploadRunItem> =>
      withFileRemoval(item.recordingId, (discard) => {
        const now = nowIso()
        const after = work.succeed(item.id, claim, verification.status, now)
        if (!after) return superseded(item)
        if (after.destinationId) troubles.clear(after.destinationId)
        alarms.clear(after, now)
        const { checksum, destinationId, recordingId } = after
        if (object && checksum && destinationId) damages.kept({ ...object, checksum, destinationId, recordingId }, now)
        const result = auditItem(after, verification, now)
        discard(reconcile(item.recordingId, now))
        return result
      }),
  }
}
export type Settlement = ReturnType<typeof settlement>

const OUTCOMES: Partial<Record<UploadItem['status'], ['succeeded' | 'failed' | 'deferred', AuditEntry['outcome']]>> &
  Record<'retrying', ['deferred', 'partial']> = {
  failed: ['failed', 'failed'],
  retrying: ['deferred', 'partial'],
  succeeded: ['succeeded', 'succeeded'],
}

const rowOf = (
  item: UploadItem,
  verification: ChecksumVerification | undefined,
): Omit<AuditEntry, 'action' | 'outcome'> => ({
  actor,
  correlation: { recordingId: item.recordingId, uploadQueueItemId: item.id },
  details: {
    attemptCount: item.attemptCount,
    destinationId: item.destinationId,
    maxAttempts: item.maxAttempts,
    nextAttemptAt: item.nextAttemptAt,
    provider: item.provider,
    target: item.target,
    ...(verification ? { checksumVerification: verification } : {}),
  },
  permission,
  reason: item.lastError ?? null,
  target: { type: 'recording', id: item.recordingId },
})

const reconciledRow = (recordingId: string, { retention, status }: Reconciliation): AuditEntry => ({
  action: `recordings.upload_queue.reconciled.${status === 'uploaded' ? 'succeeded' : 'partial'}`,
  actor,
  correlation: { recordingId },
  details: { retention, status },
  outcome: status === 'uploaded' ? 'succeeded' : 'partial',
  permission,
  target: { type: 'recording', id: recordingId },
})
