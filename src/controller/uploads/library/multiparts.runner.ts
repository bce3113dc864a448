import { errorFields, type Log } from '../../../kernel/log.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { Library } from './library.ts'
import type { MultipartStore } from './multiparts.store.ts'

interface Parts {
  audit: Audit
  db: Db
  library: Pick<Library, 'at'>
  log: Log
  multiparts: MultipartStore
}

const EVERY_SECONDS = 3600
const BATCH = 50
const DAY_MS = 86_400_000

/**
 * Takes back uploads in parts that were begun here and never ended: of an upload in parts that nobody completes a store keeps
 * every part. Only keys this controller began are looked at, only what is older than a day, and none that is being sent.
 */
export function multipartRunner({ audit, db, library, log, multiparts }: Parts): Runner {
  const takenBack = (destinationId: string, key: string, count: number, now: string): void =>
    db.tx(() =>
      audit.write(
        {
          action: 'settings.upload_destinations.parts_taken_back',
          actor: systemActor('library'),
          details: { count, key },
          outcome: 'succeeded',
          permission: 'settings:manage',
          reason: null,
          target: { type: 'upload_destination', id: destinationId },
        },
        now,
      ),
    )
  const tick = async (now: string, signal: AbortSignal) => {
    const before = new Date(Date.parse(now) - DAY_MS)
    let count = 0
    for (const one of multiparts.old(before.toISOString(), BATCH)) {
      if (signal.aborted) break
      try {
        const n = await library.at(one.destinationId).takeBack(one.key, before, signal)
        if (n > 0) takenBack(one.destinationId, one.key, n, now)
        count += n
        multiparts.done(one)
      } catch (e) {
        // A key may be allowed to write and not to list: parts then stay until the bucket's own rules remove them.
        log.debug('uploads in parts could not be taken back', { destinationId: one.destinationId, ...errorFields(e) })
        multiparts.later(one, now)
      }
    }
    return { takenBack: count }
  }
  return { name: 'upload-parts', enabled: true, intervalSeconds: EVERY_SECONDS, tick }
}
