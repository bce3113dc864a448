import { iso } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Runner } from '../background/ticker.ts'
import type { Audit } from '../edge/audit.ts'
import { removeFiles } from '../edge/files.ts'
import { systemActor } from '../edge/who.ts'
import type { Db } from '../store/db.ts'
import type { ChunkStore } from './chunks.store.ts'

interface Parts {
  audit: Audit
  chunks: ChunkStore
  db: Db
  log: Log
  /** Directory of the stored files. */
  takes: string
}

const EVERY_SECONDS = 3600
const BATCH = 100
// A recorder that was cut off comes with its last chunks within this time; later ones are known to be joined.
const KEPT_MS = 24 * 3600 * 1000

/**
 * Deletes the files of chunks a day after they were joined, where the joined files hold every sample of them: lossless
 * takes would lie on the disk twice. Rows first, then files (decision 41).
 */
export const releaseRunner = ({ audit, chunks, db, log, takes }: Parts): Runner => ({
  name: 'chunk-release',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick: async (now) => {
    const due = chunks.releasable(iso(Date.parse(now) - KEPT_MS), BATCH)
    for (const { id, jobId } of due) {
      const { paths } = db.tx(() => {
        const released = chunks.release(id, now)
        audit.write(
          {
            action: 'recordings.chunks.release.succeeded',
            actor: systemActor('chunk-release'),
            correlation: { recordingId: id, recordingJobId: jobId },
            details: { bytes: released.bytes, fileCount: released.paths.length },
            outcome: 'succeeded',
            permission: 'recording:control',
            reason: null,
            target: { type: 'recording', id },
          },
          now,
        )
        return released
      })
      for (const left of await removeFiles(takes, paths)) log.warn('a joined chunk could not be deleted', left)
    }
    return { released: due.length }
  },
})
