import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeDir } from '../../kernel/dirs.ts'
import { syncDir, syncFile } from '../../kernel/durable.ts'
import { UserError } from '../../kernel/fail.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import { embedded } from '../store/migrate.ts'
import { examine } from './examine.ts'
import type { Litestream } from './litestream.ts'
import { type BucketPlace, replicaOfTerm } from './place.rules.ts'
import type { Pulse } from './pulse.store.ts'

interface Parts {
  /** Where threads find the SQLite addon. */
  addonPath: string | undefined
  /** The data directory. */
  dir: string
  intervalMs: number
  /** Why this box could not be the controller with this copy; undefined: it could. */
  keyFault: (file: string) => string | undefined
  litestream: Litestream
  log: Log
  replica: BucketPlace
  /** The term whose replica is followed; 0 where nobody is the controller. */
  term: () => number
}

/** A checked copy of the controller's database. */
export interface Copy {
  file: string
  pulse: Pulse
  /** Takes whose audio is on disks of boxes alone. */
  recordingsWithoutRemoteCopy: number
}

/** A restore may take this share of the time: a large database is copied less often. */
const SHARE = 0.2

/** Keeps a copy of the controller's database, restored from its replica again and again, and checked. */
export class Follower {
  readonly #parts: Parts
  #copy: Copy | undefined
  #fault: string | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #running: Promise<void> = Promise.resolve()
  readonly #stopping = new AbortController()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The newest one. */
  get copy(): Copy | undefined {
    return this.#copy
  }

  /** Why the last attempt made none. */
  get fault(): string | undefined {
    return this.#fault
  }

  start(): void {
    this.#running = this.#run(this.#stopping.signal)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  /** A copy of what the replica holds now. @throws UserError */
  follow(): Promise<Copy> {
    const next = this.#turn.catch(() => undefined).then(() => this.#restore())
    this.#turn = next
    next.then(
      () => {
        this.#fault = undefined
      },
      (e) => {
        this.#fault = faultWords(e)
      },
    )
    return next
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const began = performance.now()
      const told = this.#fault
      await this.follow().catch((e) => {
        if (this.#fault !== told) this.#parts.log.warn('the database could not be copied', errorFields(e))
      })
      const pause = Math.max(this.#parts.intervalMs, (performance.now() - began) / SHARE)
      await sleep(pause, undefined, { signal }).catch(() => undefined)
    }
  }

  async #restore(): Promise<Copy> {
    const { addonPath, keyFault, litestream, replica, term } = this.#parts
    if (term() === 0) throw new UserError('there is no controller yet to follow: start one with the same SVC_LEASE_URL')
    const dir = path.join(this.#parts.dir, 'standby')
    makeDir(dir)
    const [draft, file] = [path.join(dir, 'roomtone.db.part'), path.join(dir, 'roomtone.db')]
    await litestream.restore(replicaOfTerm(replica, term()), draft, this.#stopping.signal)
    const found = await usable(draft, addonPath)
    const shut = keyFault(draft)
    if (shut !== undefined) {
      // An older copy is as good as none: this box cannot open it either.
      this.#copy = undefined
      throw new UserError(shut)
    }
    await syncFile(draft)
    await fs.rename(draft, file)
    await syncDir(dir)
    this.#copy = { ...found, file }
    return this.#copy
  }
}

/** @throws UserError for a copy that is damaged, or that this version cannot use */
async function usable(file: string, addonPath: string | undefined): Promise<Omit<Copy, 'file'>> {
  const { fault, pulse, recordingsWithoutRemoteCopy = 0, schema } = await examine({ addonPath, file })
  const known = embedded().length
  if (fault) throw new UserError(`the copy of the database is damaged: ${fault}`)
  if (schema > known)
    throw new UserError(`the controller is a newer version (schema ${schema}, here ${known}): bring this box up to it`)
  if (!pulse) throw new UserError('the controller has not yet written anything that could be followed')
  return { pulse, recordingsWithoutRemoteCopy }
}
