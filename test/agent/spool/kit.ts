import * as fs from 'node:fs'
import * as path from 'node:path'
import type { TestContext } from 'node:test'
import type { TakeOwner } from '../../../src/agent/audio/marks.ts'
import type { Happening } from '../../../src/agent/health/report.ts'
import { statfsGauge } from '../../../src/agent/proc/disk.ts'
import { type CacheOptions, openCache, type RecorderCache } from '../../../src/agent/spool/cache.ts'
import { openSpool, type Spool } from '../../../src/agent/spool/spool.ts'
import type { TakeState } from '../../../src/agent/spool/state.ts'
import type { RecorderCachePolicy } from '../../../src/wire/nodes.ts'
import { job, quiet, tempDir } from '../jobs/kit.ts'

export const NOW = Date.parse('2026-03-01T12:00:00Z')
export const DAY = 86_400_000

export const policy = (limits: Partial<RecorderCachePolicy>): RecorderCachePolicy => ({
  deleteAfterUpload: false,
  maxAgeDays: null,
  maxBytes: null,
  minFreeDiskPercent: null,
  policyId: 'keep',
  ...limits,
})

/** Of a take on a disk that does not fail. */
export const calm: TakeOwner = { ageOf: () => 0, doubtsNoted: async () => {}, inDoubt: () => {} }

export interface CacheWorld {
  cache: RecorderCache
  events: Happening[]
  /** Directories of the copies. */
  copies(): string[]
  manifest: string
  /** An accepted take of that many bytes, recorded that many days ago; resolves when it was released. */
  released(
    id: string,
    options?: { bytes?: number; daysAgo?: number; held?: boolean; policy?: RecorderCachePolicy },
  ): Promise<void>
  reopen(more?: Partial<CacheOptions>): RecorderCache
  spool: Spool
  workDir: string
}

export function cacheWorld(t: TestContext, more: Partial<CacheOptions> = {}, workDir = tempDir(t)): CacheWorld {
  const events: Happening[] = []
  const spool = openSpool(workDir)
  const manifest = path.join(workDir, 'manifest.json')
  const reopen = (other: Partial<CacheOptions> = {}) =>
    openCache({
      gauge: statfsGauge(workDir),
      keepUploaded: false,
      log: quiet,
      manifestFile: manifest,
      report: (h) => void events.push(h),
      spool,
      surely: () => NOW,
      ...more,
      ...other,
    })
  const cache = reopen()
  const world: CacheWorld = {
    cache,
    copies: () => fs.readdirSync(path.join(workDir, 'cache')).sort(),
    events,
    manifest,
    released: async (id, { bytes = 1000, daysAgo = 0, held = false, policy: kept } = {}) => {
      const state: TakeState = {
        claimedAt: NOW - daysAgo * DAY,
        fromFrame: 0,
        gaps: [],
        job: job(id, { ...(held ? { custody: 'note' } : {}), ...(kept ? { recorderCacheRetention: kept } : {}) }),
        outputs: [],
        partsMade: 0,
        status: 'uploaded',
        version: 1,
      }
      await spool.create(state)
      fs.writeFileSync(spool.takeFile(id), Buffer.alloc(bytes, 1))
      await world.cache.release(state)
    },
    reopen,
    spool,
    workDir,
  }
  return world
}
