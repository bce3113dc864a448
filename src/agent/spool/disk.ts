// Everything the agent keeps on its disk, and the guard that watches it.
import * as path from 'node:path'
import type { Log } from '../../kernel/log.ts'
import type { Report } from '../health/report.ts'
import { type Gauge, statfsGauge } from '../proc/disk.ts'
import { openCache, type RecorderCache } from './cache.ts'
import { createDiskGuard, type DiskGuard } from './guard.ts'
import { openSpool, type Spool } from './spool.ts'

export interface Disk {
  cache: RecorderCache
  /** To be started by callers that outlive a single take. */
  guard: DiskGuard
  spool: Spool
}

interface DiskOptions {
  /** Default: asks the kernel about `workDir`. */
  gauge?: Gauge
  keepUploaded: boolean
  log: Log
  /** Default: `recorder-cache-manifest.json` in `workDir`. */
  manifestFile?: string
  report: Report
  /** Gets the latest state of whichever job changed last, for people and scripts. */
  stateFile?: string
  /** See `CacheOptions`. */
  surely(): number | undefined
  workDir: string
}

/** Makes the directories; throws what the disk throws. */
export function openDisk(options: DiskOptions): Disk {
  const { stateFile, workDir } = options
  const spool = openSpool(workDir, stateFile)
  const gauge = options.gauge ?? statfsGauge(workDir)
  const manifestFile = options.manifestFile ?? path.join(workDir, 'recorder-cache-manifest.json')
  const cache = openCache({ ...options, gauge, manifestFile, spool })
  return { cache, guard: createDiskGuard({ cache, gauge, log: options.log }), spool }
}
