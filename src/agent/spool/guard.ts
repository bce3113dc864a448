// Makes sure that takes have room on the disk, before they begin and while they run. Audio comes before copies of audio.
import { stat } from 'node:fs/promises'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { Severity } from '../../wire/health.ts'
import type { Service } from '../proc/bell.ts'
import type { Gauge } from '../proc/disk.ts'
import type { Cleanup, RecorderCache } from './cache.ts'
import type { Need } from './room.rules.ts'

export interface PlannedTake extends Need {
  /** What `rawBytes` go into. */
  file: string
  /** Reports `agent.recording_job.<name>` about every job of the take. */
  tell(severity: Severity, name: string, details: Record<string, unknown>): void
}

/** Room reserved for a take until it is released. */
export interface Room {
  /** Deletes copies to free so many bytes, when the disk is full while the take runs. */
  free(bytes: number): Promise<void>
  /** The take gets longer: the bytes it needs in all now. */
  grow(rawBytes: number): void
  leave(): void
}

export interface DiskGuard extends Service {
  /**
   * Reserves room for a take that is about to begin. Undefined, with an event, if its capture does not fit even after copies
   * of other takes were deleted. A take whose capture fits may begin even if its rendered file does not: audio first.
   */
  admit(take: PlannedTake): Promise<Room | undefined>
  /** Bytes for takes to come: what is free and the copies that may go, less what running takes need; undefined when unknown. */
  room(): Promise<number | undefined>
}

interface GuardOptions {
  cache: RecorderCache
  /** Default 5 s. */
  everyMs?: number
  gauge: Gauge
  log: Log
}

interface Held extends PlannedTake {
  /** Bytes on the disk when last seen. */
  written: number
}

const EVERY_MS = 5000
/** For state files, the health log and the last seconds before the disk is full. */
const RESERVE_BYTES = 16 * 1024 * 1024
const SWEEP_EVERY_MS = 60_000

export const createDiskGuard = (options: GuardOptions): DiskGuard => new Guard(options)

class Guard implements DiskGuard {
  readonly #options: GuardOptions
  readonly #takes = new Set<Held>()
  #admitting: Promise<unknown> = Promise.resolve()
  #pressed = false
  #sinceSweep = 0
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()

  constructor(options: GuardOptions) {
    this.#options = options
  }

  start(): void {
    const everyMs = this.#options.everyMs ?? EVERY_MS
    let idle = true
    const look = () => {
      // Checks must not pile up on a slow disk.
      if (!idle) return
      idle = false
      this.#looking = this.#look(everyMs)
        .catch((e) =>
          this.#options.log.error(
            'could not read the free space of the spool, will retry: check its disk',
            errorFields(e),
          ),
        )
        .finally(() => {
          idle = true
        })
    }
    this.#sinceSweep = SWEEP_EVERY_MS
    this.#timer = setInterval(look, everyMs)
    look()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
    // Deletions must be reported, too.
    await this.#options.cache.settled()
  }

  /** One at a time: takes that begin together must not count the same free bytes. */
  admit(take: PlannedTake): Promise<Room | undefined> {
    const admitted = this.#admitting.then(() => this.#admit(take))
    // Not its result: the last take would stay in memory.
    this.#admitting = admitted.then(
      () => undefined,
      () => undefined,
    )
    return admitted
  }

  async room(): Promise<number | undefined> {
    const { cache, gauge } = this.#options
    const free = (await gauge())?.freeBytes
    if (free === undefined) return undefined
    return Math.max(0, Math.floor(free + (await cache.bytes()) - (await this.#remaining())))
  }

  async #admit(take: PlannedTake): Promise<Room | undefined> {
    const running = await this.#remaining()
    const held: Held = { ...take, written: 0 }
    const left = await missing(held)
    const [raw, whole] = [running + left, running + left + take.moreBytes]
    const free = await this.#freeAfterCleaning(take, whole)
    const details = { freeBytes: free, neededBytes: whole, rawBytes: raw }
    if (free !== undefined && free < raw) {
      take.tell('critical', 'disk_space_insufficient', details)
      return undefined
    }
    if (free !== undefined && free < whole) take.tell('warning', 'disk_space_low', details)
    this.#takes.add(held)
    return {
      free: async (neededBytes) => {
        const cleanup = await this.#options.cache.makeRoom(neededBytes)
        if (cleanup.deleted + cleanup.errors > 0) tellCleanup([take], cleanup, { neededBytes })
      },
      grow: (rawBytes) => {
        held.rawBytes = Math.max(held.rawBytes, rawBytes)
      },
      leave: () => void this.#takes.delete(held),
    }
  }

  /** Free bytes, after deleting copies if there were too few; undefined when unknown. */
  async #freeAfterCleaning(take: PlannedTake, needed: number): Promise<number | undefined> {
    const { cache, gauge } = this.#options
    const before = (await gauge())?.freeBytes
    if (before === undefined || before >= needed) return before
    const cleanup = await cache.makeRoom(needed - before)
    const after = (await gauge())?.freeBytes
    if (cleanup.deleted + cleanup.errors > 0) tellCleanup([take], cleanup, { freeBytes: after, neededBytes: needed })
    if (after === undefined || after >= needed) take.tell('info', 'disk_space_recovered', { freeBytes: after })
    return after
  }

  async #look(everyMs: number): Promise<void> {
    const { cache } = this.#options
    this.#sinceSweep += everyMs
    if (this.#sinceSweep >= SWEEP_EVERY_MS) {
      this.#sinceSweep = 0
      await cache.sweep()
    }
    if (this.#takes.size > 0) await this.#watch()
    else this.#pressed = false
  }

  /** Checks running takes against the free space; reports when it becomes too small and when it is enough again. */
  async #watch(): Promise<void> {
    const { cache, gauge } = this.#options
    const needed = (await this.#remaining()) + RESERVE_BYTES
    const before = (await gauge())?.freeBytes
    if (before === undefined) return
    let free: number | undefined = before
    if (before < needed) {
      const cleanup = await cache.makeRoom(needed - before)
      free = (await gauge())?.freeBytes ?? before
      if (!this.#pressed) tellCleanup(this.#takes, cleanup, { freeBytes: free, neededBytes: needed })
    }
    const recovered = free >= needed && (this.#pressed || before < needed)
    if (recovered)
      for (const take of this.#takes)
        take.tell('info', 'disk_space_runtime_recovered', { freeBytes: free, neededBytes: needed })
    this.#pressed = free < needed
  }

  async #remaining(): Promise<number> {
    const each = await Promise.all([...this.#takes].map(missing))
    return each.reduce((sum, bytes) => sum + bytes, 0)
  }
}

const BLOCK = 512

/** Bytes of the capture that are not on the disk yet; what of its file was given back has been there. */
async function missing(take: Held): Promise<number> {
  const found = await stat(take.file).catch(() => undefined)
  // Not begun; or its first job is gone, and the file lives on under the other members' names.
  if (found) take.written = found.blocks * BLOCK
  return Math.max(0, take.rawBytes - take.written)
}

function tellCleanup(takes: Iterable<PlannedTake>, cleanup: Cleanup, sizes: Record<string, unknown>): void {
  const { deleted, errors } = cleanup
  const name = deleted + errors === 0 ? 'disk_space_cleanup_skipped' : 'disk_space_cleanup_attempted'
  const severity = name === 'disk_space_cleanup_skipped' || errors > 0 ? 'warning' : 'info'
  for (const take of takes) take.tell(severity, name, { ...cleanup, ...sizes })
}
