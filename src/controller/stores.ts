// What the controller stands on: its surroundings, and every store over the database.
import { deriveKey } from '../crypto/seal.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import { zoneBook } from '../kernel/zones.ts'
import { provenanceStore } from './agentapi/provenance.store.ts'
import { auditStore } from './audit/audit.store.ts'
import type { Config } from './config.ts'
import { assignmentStore } from './fleet/channels/assignments.store.ts'
import { planStore } from './fleet/channels/plans.store.ts'
import { templateStore } from './fleet/channels/templates.store.ts'
import { lifecycleStore } from './fleet/lifecyclejobs/lifecycle.store.ts'
import { channelRoomStore } from './fleet/nodes/channelrooms.store.ts'
import type { Running } from './fleet/nodes/depot.own.ts'
import { nodeStore } from './fleet/nodes/nodes.store.ts'
import { credentialStore } from './fleet/onboarding/credentials.store.ts'
import { hostKeyStore } from './fleet/onboarding/hostkeys.store.ts'
import { retireStore } from './fleet/onboarding/retire.store.ts'
import { sshKeyStore } from './fleet/onboarding/sshkeys.store.ts'
import { leaving } from './fleet/rooms/leaving.store.ts'
import { roomStore } from './fleet/rooms/rooms.store.ts'
import { rosterStore } from './fleet/rooms/roster.store.ts'
import { routingStore } from './fleet/switchers/routing.store.ts'
import { mappingStore, switcherStore } from './fleet/switchers/switchers.store.ts'
import type { Certificates } from './http/certificates.ts'
import { groupStore } from './identity/access/groups.store.ts'
import { userStore } from './identity/access/users.store.ts'
import { oidcStore } from './identity/auth/oidc.store.ts'
import { sessionStore } from './identity/auth/sessions.store.ts'
import { captureEvents } from './monitoring/health/capture.store.ts'
import { healthEvents } from './monitoring/health/events.store.ts'
import { healthStore } from './monitoring/health/health.store.ts'
import { countStore } from './monitoring/status/counts.store.ts'
import { metricsStore } from './monitoring/status/metrics.store.ts'
import { auditTally } from './monitoring/status/tally.store.ts'
import { watchdogPolicyStore } from './monitoring/watchdog/policies.store.ts'
import { chunkStore } from './recordings/chunks/chunks.store.ts'
import { claimStore } from './recordings/jobs/claims.store.ts'
import { jobStore } from './recordings/jobs/jobs.store.ts'
import { leaseStore } from './recordings/jobs/leases.store.ts'
import { conflictStore } from './recordings/library/conflicts.store.ts'
import { type RecordingStore, recordingStore } from './recordings/library/recordings.store.ts'
import { ticketStore } from './recordings/library/tickets.store.ts'
import { policyStore } from './recordings/profiles/policies.store.ts'
import { profileStore } from './recordings/profiles/profiles.store.ts'
import { retentionPolicyStore } from './recordings/retention/policies.store.ts'
import { retentionStore } from './recordings/retention/retention.store.ts'
import { waveformStore } from './recordings/waveforms/waveforms.store.ts'
import { referenceStore } from './schedules/references.store.ts'
import { runStore } from './schedules/runs.store.ts'
import { scheduleStore } from './schedules/schedules.store.ts'
import { settingsStore } from './settings/settings.store.ts'
import type { Db } from './store/db.ts'
import { findSmbclient, NO_SMBCLIENT } from './uploads/drivers.smb.ts'
import { uploadStores } from './uploads/uploads.store.ts'

/** What differs between a running controller and one in a test. */
export interface Surroundings {
  /** What HTTPS is served with; absent for plain HTTP. */
  certificates?: Certificates | undefined
  clock: Clock
  config: Config
  db: Db
  ids: Ids
  log: Log
  /** The executable that runs, to be given to nodes; absent in development. */
  running?: Running | undefined
  /** Secrets that seal what is stored. */
  secrets: { nodeSshKey: string; settingsKey: string }
}

/** Every store, by name: what the routes and runners read and write through. */
export function storesOf({ config, db, ids, secrets }: Surroundings) {
  const health = healthStore(db, ids)
  const jobs = jobStore(db)
  const recordings = recordingStore(db)
  const templates = templateStore(db)
  const nodeKey = deriveKey(secrets.nodeSshKey)
  const settingsKey = lazyKey(secrets.settingsKey, secrets.nodeSshKey, nodeKey)
  const switchers = switcherStore(db, settingsKey)
  return {
    assignments: assignmentStore(db, ids, templates),
    audits: auditStore(db),
    captureEvents: captureEvents(db, health),
    channelRooms: channelRoomStore(db),
    claims: claimStore(db, jobs, config.SVC_RECORDING_JOB_LEASE_SECONDS),
    conflicts: conflictStore(db),
    counts: countStore(db),
    credentials: credentialStore(db, ids),
    groups: groupStore(db),
    health,
    healthEvents: healthEvents(db),
    hostKeys: hostKeyStore(db),
    jobs,
    leaving: leaving(db),
    lifecycle: lifecycleStore(db),
    leases: leaseStore(db, jobs, config.SVC_RECORDING_JOB_LEASE_SECONDS),
    metrics: metricsStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS),
    oidc: oidcStore(db, ids, config.SVC_LOCAL_ADMIN_EMAIL),
    nodes: nodeStore(db, ids, config.SVC_NODE_OFFLINE_AFTER_SECONDS),
    retiring: retireStore(db),
    plans: planStore(db),
    policies: policyStore(db),
    profiles: profileStore(db),
    recordingChunks: chunkStore(db),
    provenance: provenanceStore(db),
    recordings,
    retention: retentionStore(db),
    retentionPolicies: retentionPolicyStore(db),
    rooms: roomStore(db),
    rosters: rosterStore(db),
    scheduleReferences: referenceStore(db),
    scheduleRuns: runStore(db),
    schedules: scheduleStore(db, zoneBook()),
    sessions: sessionStore(db),
    settings: settingsStore(db),
    sshKeys: sshKeyStore(db, ids, nodeKey),
    switcherMappings: mappingStore(db, switchers),
    switcherRouting: routingStore(db),
    switchers,
    tally: auditTally(db),
    templates,
    tickets: ticketStore(db),
    uploads: uploadStoresOf({ config, db, ids, key: settingsKey, recordings }),
    users: userStore(db),
    waveforms: waveformStore(db),
    watchdogPolicies: watchdogPolicyStore(db),
  }
}
export type Stores = ReturnType<typeof storesOf>

type UploadParts = Pick<Surroundings, 'config' | 'db' | 'ids'> & { key: () => Uint8Array; recordings: RecordingStore }

const uploadStoresOf = ({ config, ...parts }: UploadParts) =>
  uploadStores({
    ...parts,
    attempts: Math.min(config.SVC_UPLOAD_QUEUE_MAX_ATTEMPTS, 100),
    masters: config.SVC_UPLOAD_RAW_MASTERS ?? config.SVC_DATABASE_REPLICATED,
    unavailable: (kind) =>
      kind === 'smb' && !findSmbclient(config.SVC_SMBCLIENT_COMMAND, config.programDirs) ? NO_SMBCLIENT : undefined,
  })

/** Derived when it is first needed, for it takes a while; the usual installation has one secret for both. */
function lazyKey(secret: string, known: string, knownKey: Uint8Array): () => Uint8Array {
  let key = secret === known ? knownKey : undefined
  return () => {
    key ??= deriveKey(secret)
    return key
  }
}
