import type { PathClaims } from '../http/claims.ts'
import type { DiskSpace } from '../http/diskspace.ts'
import type { ChunkStore } from './chunks/chunks.store.ts'
import type { CustodyService } from './custody/custody.ts'
import type { ClaimStore } from './jobs/claims.store.ts'
import type { JobService } from './jobs/jobs.service.ts'
import type { JobStore } from './jobs/jobs.store.ts'
import type { LeaseStore } from './jobs/leases.store.ts'
import type { JobRetrying } from './jobs/retrying.ts'
import type { RecordingCounts } from './library/counts.store.ts'
import type { OpenPlaybacks } from './library/openplaybacks.ts'
import type { RecordingService } from './library/recordings.service.ts'
import type { RecordingStore } from './library/recordings.store.ts'
import type { ManifestStore } from './manifests/manifests.store.ts'
import type { ProfileStore } from './profiles/profiles.store.ts'
import type { PolicyStore } from './retention/policies.store.ts'

/** What other modules may call of recordings and the jobs that make them. */
export interface RecordingsApi {
  chunks: ChunkStore
  claims: ClaimStore
  /** Totals of recordings by scope, without reading each of them. */
  counts: RecordingCounts
  /** Takes that recorders keep until the next controller would have them, too. */
  custody: CustodyService
  /** Starts and plans recordings. */
  recording: RecordingService
  /** Ends jobs. */
  jobService: JobService
  jobs: JobStore
  leases: LeaseStore
  /** What is told of takes beside their files. */
  manifests: ManifestStore
  /** Paths of files that are being stored or removed. */
  paths: PathClaims
  openPlaybacks: OpenPlaybacks
  policies: PolicyStore
  profiles: ProfileStore
  recordings: RecordingStore
  /** Begins a take again. */
  retry: JobRetrying
  /** The disk of the takes. */
  diskSpace: DiskSpace
}
