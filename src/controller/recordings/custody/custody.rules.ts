// What becomes of a take that its recorder keeps (ADR-0046).
import type { Custody } from '../../../wire/custody.ts'

/** A file of a take, or a chunk of one that is not joined yet. */
export interface KeptFile {
  /** Since when a destination that keeps the library has it, ISO; null: none has. */
  heldSince: string | null
  /** Whether its bytes are said to be on this disk. */
  local: number
  path: string
  sizeBytes: number
}

/** What the database says of a take. */
export interface KeptTake {
  /** Whether all of it was stored here once: a job of it was completed, and none of its chunks and masters is missing. */
  completed: boolean
  files: readonly KeptFile[]
}

interface Site {
  /** Whether a file is on this disk, all of it. */
  isHere(file: Pick<KeptFile, 'path' | 'sizeBytes'>): boolean
  /** Whether destinations count, not this disk alone (`SVC_CUSTODY`). */
  replicated: boolean
  /** What was committed before this moment is in the replica too, ISO; undefined while that is not known. */
  until: string | undefined
}

/**
 * `take`: undefined for a recording that is not known here; `deleted`: because somebody deleted it. Only what the next controller
 * would have, too, lets a recorder go: bytes at a destination, and their row in the replica.
 */
export function verdict(take: KeptTake | undefined, deleted: boolean, site: Site): Custody {
  if (!take) return deleted ? 'let_go' : 'offer'
  if (!take.completed) return 'offer'
  // Stored once and gone: retention took it.
  const safe = (file: KeptFile): boolean =>
    file.heldSince !== null && site.until !== undefined && file.heldSince < site.until
  if (take.files.every(safe)) return 'let_go'
  const lost = take.files.some((file) => file.heldSince === null && !(file.local === 1 && site.isHere(file)))
  if (lost) return 'offer'
  return site.replicated ? 'hold' : 'let_go'
}
