// When somebody has to be told that the replica of the database stands still.

const MIB = 1024 * 1024
/** A replicator reads every second: a slow line or a restart of it are no news. */
const PATIENCE_MS = 180_000
/** Replicators checkpoint the write-ahead log (WAL) at some MiB. It is long before 1 GiB, where the controller does it itself. */
const LONG_LOG_BYTES = 256 * MIB

/** From here on the controller checkpoints the log in a thread of its own; at 1 GiB a commit would have to, and take seconds. */
export const FULL_LOG_BYTES = 768 * MIB

/** What was seen of a replica; spans in ms. */
interface ReplicaFacts {
  /** How long nothing of the log was read although it grew; undefined where that cannot be seen. */
  copiedMs?: number | undefined
  /** Why Litestream does not run, in a sentence, and for how long. */
  fault?: { ms: number; why: string } | undefined
  logBytes: number
  /** How long nothing new arrived at the store; undefined where that cannot be seen. */
  storedMs?: number | undefined
}

/** What is wrong, in a sentence; undefined while all is well. */
export function replicaFault({ copiedMs = 0, fault, logBytes, storedMs = 0 }: ReplicaFacts): string | undefined {
  if (fault && fault.ms >= PATIENCE_MS) return fault.why
  if (copiedMs >= PATIENCE_MS)
    return `The database has not been replicated for ${minutes(copiedMs)} minutes, although it changes: check that Litestream runs`
  if (storedMs >= PATIENCE_MS)
    return `Nothing has reached the replica's bucket for ${minutes(storedMs)} minutes: check Litestream's messages and the network`
  if (logBytes >= LONG_LOG_BYTES)
    return `The write-ahead log is ${Math.round(logBytes / MIB)} MiB because it is not checkpointed: check that Litestream runs`
  return undefined
}

const minutes = (ms: number): number => Math.floor(ms / 60_000)
