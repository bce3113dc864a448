import type { Clock } from '../../kernel/clock.ts'
import type { Ids } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import type { Audit } from '../http/audit.ts'
import type { PathClaims } from '../http/claims.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import type { Db } from '../store/db.ts'
import { alarmStore } from './alarms.store.ts'
import type { Limits } from './attempt.ts'
import { s3Driver } from './drivers.s3.ts'
import { findSmbclient, smbDriver } from './drivers.smb.ts'
import { autoEnqueue } from './enqueue.store.ts'
import { reconcileStore } from './reconcile.store.ts'
import { settlement } from './settle.ts'
import { Uploader } from './upload.runner.ts'
import type { UploadStores } from './uploads.store.ts'

interface Parts {
  audit: Audit
  batchSize: number
  chunks: RecordingsApi['chunks']
  paths: PathClaims
  clock: Clock
  db: Db
  enabled: boolean
  health: HealthApi['health']
  held: (recordingId: string) => boolean
  ids: Ids
  intervalSeconds: number
  leaseSeconds: number
  log: Log
  /** Where smbclient is, or where to look for it. */
  smbclient: { command: string; dirs: readonly string[] }
  stores: UploadStores
  takes: string
}

// 20 kB/s for a whole take and a quarter of an hour beside it; a part of 8 MiB on a slow line shows no progress for long.
const LIMITS: Limits = { bytesPerSecond: 20_000, graceMs: 900_000, idleMs: 300_000 }
// Within the interval of the runner, and what one who asked for a run by hand will wait.
const PATIENCE_MS = 20_000

/** The machinery of uploads: what queues files by itself, and what sends them. */
export function uploadWorks(parts: Parts) {
  const { audit, chunks, db, health, held, smbclient, stores } = parts
  const { destinations, enqueues, queue, work } = stores
  const alarms = alarmStore(db, health)
  const reconciles = reconcileStore({ chunks, db, held, queue })
  const drivers = {
    s3: ({ s3 }: { s3: Parameters<typeof s3Driver>[0] }) => s3Driver(s3),
    smb: ({ smb }: { smb: Parameters<typeof smbDriver>[0]['options'] }) =>
      smbDriver({ command: findSmbclient(smbclient.command, smbclient.dirs) ?? smbclient.command, options: smb }),
  }
  const settle = settlement({ ...parts, alarms, reconciles, work })
  return {
    autoEnqueue: autoEnqueue(db, enqueues, chunks, audit),
    uploader: new Uploader({
      ...parts,
      destinations,
      drivers,
      limits: LIMITS,
      patienceMs: PATIENCE_MS,
      settlement: settle,
      work,
    }),
  }
}
