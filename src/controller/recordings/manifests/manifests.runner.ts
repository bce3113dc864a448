import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { sizeOf, syncDir } from '../../../kernel/durable.ts'
import { errorFields, type Log } from '../../../kernel/log.ts'
import { manifestPath } from '../../../wire/manifests.ts'
import { removeFiles } from '../../http/files.ts'
import { INCOMING } from '../../http/parts.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import { type Beside, besides, type Described, manifestText, type Queued, retryAt } from './manifests.rules.ts'
import type { ManifestStore } from './manifests.store.ts'

interface Parts {
  /** Recordings per pass. */
  batchSize: number
  db: Db
  enabled: boolean
  intervalSeconds: number
  log: Log
  manifests: ManifestStore
  /** Directory of the stored files. */
  takes: string
}

interface Pass {
  dirs: Set<string>
  done: Queued[]
  failed: Queued[]
  fault?: unknown
}

// Where one is written before it gets its name; passes do not overlap.
const DRAFT = path.join(INCOMING, 'manifest.part')

/**
 * Writes what is told of takes beside their files (ADR-0043), behind everything else: nobody waits for it, and what could not
 * be written is tried again. A pass ends after the current take when the controller stops.
 */
export function manifestRunner(parts: Parts): Runner {
  const { batchSize, db, enabled, intervalSeconds, manifests } = parts
  const tick = async (now: string, signal: AbortSignal) => {
    const waiting = manifests.due('', now, batchSize).length
    if (waiting < batchSize) db.tx(() => manifests.queueSome(batchSize - waiting), false)
    const pass: Pass = { dirs: new Set(), done: [], failed: [] }
    for (const one of manifests.due('', now, batchSize)) {
      if (signal.aborted) break
      await attempt(parts, one, pass, now)
    }
    await settle(parts, pass, now)
    return { failed: pass.failed.length, written: pass.done.length }
  }
  return { name: 'take-manifests', enabled, intervalSeconds, tick }
}

async function attempt(parts: Parts, one: Queued, pass: Pass, now: string): Promise<void> {
  try {
    await fs.mkdir(path.join(parts.takes, INCOMING), { recursive: true, mode: 0o750 })
    for (const dir of await write(parts, one.recordingId, now)) pass.dirs.add(dir)
    pass.done.push(one)
  } catch (e) {
    pass.fault ??= e
    pass.failed.push(one)
  }
}

/** @returns the directories that have to be synced */
async function write({ manifests, takes }: Parts, recordingId: string, now: string): Promise<string[]> {
  const described = manifests.describe(recordingId)
  if (!described) return []
  const dirs: string[] = []
  const places = besides(described)
  for (const place of places) {
    // It may be at a destination alone.
    if ((await sizeOf(path.join(takes, place.path))) === undefined) continue
    await writeBeside(takes, place, manifestText(described, place.file, now))
    dirs.push(path.dirname(path.join(takes, place.path)))
  }
  const after = manifests.describe(recordingId)
  await removeFiles(takes, superseded(places, described, after).map(manifestPath))
  return dirs
}

async function writeBeside(takes: string, { path: file }: Beside, text: string): Promise<void> {
  const draft = path.join(takes, DRAFT)
  const handle = await fs.open(draft, 'w', 0o640)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await fs.rename(draft, path.join(takes, manifestPath(file)))
}

/** Files without a manifest of their own: chunks of a take that has a rendition, and what was deleted meanwhile. */
function superseded(places: readonly Beside[], before: Described, after: Described | undefined): string[] {
  const kept = new Set(after ? besides(after).map(({ path }) => path) : [])
  const mine = [...places, ...(before.chunks?.files ?? [])].map(({ path }) => path)
  return mine.filter((file) => !kept.has(file))
}

/** What was written counts once its name is on the disk. */
async function settle({ db, log, manifests }: Parts, pass: Pass, now: string): Promise<void> {
  try {
    for (const dir of pass.dirs) await syncDir(dir)
  } catch (e) {
    pass.fault ??= e
    pass.failed.push(...pass.done.splice(0))
  }
  if (pass.done.length + pass.failed.length === 0) return
  db.tx(() => {
    for (const one of pass.done) manifests.written(one, '')
    for (const one of pass.failed) manifests.failed(one, '', retryAt(now, one.attempts))
  }, false)
  if (pass.failed.length > 0)
    log.warn('manifests of takes could not be written and will be tried again', {
      recordings: pass.failed.length,
      ...errorFields(pass.fault),
    })
}
