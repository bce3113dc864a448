import { createHash } from 'node:crypto'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { errorFields, type Log } from '../../kernel/log.ts'
import { manifestPath } from '../../wire/manifests.ts'
import type { UploadItem } from '../../wire/uploads.ts'
import { INCOMING } from '../http/parts.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import { fileOf, manifestText, type Queued, retryAt } from '../recordings/manifests/manifests.rules.ts'
import type { Runner } from '../scheduler/ticker.ts'
import type { Db } from '../store/db.ts'
import { type AttemptParts, deliveryOf, driverFor } from './attempt.ts'
import type { UploadQueueStore } from './queue.store.ts'

interface Parts extends Pick<AttemptParts, 'destinations' | 'drivers' | 'takes'> {
  /** Recordings per pass and destination. */
  batchSize: number
  db: Db
  enabled: boolean
  intervalSeconds: number
  log: Log
  manifests: RecordingsApi['manifests']
  queue: Pick<UploadQueueStore, 'ofRecording'>
}

// A manifest is a few kilobytes: a destination that needs longer does not work.
const LONGEST_MS = 60_000

/**
 * Puts manifests beside the takes at destinations (ADR-0043). An upload is done without its manifest; a destination that
 * refuses one is left alone for the rest of the pass.
 */
export function uploadManifestRunner(parts: Parts): Runner {
  const { enabled, intervalSeconds, manifests } = parts
  const tick = async (now: string, signal: AbortSignal) => {
    let written = 0
    for (const destinationId of manifests.destinationsDue(now))
      if (!signal.aborted) written += await pass(parts, destinationId, signal, now)
    return { written }
  }
  return { name: 'upload-manifests', enabled, intervalSeconds, tick }
}

/** @returns how many recordings are told of at the destination now */
async function pass(parts: Parts, destinationId: string, signal: AbortSignal, now: string): Promise<number> {
  const { batchSize, db, destinations, log, manifests } = parts
  if (!destinations.find(destinationId)) {
    db.tx(() => manifests.forget(destinationId), false)
    return 0
  }
  const due = manifests.due(destinationId, now, batchSize)
  for (const [done, one] of due.entries()) {
    try {
      await write(parts, one, destinationId, signal, now)
      db.tx(() => manifests.written(one, destinationId), false)
    } catch (e) {
      if (signal.aborted) return done
      postpone(parts, due.slice(done), destinationId, now)
      log.warn('manifests could not be put beside takes at a destination and will be tried again', {
        destinationId,
        ...errorFields(e),
      })
      return done
    }
  }
  return due.length
}

function postpone({ db, manifests }: Parts, rest: readonly Queued[], destinationId: string, now: string): void {
  db.tx(() => {
    for (const one of rest) manifests.failed(one, destinationId, retryAt(now, one.attempts))
  }, false)
}

/** What was uploaded of a recording and is not here any more keeps the manifest it has. */
async function write(
  { destinations, drivers, manifests, queue, takes }: Parts,
  { recordingId }: Queued,
  destinationId: string,
  ending: AbortSignal,
  now: string,
): Promise<void> {
  const described = manifests.describe(recordingId)
  const items = queue.ofRecording(recordingId).filter((item) => isAt(item, destinationId))
  for (const item of items) {
    const file = described && fileOf(described, item.checksum ?? '')
    if (!file) continue
    const driver = driverFor({ destinations, drivers }, item)
    const draft = path.join(takes, INCOMING, 'manifest-upload.part')
    const text = Buffer.from(manifestText(described, file, now))
    await fs.mkdir(path.dirname(draft), { recursive: true, mode: 0o750 })
    await fs.writeFile(draft, text, { mode: 0o640 })
    const source = { file: draft, sha256: createHash('sha256').update(text).digest('hex'), size: text.length }
    const { remote, ...delivery } = deliveryOf({ destinations }, item, source)
    const signal = AbortSignal.any([ending, AbortSignal.timeout(LONGEST_MS)])
    const beside = [...remote.slice(0, -1), manifestPath(remote.at(-1) ?? '')]
    await driver.deliver({ ...delivery, remote: beside }, { progress() {}, signal })
  }
}

const isAt = (item: UploadItem, destinationId: string): boolean =>
  item.status === 'succeeded' && item.destinationId === destinationId
