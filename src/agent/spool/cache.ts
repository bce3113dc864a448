// The recorder's own copies of takes that the controller has: kept below `cache/` as long as a policy allows.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { hasCode, replaceFile } from '../../kernel/durable.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { Severity } from '../../wire/health.ts'
import type { RecorderCachePolicy } from '../../wire/nodes.ts'
import type { Report } from '../health/report.ts'
import type { Gauge } from '../proc/disk.ts'
import {
  CacheEntry,
  type Due,
  dueBy,
  firstToGo,
  inCustody,
  oldestFirst,
  policiesOf,
  underPolicy,
} from './cache.rules.ts'
import { removeFiles, type Spool } from './spool.ts'
import type { TakeState } from './state.ts'

export interface CacheOptions {
  gauge: Gauge
  /** Keep takes without a policy; otherwise they are deleted as soon as the controller has them. */
  keepUploaded: boolean
  log: Log
  manifestFile: string
  report: Report
  spool: Spool
  /** Unix ms that has certainly been reached; undefined when unknown: then nothing is too old. */
  surely(): number | undefined
}

export interface Cleanup {
  deleted: number
  errors: number
  freedBytes: number
}

/** Owns `cache/`: only what the controller has accepted comes here, and nothing else is ever swept. */
export interface RecorderCache {
  /**
   * Call when the controller has this take and its state says so durably (`uploaded`): deletes its files or keeps them as a
   * copy, by its policy. Never rejects; a failure is reported, and tried again at the next start.
   */
  release(state: Readonly<TakeState>): Promise<void>
  /** Sets the controller's current policies and applies changes at once. */
  setPolicies(policies: RecorderCachePolicy[]): void
  /** Deletes what the policies no longer keep. Never rejects. */
  sweep(): Promise<void>
  /** Recordings whose takes are held until the controller lets them go, oldest first; none before the directory was read. */
  held(): string[]
  /** The controller let the take of a recording go: it is deleted, or stays as an ordinary copy, by its policy. */
  letGo(recordingId: string): Promise<void>
  /** Gives held takes of a recording back, to be delivered again; they are no copies then. */
  takeBack(recordingId: string): Promise<TakeState[]>
  /**
   * Deletes copies to free `bytes` for a running take, the oldest first, those that are held last and with an event: audio
   * without another copy comes first.
   */
  makeRoom(bytes: number): Promise<Cleanup>
  /** Bytes of all copies: what may go when a take needs the room. */
  bytes(): Promise<number>
  /** Resolves when everything requested so far is done and reported. */
  settled(): Promise<void>
}

/** Reads its directory on first use. */
export const openCache = (options: CacheOptions): RecorderCache => new Cache(options)

interface Swept extends Due {
  error?: string
}

