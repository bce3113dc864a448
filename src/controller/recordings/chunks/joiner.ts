import { mkdir } from 'node:fs/promises'
import * as path from 'node:path'
import { checksumOf } from '../../../kernel/checksum.ts'
import { type Clock, iso } from '../../../kernel/clock.ts'
import { place } from '../../../kernel/durable.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { errorFields, type Log } from '../../../kernel/log.ts'
import { faultWords } from '../../../kernel/words.ts'
import { CONTENT_TYPES } from '../../../wire/recordings.ts'
import type { Events } from '../../events.ts'
import type { Audit } from '../../http/audit.ts'
import type { PathClaims } from '../../http/claims.ts'
import type { DiskSpace } from '../../http/diskspace.ts'
import { removeFiles } from '../../http/files.ts'
import { systemActor } from '../../http/principal.ts'
import type { HealthApi } from '../../monitoring/health/api.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import { isSecured } from '../library/recordings.rules.ts'
import type { RecordingFile, RecordingStore } from '../library/recordings.store.ts'
import { joinedDetails } from '../library/renditions.rules.ts'
import {
  type ChunkFile,
  type ChunkRendition,
  type ChunkSet,
  codecOfPath,
  isComplete,
  type JoinGroup,
  joinedRendition,
  joinTimes,
  missing,
  sourcesOf,
} from './chunks.rules.ts'
import type { ChunkStore } from './chunks.store.ts'
import { type Joined, joinFiles } from './join.ts'

interface Parts {
  audit: Audit
  chunks: ChunkStore
  paths: PathClaims
  clock: Clock
  db: Db
  events: Events
  ffmpegCommand: string
  health: HealthApi['health']
  ids: Ids
  log: Log
  recordings: RecordingStore
  diskSpace: DiskSpace
  /** Directory of the stored files. */
  takes: string
}

const ACTOR = systemActor('chunk-joiner')
const JOIN_FAILED = 'controller.recording.chunk_join_failed'
const MISSING = 'controller.recording.chunks_missing'
// A cheap query: what becomes due without an event waits no longer than this.
const EVERY_SECONDS = 5
const LEAST_TIMEOUT_MS = 600_000
const TOLD_MISSING = 50

interface Made {
  group: JoinGroup
  joined: Joined
  set: ChunkSet
  sources: ChunkFile[]
}

/**
 * Joins takes that arrived in chunks into one playable file (ADR-0011), one at a time in the background. The due times are in
 * the database, so a restart continues where the last process ended.
 */
export class Joiner {
  private readonly parts: Parts
  private readonly ending = new AbortController()
  private pass: Promise<number> | undefined
  private requested = false

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** As a runner: finds what became due without `wake`. */
  runner(): Runner {
    return {
      name: 'chunk-join',
      enabled: true,
      intervalSeconds: EVERY_SECONDS,
      tick: async () => ({ joined: await this.run() }),
    }
  }

  /** Something may be due now; called after the commit that says so. */
  wake(): void {
    this.run().catch((e) =>
      this.parts.log.error('internal error: the chunk-join pass failed. Please report this', errorFields(e)),
    )
  }

  /** Joins until nothing is due; returns how many. A call during a pass makes it check once more. */
  run(): Promise<number> {
    this.requested = true
    this.pass ??= this.all().finally(() => {
      this.pass = undefined
    })
    return this.pass
  }

  /** Aborts a running join; the chunks stay, and the join starts over at the next start. */
  async stop(): Promise<void> {
    this.ending.abort(new Error('controller stopping'))
    await this.pass?.catch(() => undefined)
  }

  private async all(): Promise<number> {
    let count = 0
    while (this.requested && !this.ending.signal.aborted) {
      this.requested = false
      for (let set = this.next(); set && !this.ending.signal.aborted; set = this.next())
        count += await this.joinSet(set)
    }
    return count
  }

  private next(): ChunkSet | undefined {
    return this.parts.chunks.due(this.now())
  }

  private now(): string {
    return iso(this.parts.clock.now())
  }

