import { iso } from '../../../kernel/clock.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Audit } from '../../http/audit.ts'
import type { PathClaims } from '../../http/claims.ts'
import { systemActor } from '../../http/principal.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { ChunkStore, IsHere } from './chunks.store.ts'

interface Parts {
  audit: Audit
  chunks: ChunkStore
  paths: PathClaims
  db: Db
  /** Whether a stored file is on this disk, all of it. */
  isHere: IsHere
  log: Log
}

const EVERY_SECONDS = 3600
const BATCH = 100
// A recorder that was cut off sends its last chunks within this time; chunks sent again later are known to be joined.
const KEPT_MS = 24 * 3600 * 1000

/**
 * Deletes the files of chunks a day after they were joined without loss, so that lossless takes do not occupy the disk twice.
 * Rows first, then files (ADR-0024). Where the joined file is gone they stay, and make it again.
 */
export function releaseRunner({ audit, chunks, db, isHere, log, paths }: Parts): Runner {
  /** Removes the chunk files of one take from the database; returns their paths. */
  const release = (id: string, jobId: string, now: string): string[] => {
    if (chunks.rejoin(id, isHere, now)) return []
    const { bytes, paths: files } = chunks.release(id, now)
    audit.write(
      {
        action: 'recordings.chunks.release.succeeded',
        actor: systemActor('chunk-release'),
        correlation: { recordingId: id, recordingJobId: jobId },
        details: { bytes, fileCount: files.length },
        outcome: 'succeeded',
        permission: 'recording:control',
        reason: null,
        target: { type: 'recording', id },
      },
      now,
    )
    return files
  }
  const tick = async (now: string) => {
    const due = chunks.releasable(iso(Date.parse(now) - KEPT_MS), BATCH)
    for (const { id, jobId } of due) {
      const { failures } = await paths.removing((discard) => db.tx(() => discard(release(id, jobId, now))))
      for (const file of failures) log.warn('joined chunk could not be deleted', { ...file })
    }
    return { released: due.length }
  }
  return { name: 'chunk-release', enabled: true, intervalSeconds: EVERY_SECONDS, tick }
}
