// Whether the replica of the database moves, and up to when it has what was committed here.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { type Clock, iso } from '../../kernel/clock.ts'
import { FULL_LOG_BYTES, replicaFault } from './replica.rules.ts'

/** Whether a folder of the replica's bucket has an object behind this name. @throws StoreUnreachable */
export type HasBehind = (folder: string, name: string) => Promise<boolean>

interface Parts {
  /** Checkpoints the write-ahead log (WAL). */
  checkpoint: () => Promise<unknown>
  clock: Clock
  database: string
  /** Absent where another program replicates, whose store is not known here. */
  hasBehind?: HasBehind | undefined
}

/** How far Litestream 0.3 has read: the log's number, and its bytes so far. */
interface Position {
  folder: string
  name: string
}

interface Look {
  at: string
  position: Position | undefined
}

/** Less than that is a clock being kept right. */
const SET_BACK_MS = 500

/** What is known of the replica; `look` finds it out. */
export class ReplicaWatch {
  readonly #parts: Parts
  #last: Look | undefined
  /** What has to arrive at the store, and the moment before which everything is in it then. */
  #awaited: { at: string; position: Position } | undefined
  #until: string | undefined
  /** Wall clock minus monotonic clock at the last look, ms. */
  #ahead: number
  #logBytes = 0
  /** Since when nothing was read, what the log was then, since when nothing arrived; monotonic ms. */
  #readAt: number
  #logThen = ''
  #storedAt: number
  #faultSince: number | undefined
  #fault: () => string | undefined = () => undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#readAt = parts.clock.monotonic()
    this.#storedAt = this.#readAt
    this.#ahead = parts.clock.now() - this.#readAt
  }

  /** Hears from now on why its replicator does not run. */
  follow(replication: { readonly fault: string | undefined }): void {
    this.#fault = () => replication.fault
  }

  /** What was committed before this moment is in the replica, ISO; undefined while that is not known. */
  until(now: string): string | undefined {
    if (!this.#parts.hasBehind) return now
    return this.#wasSetBack() ? undefined : this.#until
  }

  /** What is wrong with the replica, in a sentence. */
  get fault(): string | undefined {
    const now = this.#parts.clock.monotonic()
    const why = this.#fault()
    return replicaFault({
      copiedMs: this.#last?.position && now - this.#readAt,
      fault: why === undefined || this.#faultSince === undefined ? undefined : { ms: now - this.#faultSince, why },
      logBytes: this.#logBytes,
      storedMs: this.#parts.hasBehind && this.#last?.position && now - this.#storedAt,
    })
  }

  /**
   * Looks at the disk and into the bucket; a store that is away is one where nothing arrives. A log that nobody
   * checkpoints in time is checkpointed here. @throws what the disk throws then
   */
  async look(): Promise<void> {
    const { clock, database } = this.#parts
    if (this.#wasSetBack()) this.#forget()
    this.#ahead = clock.now() - clock.monotonic()
    const [now, at, before] = [clock.monotonic(), iso(clock.now()), this.#last]
    this.#faultSince = this.#fault() === undefined ? undefined : (this.#faultSince ?? now)
    const [position, log] = [await positionOf(database), await logOf(database)]
    this.#logBytes = log.bytes
    const hasRead = position?.name !== before?.position?.name || position?.folder !== before?.position?.folder
    if (hasRead || log.stamp === this.#logThen) this.#readAt = now
    if (hasRead) this.#logThen = log.stamp
    this.#last = { at, position }
    await this.#await(before, position, hasRead)
    if (log.bytes >= FULL_LOG_BYTES) await this.#parts.checkpoint()
  }

  /** Whether the wall clock was set back since the last look. */
  #wasSetBack(): boolean {
    const { clock } = this.#parts
    return clock.now() - clock.monotonic() <= this.#ahead - SET_BACK_MS
  }

  /** Moments by another clock would say that what is yet to be committed is in the replica. */
  #forget(): void {
    this.#until = undefined
    this.#awaited = undefined
    this.#last = undefined
  }

  /**
   * It read between two looks, so what was committed before the first is below its position now. Whatever begins at or behind
   * that position is sent after it.
   */
  async #await(before: Look | undefined, position: Position | undefined, hasRead: boolean): Promise<void> {
    const { clock, hasBehind } = this.#parts
    if (!hasBehind || !position) return
    if (this.#awaited?.position.folder !== position.folder) this.#awaited = undefined
    if (this.#awaited) {
      const { folder, name } = this.#awaited.position
      const arrived = await hasBehind(folder, name).catch(() => false)
      if (!arrived) return
      this.#until = this.#awaited.at
      this.#storedAt = clock.monotonic()
      this.#awaited = undefined
    }
    if (before && hasRead) this.#awaited = { at: before.at, position }
  }
}

/** Of Litestream 0.3, as it keeps it beside the database; undefined where there is nothing of it. */
async function positionOf(database: string): Promise<Position | undefined> {
  try {
    const dir = path.join(path.dirname(database), `.${path.basename(database)}-litestream`)
    const generation = (await fs.readFile(path.join(dir, 'generation'), 'utf8')).trim()
    const folder = `generations/${generation}/wal`
    const log = (await fs.readdir(path.join(dir, folder)))
      .filter((name) => name.endsWith('.wal'))
      .sort()
      .at(-1)
    if (log === undefined || !/^[0-9a-f]{8}\.wal$/.test(log)) return undefined
    const { size } = await fs.stat(path.join(dir, folder, log))
    return { folder: `${folder}/`, name: `${log.slice(0, 8)}_${size.toString(16).padStart(8, '0')}` }
  } catch {
    // Not there, or it begins anew this moment.
    return undefined
  }
}

async function logOf(database: string): Promise<{ bytes: number; stamp: string }> {
  const found = await fs.stat(`${database}-wal`).catch(() => undefined)
  return { bytes: found?.size ?? 0, stamp: found ? `${found.size} ${found.mtimeMs}` : '' }
}
