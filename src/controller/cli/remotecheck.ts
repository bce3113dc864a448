// Takes that are at destinations alone, read there and compared with their checksums.
import { Fail } from '../../kernel/fail.ts'
import type { Config } from '../config.ts'
import { FILE_HELD } from '../recordings/library/held.rules.ts'
import type { Db } from '../store/db.ts'
import { Lister } from '../store/filter.ts'
import { type Copy, copyStore } from '../uploads/copies.store.ts'
import { DriverError } from '../uploads/driver.ts'
import { NotTheObject, Objects } from '../uploads/library/objects.s3.ts'
import { compared, resumed } from '../uploads/library/resumableread.ts'
import { openedDestinations } from './destinations.ts'
import type { StoredFile } from './takes.ts'

interface RemoteFile extends StoredFile {
  /** 1 where a destination that can be read is believed to have it. */
  held: number
  recordingId: string
}

/** What reading a file found: it is whole somewhere, no copy of it is, or none that may be could be read. */
type Outcome = 'damaged' | 'sound' | 'unread'

const SLICE = 500
// Files in a row that a destination could not be asked for, before it is left alone for the rest of the run.
const PATIENCE = 3

/** Every file that is not on this disk, by path. */
export function* remoteFiles(db: Db): Generator<RemoteFile> {
  const columns = `f.recording_id AS recordingId, f.path, f.checksum, f.size_bytes AS sizeBytes, ${FILE_HELD} AS held`
  const files = new Lister<RemoteFile>(db, { columns, from: 'recording_files f' })
  const elsewhere = [{ sql: 'f.local = 0', params: {} }]
  for (const slice of files.walk(elsewhere, { direction: 'ASC', keys: ['f.path'] }, SLICE)) yield* slice
}

/**
 * Reads files at the destinations that keep them, one at a time and in flat memory, until one copy is whole. `tell` gets every
 * copy that is not, and what could not be read. Close it at the end.
 */
export class Elsewhere {
  readonly #copies
  readonly #destinations
  readonly #open = new Map<string, { failures: number; objects: Objects | undefined }>()
  readonly #tell: (line: string) => void

  /** @throws UserError without the key that opens the destinations' secrets */
  constructor(db: Db, config: Config, tell: (line: string) => void) {
    this.#copies = copyStore(db)
    this.#destinations = openedDestinations(db, config)
    this.#tell = tell
  }

  /** @throws AbortError once `signal` aborts */
  async read(file: RemoteFile, signal: AbortSignal): Promise<Outcome> {
    let outcome: Outcome = 'damaged'
    for (const copy of this.#copies.readable(file)) {
      const found = await this.#readAt(copy, file, signal)
      if (found === 'sound') return 'sound'
      if (found === 'unread') outcome = 'unread'
    }
    return outcome
  }

  async close(): Promise<void> {
    for (const { objects } of this.#open.values()) await objects?.close()
  }

  async #readAt(copy: Copy, { path, sizeBytes: size }: RemoteFile, signal: AbortSignal): Promise<Outcome> {
    const at = this.#at(copy.destinationId)
    if (!at.objects || at.failures === PATIENCE) return 'unread'
    try {
      await readWhole(at.objects, copy, size, signal)
      at.failures = 0
      return 'sound'
    } catch (e) {
      signal.throwIfAborted()
      if (e instanceof NotTheObject) {
        this.#tell(`damaged: ${path} at ${copy.destinationId}: ${e.message}`)
        return 'damaged'
      }
      if (!(e instanceof DriverError)) throw e
      at.failures++
      const rest = at.failures === PATIENCE ? '. It is not asked again in this run' : ''
      this.#tell(`not read: ${path} at ${copy.destinationId}: ${e.message}${rest}`)
      return 'unread'
    }
  }

  #at(id: string) {
    const known = this.#open.get(id) ?? { failures: 0, objects: this.#objects(id) }
    this.#open.set(id, known)
    return known
  }

  #objects(id: string): Objects | undefined {
    try {
      return new Objects(this.#destinations.open(id).s3)
    } catch (e) {
      if (!(e instanceof Fail)) throw e
      this.#tell(`not read: everything at ${id}: ${e.message}`)
      return undefined
    }
  }
}

/** @throws NotTheObject; DriverError when the store cannot be asked */
async function readWhole(objects: Objects, copy: Copy, size: number, signal: AbortSignal): Promise<void> {
  const whole = { end: size - 1, start: 0 }
  const open = (part: typeof whole) => objects.open(copy, { ...part, size }, signal)
  try {
    for await (const _ of compared(resumed(await open(whole), whole, open, signal), {
      checksum: copy.checksum,
      size,
    })) {
      // Only its end tells.
    }
  } catch (e) {
    if (e instanceof NotTheObject || e instanceof DriverError) throw e
    throw new DriverError('s3_fetch_failed', (e as Error).message)
  }
}