class Cache implements RecorderCache {
  readonly #options: CacheOptions
  #configured: RecorderCachePolicy[] = []
  #entries: Map<string, CacheEntry> | undefined
  /** One operation at a time: a release must not overlap a sweep. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: CacheOptions) {
    this.#options = options
  }

  setPolicies(policies: RecorderCachePolicy[]): void {
    if (isDeepStrictEqual(policies, this.#configured)) return
    this.#configured = policies
    void this.sweep()
  }

  release(state: Readonly<TakeState>): Promise<void> {
    return this.#inTurn('release a take, which is retried at the next start', async () => {
      const policy = this.#policyOf(state)
      if (!inCustody(state) && this.#goesAtOnce(policy)) await this.#delete(state, policy)
      else await this.#track(state, policy)
      await this.#options.spool.mirror({ ...state, status: 'completed' })
    }).then(() => undefined)
  }

  sweep(): Promise<void> {
    return this.#inTurn('sweep the recorder cache, which is retried at the next sweep', async () => {
      const entries = await this.#known()
      const [scanned, swept] = [entries.size, [] as Swept[]]
      for (const policy of policiesOf([...entries.values()], this.#configured)) {
        const mine = () => underPolicy([...entries.values()], policy, this.#configured)
        for (const due of dueBy(policy, mine(), this.#options.surely())) swept.push(await this.#drop(due))
        swept.push(...(await this.#freeShare(policy, mine())))
      }
      await this.#tellSwept(swept, scanned)
    }).then(() => undefined)
  }

  async settled(): Promise<void> {
    await this.#queue
  }

  async bytes(): Promise<number> {
    let sum = 0
    await this.#inTurn('look at the copies in the recorder cache', async () => {
      for (const entry of (await this.#known()).values()) sum += entry.bytes
    })
    return sum
  }

  async makeRoom(bytes: number): Promise<Cleanup> {
    const swept: Swept[] = []
    await this.#inTurn('make room by deleting copies in the recorder cache', async () => {
      const entries = await this.#known()
      const scanned = entries.size
      let freed = 0
      for (const entry of firstToGo([...entries.values()])) {
        if (freed >= bytes) break
        const dropped = await this.#drop({ entry, reason: 'disk_space' })
        if (entry.held) this.#tellGivenUp(dropped)
        swept.push(dropped)
        if (dropped.error === undefined) freed += entry.bytes
      }
      await this.#tellSwept(swept, scanned)
    })
    const gone = swept.filter((s) => s.error === undefined)
    const freedBytes = gone.reduce((sum, { entry }) => sum + entry.bytes, 0)
    return { deleted: gone.length, errors: swept.length - gone.length, freedBytes }
  }

  held(): string[] {
    if (!this.#entries) void this.#inTurn('look at the takes that are held', async () => void (await this.#known()))
    const held = [...(this.#entries?.values() ?? [])].filter((entry) => entry.held)
    return [...new Set(oldestFirst(held).map(({ recordingId }) => recordingId))]
  }

  async letGo(recordingId: string): Promise<void> {
    await this.#inTurn('let a held take go, which is retried', async () => {
      for (const [dir, { held: _, ...entry }] of await this.#heldOf(recordingId)) {
        const entries = await this.#known()
        if (this.#goesAtOnce(entry.policy)) await removeFiles(dir)
        if (this.#goesAtOnce(entry.policy)) entries.delete(dir)
        else entries.set(dir, entry)
      }
      await this.#save()
    })
  }

  async takeBack(recordingId: string): Promise<TakeState[]> {
    const states: TakeState[] = []
    await this.#inTurn('take a held take back, which is retried', async () => {
      for (const [dir, { jobId }] of await this.#heldOf(recordingId)) {
        const state = await this.#options.spool.takeBack(dir, jobId)
        if (!state) continue
        states.push(state)
        this.#entries?.delete(dir)
      }
      await this.#save()
    })
    return states
  }

  async #heldOf(recordingId: string): Promise<[string, CacheEntry][]> {
    return [...(await this.#known())].filter(([, entry]) => entry.held && entry.recordingId === recordingId)
  }

  #goesAtOnce = (policy: RecorderCachePolicy | undefined): boolean =>
    policy ? policy.deleteAfterUpload : !this.#options.keepUploaded

  #tellGivenUp({ entry: { bytes, jobId, recordingId }, error }: Swept): void {
    if (error !== undefined) return
    this.#options.report({
      details: { bytes, jobId, recordingId },
      recordingId,
      severity: 'warning',
      type: 'agent.recording_job.held_copy_given_up',
    })
  }

  #policyOf({ job }: Readonly<TakeState>): RecorderCachePolicy | undefined {
    const brought = job.command.recorderCacheRetention
    return this.#configured.find((policy) => policy.policyId === brought?.policyId) ?? brought
  }

  async #delete(state: Readonly<TakeState>, policy: RecorderCachePolicy | undefined): Promise<void> {
    const { spool } = this.#options
    const { id } = state.job
    try {
      await spool.remove(id)
      const details = { deletedPaths: [spool.dir(id)], policyId: policy?.policyId }
      if (policy) this.#tell(state, 'info', 'recorder_cache_deleted', details)
    } catch (e) {
      this.#tell(state, 'warning', 'recorder_cache_delete_failed', { error: String(e), path: spool.dir(id) })
    }
  }

  async #track(state: Readonly<TakeState>, policy: RecorderCachePolicy | undefined): Promise<void> {
    const entries = await this.#known()
    try {
      const dir = await this.#options.spool.cache(state.job.id)
      const entry = await entryOf(dir, state, policy)
      entries.set(dir, entry)
      await this.#save()
      const { outputPath, rawOutputPath } = entry
      this.#tell(state, 'info', 'recorder_cache_tracked', { outputPath, policyId: policy?.policyId, rawOutputPath })
    } catch (e) {
      this.#tell(state, 'warning', 'recorder_cache_track_failed', { error: String(e) })
    }
  }

  /** Deletes until the policy's share of the disk is free, or none of its own copies are left. */
  async #freeShare({ minFreeDiskPercent, policyId }: RecorderCachePolicy, mine: CacheEntry[]): Promise<Swept[]> {
    const swept: Swept[] = []
    if (minFreeDiskPercent === null) return swept
    for (const entry of mine) {
      const space = await this.#options.gauge()
      if (!space || 100 - space.usedPercent >= minFreeDiskPercent) break
      swept.push(await this.#drop({ entry, policyId, reason: 'min_free_disk' }))
    }
    return swept
  }