  /** Joins the due groups of a set; returns how many files were made. */
  private async joinSet(set: ChunkSet): Promise<number> {
    const { chunks, db } = this.parts
    const now = this.now()
    const due = Object.entries(joinTimes(set, now)).filter(([, at]) => at <= now) as [JoinGroup, string][]
    try {
      for (const [group] of due) await this.joinGroup(set, group)
      db.tx(() => chunks.schedule(set.recordingId, this.now()))
      return due.length
    } catch (e) {
      if (!this.ending.signal.aborted) this.failed(set, faultWords(e))
      return 0
    } finally {
      this.parts.events.emit('recording.join_ended', { id: set.recordingId })
    }
  }

  private async joinGroup(set: ChunkSet, group: JoinGroup): Promise<void> {
    const { chunks, takes } = this.parts
    const sources = sourcesOf(chunks.files(set.recordingId), group)
    const [first] = sources
    const codec = first && codecOfPath(first.path)
    if (!first || !codec) return
    const bytes = sources.reduce((sum, file) => sum + file.sizeBytes, 0)
    await this.parts.diskSpace.check(bytes)
    await mkdir(path.join(takes, '.incoming'), { recursive: true, mode: 0o750 })
    const part = path.join(takes, '.incoming', `join-${this.parts.ids.uuid()}.part`)
    const joined = await joinFiles({
      codec,
      encoder: chunks.encoder(set.jobId),
      ffmpegCommand: this.parts.ffmpegCommand,
      files: sources.map((file) => path.join(takes, file.path)),
      part,
      signal: this.ending.signal,
      timeoutMs: Math.max(LEAST_TIMEOUT_MS, chunks.seconds(set.recordingId) * 1000),
    })
    await this.store({ group, joined, set, sources }, part)
  }

  /** Moves the joined file into place and stores its row, unless a chunk arrived meanwhile or the recording was deleted. */
  private async store(made: Made, part: string): Promise<void> {
    const { db, paths, recordings, takes } = this.parts
    const { recordingId } = made.set
    const file = this.claimPath(made)
    if (file === undefined) {
      await removeFiles(takes, [path.relative(takes, part)])
      return
    }
    try {
      await place(part, path.join(takes, file))
      await paths.removing((discard) => db.tx(() => discard(this.commit(made, file, this.now()))))
    } finally {
      // Delete the file unless a row refers to it.
      if (!recordings.files(recordingId).some((row) => row.path === file)) await removeFiles(takes, [file])
      paths.release(file)
    }
  }

  /** `<folder>/<id>.<ext>`, with part of the checksum when that name is taken; undefined when the recording was deleted. */
  private claimPath({ group, joined, set, sources: [first] }: Made): string | undefined {
    const { ids, paths, recordings } = this.parts
    if (!first || !recordings.find(set.recordingId)) return undefined
    const rows = recordings.files(set.recordingId)
    const extension = path.extname(first.path)
    const stem = path.join(path.dirname(path.dirname(first.path)), set.recordingId + (group === 'raw' ? '.raw' : ''))
    const names = ['', `.${joined.sha256.slice(0, 12)}`, `.${ids.uuid()}`].map((mark) => stem + mark + extension)
    const same = rows.find((row) => row.checksum === checksumOf(joined.sha256) && names.includes(row.path))
    const taken = new Set(rows.map((row) => row.path).filter((name) => name !== same?.path))
    return paths.claim(same ? [same.path, ...names] : names, taken)
  }

  /** Stores the row; returns the paths of replaced files. Does nothing when the set has changed since it was read. */
  private commit({ group, joined, set, sources }: Made, file: string, now: string): string[] {
    const { chunks, health, recordings } = this.parts
    const { recordingId } = set
    const fresh = chunks.find(recordingId)
    if (!fresh || fresh.wholeAt !== null || revisionOf(fresh, group) !== revisionOf(set, group)) return []
    const rows = recordings.files(recordingId)
    if (group === 'raw' && rows.some((row) => row.rendition === 'raw' && row.joined === 0)) {
      // The master also arrived as one file, which is kept along with its chunks.
      chunks.joined(recordingId, group, revisionOf(set, group), false, set.joinEvent)
      return []
    }
    const rendition = this.renditionOf(set, group, sources)
    const before = rows.find((row) => row.rendition === rendition)
    const replaced = recordings.attach(
      {
        checksum: checksumOf(joined.sha256),
        details: joinedDetails(chunks.pieces(recordingId, sources)),
        durationSeconds: chunks.seconds(recordingId),
        joined: 1,
        jobId: set.jobId,
        mimeType: CONTENT_TYPES[codecOfPath(file) ?? 'wav'],
        path: file,
        recordingId,
        rendition,
        sizeBytes: joined.size,
      },
      now,
    )
    const { status } = recordings.get(recordingId)
    if (group === 'primary' && !isSecured(status))
      recordings.settle(recordingId, isComplete(fresh) ? 'cached' : 'partial', now)
    const lost = missing(sources, fresh.total)
    const gaps = lost.length > 0 ? { missingCount: lost.length, missing: lost.slice(0, TOLD_MISSING) } : undefined
    const event = this.updateEvent(fresh, group, gaps, now)
    chunks.joined(recordingId, group, revisionOf(set, group), joined.exact, event)
    health.judge(recordingId, now)
    // Chunks are uploaded one by one as they arrive; the master as one file, and what is played where it may be played from.
    const piece = group === 'raw' ? 'master' : 'joined'
    this.parts.events.emit('recording.cached', { now, piece, queued: [], recordingId })
    const details = { chunkCount: sources.length, fileName: path.basename(file), rendition, size: joined.size }
    this.writeAudit(set, 'succeeded', now, { ...details, ...gaps }, before)
    return replaced ? [replaced] : []
  }

