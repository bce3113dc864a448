import { errorFields, type Log } from '../../../kernel/log.ts'
import { faultWords } from '../../../kernel/words.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { CopyStore } from '../copies.store.ts'
import type { TroubleStore } from '../troubles.store.ts'
import type { Damages } from './damages.ts'
import type { Library } from './library.ts'
import type { MoveStore, Sought } from './moves.store.ts'
import { NotTheObject, type Objects } from './objects.s3.ts'
import { compared } from './resumableread.ts'

interface Parts {
  copies: Pick<CopyStore, 'reopen'>
  damages: Pick<Damages, 'found' | 'settle'>
  db: Db
  library: Pick<Library, 'at'>
  log: Log
  moves: MoveStore
  troubles: Pick<TroubleStore, 'note'>
}
type Move = ReturnType<MoveStore['all']>[number]

/** What the store says of a copy: its name there, what is wrong with it, or nothing. */
type Answer = { etag: string | null } | { why: string } | { unanswered: unknown }

const EVERY_SECONDS = 10
// Copies that are looked for at once, and in one pass.
const [SLICE, LOOKED] = [16, 4000]
/** A store that says nothing to so many slices in a row is left alone for the rest of a pass. */
const MOST_SILENT = 3

/**
 * Looks for the copies of a destination that was given another endpoint or bucket: what is there counts again, what is not is
 * sent again. What the store says nothing of is asked for again, until all of it is known.
 */
export function movesRunner(parts: Parts): Runner {
  const tick = async (now: string, signal: AbortSignal) => {
    const done = { looked: 0, missing: 0, unanswered: 0 }
    for (const move of parts.moves.all()) {
      const one = await pass(parts, move, now, signal)
      for (const what of ['looked', 'missing', 'unanswered'] as const) done[what] += one[what]
    }
    return done
  }
  return { name: 'library-moves', enabled: true, intervalSeconds: EVERY_SECONDS, tick }
}

async function pass(parts: Parts, move: Move, now: string, signal: AbortSignal) {
  const { db, moves } = parts
  const done = { looked: 0, missing: 0, unanswered: 0 }
  let [at, silent] = [move, 0]
  while (done.looked < LOOKED && silent < MOST_SILENT) {
    const slice = moves.next(at, SLICE)
    const answered = await look(parts, slice.filter(isSought), now, signal)
    if (signal.aborted) break
    silent = answered.isSilent ? silent + 1 : 0
    done.looked += slice.length
    done.missing += answered.missing
    done.unanswered += answered.unanswered
    const skipped = at.skipped + answered.unanswered
    const isLast = slice.length < SLICE
    at = { ...at, ...(isLast ? BEGINNING : { ...slice.at(-1), place: at.place }), skipped: isLast ? 0 : skipped }
    db.tx(() => (isLast && skipped === 0 ? moves.end(move) : moves.goOn(at)), false)
    if (isLast) break
  }
  return done
}

/** Where a walk begins. */
const BEGINNING = { checksum: '', recordingId: '' }

const isSought = (copy: { doubted: number; sizeBytes: number | null }): copy is Sought =>
  copy.doubted === 1 && copy.sizeBytes !== null

/** Asks for some copies at once, and writes down what is known then. */
async function look(parts: Parts, copies: readonly Sought[], now: string, signal: AbortSignal) {
  const answers = await Promise.all(copies.map((copy) => answerTo(parts, copy, signal)))
  const counts = { isSilent: false, missing: 0, unanswered: 0 }
  if (signal.aborted) return counts
  for (const [i, copy] of copies.entries()) {
    const answer = answers[i] as Answer
    if ('etag' in answer) seen(parts, copy, answer.etag, now)
    else if ('why' in answer) parts.damages.found(copy, answer.why, { moved: true })
    counts.missing += 'why' in answer ? 1 : 0
    counts.unanswered += 'unanswered' in answer ? 1 : 0
  }
  const fault = answers.find((answer) => 'unanswered' in answer)
  if (fault) tell(parts, copies[0] as Sought, fault.unanswered, now)
  return { ...counts, isSilent: copies.length > 0 && counts.unanswered === copies.length }
}

async function answerTo({ library }: Parts, copy: Sought, signal: AbortSignal): Promise<Answer> {
  try {
    const objects = library.at(copy.destinationId)
    const { etag, size } = await objects.check({ etag: null, key: copy.key }, copy.sizeBytes, signal)
    if (etag === null || etag !== copy.etag) await readWhole(objects, { ...copy, etag, sizeBytes: size }, signal)
    return { etag }
  } catch (e) {
    return e instanceof NotTheObject ? { why: e.message } : { unanswered: e }
  }
}

/** The same bytes may have another name at another store. @throws NotTheObject when they are others */
async function readWhole(objects: Objects, copy: Sought, signal: AbortSignal): Promise<void> {
  const { checksum, sizeBytes: size } = copy
  const body = await objects.open(copy, { end: size - 1, size, start: 0 }, signal)
  let left = size
  for await (const piece of compared(body, { checksum, size })) left -= piece.length
  if (left !== 0) throw new Error('the store ended too early')
}

/** What is damaged elsewhere can be sent there again from now on. */
function seen({ copies, damages, db, moves }: Parts, copy: Sought, etag: string | null, now: string): void {
  db.tx(() => {
    moves.seen(copy, etag, now)
    for (const other of moves.damagedElsewhere(copy)) copies.reopen(other, now)
    damages.settle(copy.recordingId, now)
  })
}

function tell({ db, log, troubles }: Parts, { destinationId }: Sought, e: unknown, now: string): void {
  db.tx(() => troubles.note(destinationId, faultWords(e), now), false)
  log.warn('could not check copies at the new place of a destination: they do not count until that is done', {
    destinationId,
    ...errorFields(e),
  })
}
