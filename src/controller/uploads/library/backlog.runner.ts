import { setImmediate as turn } from 'node:timers/promises'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { EnqueueStore } from '../enqueue.store.ts'
import type { BacklogStore } from './backlog.store.ts'

interface Parts {
  audit: Audit
  backlog: BacklogStore
  db: Db
  enqueues: Pick<EnqueueStore, 'enqueueRest'>
}

const EVERY_SECONDS = 10
// Recordings that one transaction looks at: short enough for requests beside it.
const SLICE = 20
// Recordings that one pass looks at, and queues: what is queued has to be sent first.
const [LOOKED, QUEUED] = [10_000, 50]

/**
 * Queues masters and joined files of takes that a destination was sent before it kept the library, little by little: without
 * them it holds none of those takes.
 */
export function backlogRunner({ audit, backlog, db, enqueues }: Parts): Runner {
  const queued = (recordingId: string, policyId: string, now: string): number => {
    const ids = enqueues.enqueueRest(recordingId, policyId, now).map(({ id }) => id)
    if (ids.length === 0) return 0
    audit.write(
      {
        action: 'recordings.upload_queue.auto_enqueue.succeeded',
        actor: systemActor('library'),
        correlation: { recordingId },
        details: { uploadQueueItemIds: ids },
        outcome: 'succeeded',
        permission: 'recording:control',
        reason: null,
        target: { type: 'recording', id: recordingId },
      },
      now,
    )
    return 1
  }
  const step = (now: string): number | undefined =>
    db.tx(() => {
      const walk = backlog.next()
      if (!walk) return undefined
      const behind = backlog.step(walk, SLICE)
      return behind.reduce((sum, { policyId, recordingId }) => sum + queued(recordingId, policyId, now), 0)
    }, false)
  const tick = async (now: string, signal: AbortSignal) => {
    let recordings = 0
    for (let looked = 0; looked < LOOKED && recordings < QUEUED && !signal.aborted; looked += SLICE) {
      const found = step(now)
      if (found === undefined) break
      recordings += found
      await turn()
    }
    return { queued: recordings }
  }
  return { name: 'library-backlog', enabled: true, intervalSeconds: EVERY_SECONDS, tick }
}
