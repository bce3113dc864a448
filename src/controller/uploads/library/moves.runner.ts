import { errorFields, type Log } from '../../../kernel/log.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { CopyStore } from '../copies.store.ts'
import type { Damages } from './damages.ts'
import type { Library } from './library.ts'
import type { MoveStore, Sought } from './moves.store.ts'
import { NotTheObject } from './objects.s3.ts'

interface Parts {
  audit: Audit
  copies: Pick<CopyStore, 'left' | 'reopen'>
  damages: Pick<Damages, 'found'>
  db: Db
  library: Pick<Library, 'at'>
  log: Log
  moves: MoveStore
}

const EVERY_SECONDS = 10
// Copies that are looked for at once, and in one pass.
const [SLICE, LOOKED] = [16, 4000]

/**
 * Looks for the copies of a destination that was given another endpoint or bucket: what is there counts again, what is not is
 * sent again. Nobody is alarmed unless a file is nowhere else.
 */
export function movesRunner({ audit, copies, damages, db, library, log, moves }: Parts): Runner & { stop(): void } {
  const ending = new AbortController()
  const { signal } = ending

  const leftBehind = (copy: Sought, now: string): boolean =>
    db.tx(() => {
      if (copies.left(copy) === 0) return false
      if (!moves.forget(copy)) return true
      const { checksum, destinationId, recordingId } = copy
      audit.write(
        {
          action: 'recordings.library.copy_left_behind',
          actor: systemActor('library'),
          correlation: { recordingId },
          details: { checksum, destinationId, uploadedAgain: copies.reopen(copy, now) },
          outcome: 'succeeded',
          permission: 'recording:control',
          reason: null,
          target: { type: 'recording', id: recordingId },
        },
        now,
      )
      return true
    })

  /** Undefined when it is there, else what is wrong with it. @throws anything that tells neither */
  const soughtFault = async (copy: Sought): Promise<string | undefined> => {
    try {
      await library.at(copy.destinationId).check(copy, copy.sizeBytes ?? undefined, signal)
      return undefined
    } catch (e) {
      if (e instanceof NotTheObject) return e.message
      throw e
    }
  }

  const look = async (slice: readonly Sought[], now: string): Promise<number> => {
    const doubted = slice.filter((copy) => copy.doubted === 1)
    const faults = await Promise.all(doubted.map(soughtFault))
    db.tx(() => {
      for (const [i, copy] of doubted.entries()) if (faults[i] === undefined) moves.seen(copy, now)
    })
    for (const [i, copy] of doubted.entries()) {
      const why = faults[i]
      if (why !== undefined && !leftBehind(copy, now)) damages.found(copy, why)
    }
    return faults.filter((why) => why !== undefined).length
  }

  const tick = async (now: string) => {
    const done = { looked: 0, missing: 0 }
    for (const move of moves.all()) {
      try {
        let last = { ...move }
        while (done.looked < LOOKED && !signal.aborted) {
          const slice = moves.next(last, SLICE)
          done.missing += await look(slice, now)
          done.looked += slice.length
          const end = slice.at(-1)
          if (end) last = end
          db.tx(() => (slice.length < SLICE ? moves.end(move) : moves.goOn({ ...last, place: move.place })), false)
          if (slice.length < SLICE) break
        }
      } catch (e) {
        // Whoever does not answer is asked again in the next pass; until then its copies do not count.
        if (!signal.aborted)
          log.warn('copies could not be looked for at the new place of a destination', {
            destinationId: move.destinationId,
            ...errorFields(e),
          })
      }
    }
    return done
  }
  return { name: 'library-moves', enabled: true, intervalSeconds: EVERY_SECONDS, stop: () => ending.abort(), tick }
}
