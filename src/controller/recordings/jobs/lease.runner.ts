import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import { LEASE_EXPIRED, STOP_EXPIRED } from './jobs.rules.ts'
import type { JobService } from './jobs.service.ts'
import type { LeaseStore } from './leases.store.ts'

interface Parts {
  audit: Audit
  /** Maximum of leases ended per pass; the next pass continues. */
  batchSize: number
  db: Db
  enabled: boolean
  intervalSeconds: number
  jobs: JobService
  leases: LeaseStore
}

/** Fails orphaned jobs whose lease ran out (docs/contract/recordings.md: States of a job). */
export const leaseRunner = ({ audit, batchSize, db, enabled, intervalSeconds, jobs, leases }: Parts): Runner => ({
  name: 'job-lease',
  enabled,
  intervalSeconds,
  tick: (now) =>
    db.tx(() => {
      const expired = leases.expired(now, batchSize)
      for (const job of expired) {
        const stopped = job.status === 'stop_requested'
        const [to, reason] = stopped ? (['cancelled', STOP_EXPIRED] as const) : (['failed', LEASE_EXPIRED] as const)
        const effect = jobs.end(job, to, reason, now)
        audit.write(
          {
            action: 'recording_jobs.lease_expired',
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
      return { expired: expired.length }
    }),
})
