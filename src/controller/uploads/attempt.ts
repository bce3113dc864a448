// One attempt at one item: first the checks that need no destination, then the driver.

import { createReadStream } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { checksumOf, sha256Of } from '../../kernel/checksum.ts'
import { Fail } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'
import type { DestinationKind, UploadItem } from '../../wire/uploads.ts'
import type { DestinationStore, Opened } from './destinations.store.ts'
import { type Delivered, type Delivery, type Driver, DriverError, type Watch } from './driver.ts'
import type { Library } from './library/library.ts'
import { remotePath } from './queue.rules.ts'

export interface Limits {
  /** Lowest acceptable speed of sending and reading back, bytes per second, in addition to `graceMs`. */
  bytesPerSecond: number
  graceMs: number
  /** Longest time without progress, ms. */
  idleMs: number
}

/** Who watches an attempt. */
interface Onlooker {
  /** It goes on; `percent`: how much of the file is on its way, where that is known. */
  progress(percent?: number): void
  signal: AbortSignal
}

export interface AttemptParts {
  destinations: DestinationStore
  drivers: Record<DestinationKind, (opened: Opened) => Driver>
  limits: Limits
  library: Pick<Library, 'borrow' | 'has'>
  multiparts: { begun(item: UploadItem, remote: readonly string[]): void }
  /** Directory of the stored takes. */
  takes: string
}

/**
 * Delivers the file of an item.
 * @throws DriverError whose message is the item's `lastError`; the signal's reason when aborted.
 */
export async function attempt(parts: AttemptParts, item: UploadItem, watch: Onlooker): Promise<Delivered> {
  const driver = driverFor(parts, item)
  const source = await located(parts, item, watch.signal)
  const guard = withDeadlines(watch, parts.limits, source.size)
  try {
    const sha256 = await hashOf(source.file, guard)
    if (item.checksum?.startsWith('sha256:') && item.checksum !== checksumOf(sha256))
      throw new DriverError('source_checksum_mismatch')
    const delivery = deliveryOf(parts, item, { file: source.file, sha256, size: source.size })
    const inParts = () => parts.multiparts.begun(item, delivery.remote)
    return await driver.deliver(delivery, { ...guard, inParts })
  } catch (e) {
    // An aborted driver reports its own failure; the reason it was aborted is what counts.
    throw guard.signal.aborted ? guard.signal.reason : e
  } finally {
    guard.end()
    await source.giveBack?.()
  }
}

/** The file of an item; one that is no longer here is borrowed from another destination that holds it. */
async function located(
  { library, takes }: AttemptParts,
  { cachePath, checksum = '', recordingId }: UploadItem,
  signal: AbortSignal,
): Promise<{ file: string; giveBack?: () => Promise<void>; size: number }> {
  try {
    return await locate(takes, cachePath)
  } catch (e) {
    const lent = e instanceof DriverError && e.reason === 'cache_path_missing' && library.has({ checksum, recordingId })
    if (!lent) throw e
    return library.borrow({ checksum, recordingId }, signal).catch((cause: unknown) => {
      throw cause instanceof Fail ? new DriverError(cause.reason) : cause
    })
  }
}

/** @throws DriverError when the destination cannot be used now. */
export function driverFor(
  { destinations, drivers }: Pick<AttemptParts, 'destinations' | 'drivers'>,
  item: UploadItem,
): Driver {
  const destination = item.destinationId ? destinations.find(item.destinationId) : undefined
  if (!destination) throw new DriverError('destination_not_found')
  if (destination.status !== 'ready') throw new DriverError(destination.reason ?? `destination_${destination.status}`)
  try {
    return drivers[destination.kind](destinations.open(destination.id))
  } catch (e) {
    throw e instanceof Fail ? new DriverError(e.reason) : e
  }
}

export function deliveryOf(
  { destinations }: Pick<AttemptParts, 'destinations'>,
  item: UploadItem,
  source: Pick<Delivery, 'file' | 'sha256' | 'size'>,
): Delivery {
  const destination = destinations.get(item.destinationId as string)
  const base = destination.kind === 's3' ? destination.s3?.prefix : destination.smb?.path
  return { ...source, itemId: item.id, recordingId: item.recordingId, remote: remotePath(base, item) }
}

async function locate(root: string, relative: string | undefined): Promise<{ file: string; size: number }> {
  if (!relative) throw new DriverError('cache_path_missing')
  try {
    const [base, file] = await Promise.all([fs.realpath(root), fs.realpath(path.join(root, relative))])
    if (!file.startsWith(base + path.sep)) throw new DriverError('cache_path_outside_root')
    const stat = await fs.stat(file)
    if (!stat.isFile()) throw new DriverError('cache_path_missing')
    return { file, size: stat.size }
  } catch (e) {
    throw e instanceof DriverError ? e : new DriverError('cache_path_missing')
  }
}

async function hashOf(file: string, { progress, signal }: Watch): Promise<string> {
  const source = createReadStream(file, { highWaterMark: 1024 * 1024, signal })
  try {
    return await sha256Of(source, () => progress())
  } catch (e) {
    // What `progress` throws is no fault of the file.
    throw e === source.errored ? new DriverError('source_unreadable', faultWords(e)) : e
  }
}

/** The watch with two more deadlines: for a lack of progress, and for the whole transfer. */
function withDeadlines(watch: Onlooker, limits: Limits, size: number): Watch & { end(): void } {
  const abort = new AbortController()
  const stalled = () => abort.abort(new DriverError('upload_stalled', `no progress for ${limits.idleMs / 1000} s`))
  const idle = setTimeout(stalled, limits.idleMs)
  const late = () => abort.abort(new DriverError('upload_timeout'))
  const whole = setTimeout(late, limits.graceMs + ((2 * size) / limits.bytesPerSecond) * 1000)
  return {
    end: () => {
      clearTimeout(idle)
      clearTimeout(whole)
    },
    progress: (sent) => {
      idle.refresh()
      watch.progress(sent === undefined ? undefined : percentOf(sent, size))
    },
    signal: AbortSignal.any([watch.signal, abort.signal]),
  }
}

// The last hundredth is the destination's answer.
const percentOf = (sent: number, size: number): number => Math.min(99, Math.floor((100 * sent) / Math.max(1, size)))
