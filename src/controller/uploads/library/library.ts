// Takes whose bytes are at destinations: found, read from the middle, lent as files, and told when they are lost.
import { createWriteStream } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { Log } from '../../../kernel/log.ts'
import type { ByteRange } from '../../http/files.ts'
import type { Copy, CopyStore, FileId } from '../copies.store.ts'
import type { DestinationStore } from '../destinations.store.ts'
import { DriverError } from '../driver.ts'
import type { Damages } from './damages.ts'
import { NotTheObject, Objects, type Presented } from './objects.s3.ts'
import { begun, compared, resumed } from './resumableread.ts'

/** A stored file as its row describes it. */
interface RemoteFile extends FileId {
  sizeBytes: number
}

/** A file of a take on this disk, until it is given back. */
interface Borrowed {
  file: string
  giveBack(): Promise<void>
  size: number
}

interface Parts {
  copies: CopyStore
  damages: Damages
  destinations: DestinationStore
  /** Room on the disk of the takes. @throws Fail 507 */
  checkRoom: (bytes: number) => Promise<void>
  ids: Ids
  log: Log
  /** Directory of the stored takes. */
  takes: string
}

/** Where files are lent, below the takes; a leading dot keeps them out of everything else. */
const LENT = '.borrowed'
const RETRY_SECONDS = '30'

const damaged = (): Fail =>
  new Fail(502, 'library_damaged', 'This take is missing or changed at its destination: see the alert of the recording')
const unreachable = (): Fail =>
  new Fail(503, 'library_unreachable', 'The destination that holds this take does not answer: try again in a while', {
    headers: { 'retry-after': RETRY_SECONDS },
  })

/** @throws NotTheObject; its head does not tell that a copy which was damaged is sound again. */
async function stillHas(objects: Objects, copy: Copy, { sizeBytes }: RemoteFile, signal: AbortSignal): Promise<void> {
  if (copy.damagedAt !== null) throw new NotTheObject('it was damaged')
  await objects.check(copy, sizeBytes, signal)
}

/** Reads takes from the destinations that keep the library (docs/contract/recordings.md: Beyond the disk). */
export class Library {
  private readonly parts: Parts
  /** By destination; renewed when it changes. */
  private readonly stores = new Map<string, { objects: Objects; updatedAt: string }>()

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** Whether a destination is known to have it, or to have had it. */
  has = (file: FileId): boolean => this.parts.copies.readable(file).length > 0

  /** A file that was believed to be on this disk is not. False when it is nowhere else either. */
  notHere(file: FileId): boolean {
    if (!this.has(file)) return false
    this.parts.damages.notHere(file)
    return true
  }

  /** A file that was believed to be elsewhere alone is on this disk. */
  here = (file: FileId): void => this.parts.damages.here(file)

  /**
   * A range of a file; goes on at the store where a connection breaks off. It ends when `signal` aborts. A copy that was
   * damaged is sound again when it is read whole and has the file's checksum; if not, its last piece is held back.
   * @throws Fail 502 `library_damaged`, 503 `library_unreachable`, before the first byte.
   */
  read(file: RemoteFile, range: ByteRange, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    return this.first(file, signal, async (objects, copy) => {
      const open = (part: ByteRange): Promise<Readable> => objects.open(copy, { ...part, size: file.sizeBytes }, signal)
      const body = resumed(await open(range), range, open, signal)
      const isWhole = range.start === 0 && range.end === file.sizeBytes - 1
      return begun(this.watched(copy, copy.damagedAt !== null && isWhole ? this.healing(copy, body, file) : body))
    })
  }

