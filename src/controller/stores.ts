// What the controller stands on: its surroundings, and every store over the database.
import { deriveKey } from '../crypto/seal.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import { groupStore } from './access/groups.store.ts'
import { userStore } from './access/users.store.ts'
import { auditStore } from './audit/audit.store.ts'
import { sessionStore } from './auth/sessions.store.ts'
import type { Config } from './config.ts'
import { healthStore } from './health/health.store.ts'
import { claimStore } from './jobs/claims.store.ts'
import { jobStore } from './jobs/jobs.store.ts'
import { leaseStore } from './jobs/leases.store.ts'
import { provenanceStore } from './link/provenance.store.ts'
import { nodeStore } from './nodes/nodes.store.ts'
import { credentialStore } from './onboarding/credentials.store.ts'
import { sshKeyStore } from './onboarding/sshkeys.store.ts'
import { policyStore } from './profiles/policies.store.ts'
import { profileStore } from './profiles/profiles.store.ts'
import { conflictStore } from './recordings/conflicts.store.ts'
import { recordingStore } from './recordings/recordings.store.ts'
import { roomStore } from './rooms/rooms.store.ts'
import { rosterStore } from './rooms/roster.store.ts'
import { metricsStore } from './status/metrics.store.ts'
import { auditTally } from './status/tally.store.ts'
import type { Db } from './store/db.ts'

/** What differs between a running controller and one in a test. */
export interface Surroundings {
  clock: Clock
  config: Config
  db: Db
  ids: Ids
  log: Log
  /** Secrets that seal what is stored. */
  secrets: { nodeSshKey: string }
}

/** Every store, by name: what the routes and runners read and write through. */
export function storesOf({ config, db, ids, secrets }: Surroundings) {
  const jobs = jobStore(db)
  return {
    audits: auditStore(db),
    claims: claimStore(db, jobs, config.SVC_RECORDING_JOB_LEASE_SECONDS),
    conflicts: conflictStore(db),
    credentials: credentialStore(db, ids),
    groups: groupStore(db),
    health: healthStore(db, ids),
    jobs,
    leases: leaseStore(db, jobs, config.SVC_RECORDING_JOB_LEASE_SECONDS),
    metrics: metricsStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS),
    nodes: nodeStore(db, ids, config.SVC_NODE_OFFLINE_AFTER_SECONDS),
    policies: policyStore(db),
    profiles: profileStore(db),
    provenance: provenanceStore(db),
    recordings: recordingStore(db),
    rooms: roomStore(db),
    rosters: rosterStore(db),
    sessions: sessionStore(db),
    sshKeys: sshKeyStore(db, ids, deriveKey(secrets.nodeSshKey)),
    tally: auditTally(db),
    users: userStore(db),
  }
}
export type Stores = ReturnType<typeof storesOf>
