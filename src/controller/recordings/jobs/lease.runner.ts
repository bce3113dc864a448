import type { Job } from '../../../wire/recordings.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import { LEASE_EXPIRED, SLOT_ENDED, STOP_EXPIRED } from './jobs.rules.ts'
import type { JobService } from './jobs.service.ts'
import type { LeaseStore } from './leases.store.ts'

interface Parts {
  audit: Audit
  /** Maximum of jobs ended per pass and cause; the next pass continues. */
  batchSize: number
  db: Db
  enabled: boolean
  intervalSeconds: number
  jobs: JobService
  leases: LeaseStore
  /** Whether the clock can be relied on for the end of a slot. */
  trusted: () => boolean
}

/** Ends orphaned jobs whose lease ran out, and scheduled ones nobody has begun (docs/contract/recordings.md: States of a job). */
export function leaseRunner({ audit, batchSize, db, enabled, intervalSeconds, jobs, leases, trusted }: Parts): Runner {
  const end = (job: Job, action: string, to: 'cancelled' | 'failed', reason: string, now: string): void => {
    const effect = jobs.end(job, to, reason, now)
    audit.write(
      {
        action,
        actor: systemActor('job-lease'),
        correlation: { recordingId: job.recordingId, recordingJobId: job.id },
        details: { ...effect, leaseExpiresAt: job.leaseExpiresAt, nodeId: job.nodeId, terminalState: to },
        outcome: 'succeeded',
        permission: 'recording:control',
        reason,
        target: { type: 'recording_job', id: job.id },
      },
      now,
    )
  }
  const tick = (now: string) =>
    db.tx(() => {
      const expired = leases.expired(now, batchSize)
      for (const job of expired)
        if (job.status === 'stop_requested') end(job, 'recording_jobs.lease_expired', 'cancelled', STOP_EXPIRED, now)
        else end(job, 'recording_jobs.lease_expired', 'failed', LEASE_EXPIRED, now)
      const unclaimed = trusted() ? leases.unclaimed(now, batchSize) : []
      for (const job of unclaimed) end(job, 'recording_jobs.slot_ended', 'failed', SLOT_ENDED, now)
      return { expired: expired.length, unclaimed: unclaimed.length }
    })
  return { name: 'job-lease', enabled, intervalSeconds, tick }
}