  async #drop(due: Due): Promise<Swept> {
    const entries = await this.#known()
    const [dir] = [...entries].find(([, entry]) => entry === due.entry)!
    try {
      await removeFiles(dir)
      entries.delete(dir)
      return due
    } catch (e) {
      return { ...due, error: String(e) }
    }
  }

  async #tellSwept(swept: Swept[], scanned: number): Promise<void> {
    if (swept.length === 0) return
    await this.#save()
    const errors = swept.filter((s) => s.error !== undefined).length
    const items = swept.map(({ entry, error, policyId, reason }) => ({
      errors: error === undefined ? [] : [error],
      policyId,
      reason,
      recordingId: entry.recordingId,
      status: error === undefined ? 'deleted' : 'failed',
    }))
    this.#options.report({
      details: { deleted: swept.length - errors, errors, items: items.slice(0, 100), scanned },
      severity: errors > 0 ? 'warning' : 'info',
      type: 'agent.recorder_cache.sweep_completed',
    })
  }

  /** The directory decides which copies exist; the manifest describes them, or else the take's own state. */
  async #known(): Promise<Map<string, CacheEntry>> {
    if (this.#entries) return this.#entries
    const { log, manifestFile, spool } = this.#options
    const noted = await readManifest(manifestFile)
    if (noted === 'damaged') log.warn('recorder cache manifest damaged: rebuilding it', { manifestFile })
    const entries = new Map<string, CacheEntry>()
    for (const { dir, state } of await spool.cached()) {
      const known = noted !== 'damaged' ? noted.find((e) => path.dirname(e.outputPath) === dir) : undefined
      if (known) entries.set(dir, { ...known, bytes: await bytesIn(dir) })
      else if (state) entries.set(dir, await entryOf(dir, state, state.job.command.recorderCacheRetention))
      else log.warn('unknown files in the recorder cache left untouched', { dir })
    }
    this.#entries = entries
    await this.#save()
    return entries
  }

  async #save(): Promise<void> {
    try {
      await writeManifest(this.#options.manifestFile, [...this.#entries!.values()])
    } catch (e) {
      // It can be rebuilt from the directory; a full disk must not stop the sweep that would free it.
      this.#options.log.warn('recorder cache manifest not written', errorFields(e))
    }
  }

  #tell({ job }: Readonly<TakeState>, severity: Severity, name: string, details: Record<string, unknown>): void {
    const { id: jobId, recordingId } = job
    this.#options.report({
      details: { ...details, jobId, recordingId },
      recordingId,
      severity,
      type: `agent.recording_job.${name}`,
    })
  }

  #inTurn(what: string, work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue
      .then(work)
      .catch((e) => this.#options.log.error(`could not ${what}: check the disk of the spool`, errorFields(e)))
    return this.#queue as Promise<void>
  }
}

async function entryOf(
  dir: string,
  state: Readonly<TakeState>,
  policy: RecorderCachePolicy | undefined,
): Promise<CacheEntry> {
  const raw = path.join(dir, 'take.wav')
  const [output] = state.outputs
  const outputPath = output ? path.join(dir, output.file) : raw
  return {
    bytes: await bytesIn(dir),
    ...(inCustody(state) ? { held: true } : {}),
    jobId: state.job.id,
    outputPath,
    ...(policy ? { policy } : {}),
    ...(outputPath === raw ? {} : { rawOutputPath: raw }),
    recordedAt: state.claimedAt,
    recordingId: state.job.recordingId,
  }
}

/** Bytes freed by deleting a directory; a file with several hard links counts in part. */
async function bytesIn(dir: string): Promise<number> {
  const stats = await Promise.all((await fs.readdir(dir)).map((name) => fs.stat(path.join(dir, name))))
  return stats.reduce((sum, { nlink, size }) => sum + Math.round(size / nlink), 0)
}

const Manifest = z.object({ entries: z.array(CacheEntry), version: z.literal(1) })

/** The manifest's entries; none when there is no file yet. */
async function readManifest(file: string): Promise<CacheEntry[] | 'damaged'> {
  try {
    return Manifest.parse(JSON.parse(await fs.readFile(file, 'utf8'))).entries
  } catch (e) {
    return hasCode(e, 'ENOENT') ? [] : 'damaged'
  }
}

/** Durable when it resolves. */
const writeManifest = (file: string, entries: CacheEntry[]): Promise<void> =>
  replaceFile(file, `${JSON.stringify({ entries, version: 1 } satisfies z.infer<typeof Manifest>, null, 2)}\n`)