  /** Tells of a copy that turns out to be damaged while it is read. */
  private async *watched(copy: Copy, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* source
    } catch (e) {
      if (e instanceof NotTheObject && copy.doubted === 0) this.parts.damages.found(copy, e.message)
      throw e
    }
  }

  private async *healing(copy: Copy, source: AsyncIterable<Uint8Array>, { sizeBytes: size }: RemoteFile) {
    let left = size
    for await (const piece of compared(source, { checksum: copy.checksum, size })) {
      left -= piece.length
      if (left === 0) this.parts.damages.healed(copy)
      yield piece
    }
  }

  /**
   * An address to fetch it from, after a look whether it is there; undefined when the only copy that answers was damaged: what
   * it holds shows when it is read. @throws Fail as `read`
   */
  link(file: RemoteFile, presented: Presented, signal: AbortSignal): Promise<string | undefined> {
    return this.first(file, signal, async (objects, copy) => {
      if (copy.damagedAt !== null) return undefined
      await objects.check(copy, file.sizeBytes, signal)
      return objects.link(copy.key, presented)
    })
  }

  /**
   * Whether a destination still has all of these, asked now; what is lost is told and uploaded again.
   * @throws Fail 503 when none of them can be asked.
   */
  async confirm(files: readonly RemoteFile[], signal: AbortSignal): Promise<boolean> {
    try {
      for (const file of files)
        await this.first(file, signal, (objects, copy) => stillHas(objects, copy, file, signal), true)
      return true
    } catch (e) {
      if (e instanceof Fail && e.status === 502) return false
      throw e
    }
  }

  /**
   * Fetches a file to this disk for a while, compared with its checksum.
   * @throws Fail as `read`, 507 when there is no room.
   */
  async borrow(file: FileId, signal: AbortSignal): Promise<Borrowed> {
    const dir = path.join(this.parts.takes, LENT)
    await fs.mkdir(dir, { recursive: true, mode: 0o750 })
    const place = path.join(dir, this.parts.ids.uuid())
    const giveBack = () => fs.rm(place, { force: true })
    try {
      const size = await this.first(file, signal, (objects, copy) => this.fetch(objects, copy, place, signal))
      return { file: place, giveBack, size }
    } catch (e) {
      await giveBack()
      throw e
    }
  }

  /** Before the first request: what an earlier process had borrowed goes. */
  async start(): Promise<void> {
    await fs.rm(path.join(this.parts.takes, LENT), { force: true, recursive: true })
  }

  async stop(): Promise<void> {
    await Promise.all([...this.stores.values()].map(({ objects }) => objects.close()))
    this.stores.clear()
  }

  /** The objects of a destination. @throws Fail when its secret cannot be read */
  at(destinationId: string): Objects {
    const { destinations } = this.parts
    const { updatedAt } = destinations.get(destinationId)
    const known = this.stores.get(destinationId)
    if (known?.updatedAt === updatedAt) return known.objects
    known?.objects.retire()
    const objects = new Objects(destinations.open(destinationId).s3)
    this.stores.set(destinationId, { objects, updatedAt })
    return objects
  }

  /**
   * What the first copy that is sound gives; sound ones are asked before those that were damaged.
   * `stopAtLoss`: one that is lost is the answer, whatever others have.
   */
  private async first<T>(
    file: FileId,
    signal: AbortSignal,
    use: (objects: Objects, copy: Copy) => Promise<T>,
    stopAtLoss = false,
  ): Promise<T> {
    let allAnswered = true
    let lost = false
    for (const copy of this.parts.copies.readable(file)) {
      try {
        return await use(this.at(copy.destinationId), copy)
      } catch (e) {
        if (signal.aborted) throw e
        // At a new place of its destination it may have another ETag: whether it is there is found out by who looks for it.
        const isLost = e instanceof NotTheObject && copy.doubted === 0
        if (isLost) this.parts.damages.found(copy, e.message)
        else if (!(e instanceof NotTheObject)) this.silent(copy, e)
        lost ||= isLost
        allAnswered &&= isLost
        if (stopAtLoss && lost) throw damaged()
      }
    }
    throw allAnswered ? damaged() : unreachable()
  }

  /** Notes why a store could not be asked. @throws anything that is not about the store */
  private silent({ destinationId, recordingId }: Copy, e: unknown): void {
    const about = e instanceof DriverError || (e instanceof Fail && e.status === 409)
    if (!about) throw e
    this.parts.log.warn('could not read a take from its destination; trying other copies', {
      ...{ destinationId, recordingId },
      error: (e as Error).message,
    })
  }

  private async fetch(objects: Objects, copy: Copy, place: string, signal: AbortSignal): Promise<number> {
    const { size } = await objects.check(copy, undefined, signal)
    await this.parts.checkRoom(size)
    const whole = { end: size - 1, start: 0 }
    const open = (part: ByteRange): Promise<Readable> => objects.open(copy, { ...part, size }, signal)
    const body = compared(resumed(await open(whole), whole, open, signal), { checksum: copy.checksum, size })
    await pipeline(body, createWriteStream(place, { mode: 0o640 }), { signal })
    if (copy.damagedAt !== null) this.parts.damages.healed(copy)
    return size
  }
}