  /** A set that is joined again keeps its rendition, so that the newer file is the one that is played. */
  private renditionOf(set: ChunkSet, group: JoinGroup, sources: ChunkFile[]): ChunkRendition {
    const before = this.parts.recordings.files(set.recordingId).find((row) => row.rendition !== 'raw')
    return group === 'primary' && set.primaryJoined !== null && before
      ? before.rendition
      : joinedRendition(sources, group)
  }

  /** The event that is open after a join: a failure is resolved; gaps in the played file are a warning until they close. */
  private updateEvent(set: ChunkSet, group: JoinGroup, gaps: object | undefined, now: string): string | null {
    const { health } = this.parts
    const standing = set.joinEvent === null ? undefined : health.find(set.joinEvent)
    if (group === 'raw' && standing?.type !== JOIN_FAILED) return set.joinEvent
    // An event that somebody resolved by hand stays unchanged.
    if (standing && standing.status !== 'resolved') health.move(standing.id, 'resolve', { by: ACTOR.id, now })
    return group === 'primary' && gaps ? this.opened(set, MISSING, 'warning', { ...gaps }, now) : null
  }

  private opened(
    { recordingId }: ChunkSet,
    type: string,
    severity: 'critical' | 'warning',
    details: Record<string, unknown>,
    now: string,
  ): string {
    const { health, recordings } = this.parts
    const nodeId = recordings.find(recordingId)?.nodeId
    const about = { details: { ...details, source: 'chunk_join' }, nodeId, openedAt: now, recordingId, severity, type }
    return health.open(about, now).event.id
  }

  /** The chunks stay, and the join is retried later. Only the first of consecutive failures opens an event. */
  private failed({ recordingId }: ChunkSet, why: string): void {
    const { chunks, db, health, log } = this.parts
    const now = this.now()
    log.warn('could not join the chunks of a recording; retrying', { recordingId, error: why })
    db.tx(() => {
      const set = chunks.find(recordingId)
      if (!set) return
      const standing = set.joinEvent === null ? undefined : health.find(set.joinEvent)
      const first = standing?.type !== JOIN_FAILED
      const event = first ? this.opened(set, JOIN_FAILED, 'critical', { error: why }, now) : standing.id
      chunks.joinFailed(set, event, now)
      if (first) this.writeAudit(set, 'failed', now, { error: why })
    })
  }

  /** `before`: the replaced file. */
  private writeAudit(
    set: ChunkSet,
    outcome: 'failed' | 'succeeded',
    now: string,
    details: Record<string, unknown>,
    before?: RecordingFile,
  ): void {
    const { recordingId, jobId } = set
    this.parts.audit.write(
      {
        action: `recordings.chunks.join.${outcome}`,
        actor: ACTOR,
        before: before && { checksum: before.checksum, path: before.path, size: before.sizeBytes },
        correlation: { recordingId, recordingJobId: jobId },
        details,
        outcome,
        permission: 'recording:control',
        reason: outcome === 'failed' ? 'chunk_join_failed' : null,
        target: { type: 'recording', id: recordingId },
      },
      now,
    )
  }
}

const revisionOf = (set: ChunkSet, group: JoinGroup): number =>
  group === 'raw' ? set.rawRevision : set.primaryRevision
