// What has to be true of a simulated site, whatever happens: looked at every minute, and thoroughly at the end of the day.
import { createHash } from 'node:crypto'
import * as path from 'node:path'
import { real } from './disk.ts'
import type { Fault } from './faults.ts'
import type { Asked } from './network.ts'
import { DAY, type Lesson, MINUTE, type Site } from './site.ts'
import { flawsOf, readTake } from './take.ts'

interface Acknowledged {
  checksum: string
  /** Number of the piece, from 1. */
  chunk?: number
  recordingId: string
}

/** Leases are looked after every ten seconds. */
const LEASE_GRACE_MS = 2 * MINUTE
/** How long a recorder may have files open beside those of its takes. */
const MAX_OPEN = 80

/** What a kill or a power cut may take of the sound before it, and how long it may take to hear again. */
const BEFORE_MS = 1500
const AFTER_MS = 45_000

interface FileRow {
  checksum: string
  details: string | null
  path: string
  recordingId: string
  size: number
}

export class Truth {
  readonly broken: string[] = []
  readonly #faults: readonly Fault[]
  readonly #files: Acknowledged[] = []
  readonly #events = new Set<string>()
  readonly #site: Site
  /** When the running controller began. */
  #upSince = 0

  constructor(site: Site, faults: readonly Fault[]) {
    this.#site = site
    this.#faults = faults
    site.network.onAnswered = (asked, status, body) => this.#answered(asked, status, body)
  }

  #false(words: string): void {
    if (this.broken.length < 20 && !this.broken.includes(words)) this.broken.push(words)
  }

  #rows<T>(sql: string, ...values: unknown[]): T[] {
    return this.#site.controller.db!.raw.prepare(sql).all(...values) as T[]
  }

  #answered({ headers, method, url }: Asked, status: number, body: Buffer): void {
    const [, recordingId] = /\/recordings\/([^/]+)\/cache-file$/.exec(url.pathname) ?? []
    if (status === 500) this.#false(`${method} ${url.pathname} was answered with 500: ${body}`)
    if (status >= 300) return
    if (method === 'PUT' && recordingId) {
      const [, base64 = ''] = /:(.+):/.exec(String(headers['content-digest'])) ?? []
      const checksum = `sha256:${Buffer.from(base64, 'base64').toString('hex')}`
      const index = url.searchParams.get('chunk')
      if (index !== null) this.#files.push({ checksum, chunk: Number(index) + 1, recordingId })
      else if (url.search === '') this.#files.push({ checksum, recordingId })
    }
    if (method === 'POST' && url.pathname.endsWith('/health-events')) this.#events.add(JSON.parse(String(body)).data.id)
  }

  everyMinute(): void {
    const { controller, recorders, time } = this.#site
    for (const box of [controller, ...recorders.values()])
      if ((box.life?.open.size ?? 0) > MAX_OPEN)
        this.#false(`${box.machine.name} has ${box.life?.open.size} files open`)
    if (time.waiting > 2000 + 200 * recorders.size) this.#false(`${time.waiting} things wait`)
    if (!controller.db || !this.#site.network.listening) {
      this.#upSince = time.now
      return
    }
    this.acknowledged(false)
    this.#leases()
    this.#takes()
  }

  /** What was acknowledged exists; `whole`: its bytes are looked at. */
  acknowledged(whole: boolean): void {
    const stored = new Map(this.#fileRows().map((row) => [row.recordingId, row]))
    for (const file of this.#files) {
      const { checksum, recordingId } = file
      const row = file.chunk === undefined ? stored.get(recordingId) : this.#chunkRow(file, stored)
      // Its bytes are in the joined file, whose sound is looked at.
      if (row === 'joined') continue
      if (row?.checksum !== checksum) this.#false(`${recordingId} was acknowledged, and is not in the library`)
      else if (!this.#isWhole(row, whole)) this.#false(`${recordingId} was acknowledged, and its file is not whole`)
    }
    const known = new Set(this.#rows<{ id: string }>('SELECT id FROM health_events').map(({ id }) => id))
    for (const id of this.#events) if (!known.has(id)) this.#false(`health event ${id} was acknowledged, and is gone`)
  }

  #fileRows = (): FileRow[] =>
    this.#rows<FileRow>(
      "SELECT recording_id AS recordingId, checksum, path, size_bytes AS size, details FROM recording_files WHERE rendition = 'primary'",
    )

  #chunkRow({ chunk, recordingId }: Acknowledged, stored: Map<string, FileRow>): FileRow | 'joined' | undefined {
    const [row] = this.#rows<FileRow>(
      `SELECT recording_id AS recordingId, checksum, path, size_bytes AS size, details FROM recording_chunk_files
       WHERE rendition = 'primary' AND recording_id = ? AND idx = ?`,
      recordingId,
      chunk,
    )
    const [released] = this.#rows<{ at: string | null }>(
      'SELECT released_at AS at FROM chunked_recordings WHERE recording_id = ?',
      recordingId,
    )
    return row ?? (released?.at && stored.has(recordingId) ? 'joined' : undefined)
  }

  #pathOf = (row: FileRow): string => path.join(this.#site.controller.config.SVC_RECORDING_CACHE_DIR, row.path)

  #isWhole(row: FileRow, look: boolean): boolean {
    const file = this.#pathOf(row)
    if (real.statSync(file, { throwIfNoEntry: false })?.size !== row.size) return false
    return !look || `sha256:${createHash('sha256').update(real.readFileSync(file)).digest('hex')}` === row.checksum
  }

  #leases(): void {
    const now = this.#site.time.wall(this.#site.controller.machine)
    const jobs = this.#rows<{ claimedBy: string | null; expires: string | null; id: string; status: string }>(
      "SELECT id, status, claimed_by AS claimedBy, lease_expires_at AS expires FROM recording_jobs WHERE status IN ('running', 'stop_requested')",
    )
    for (const { claimedBy, expires, id, status } of jobs) {
      if (claimedBy === null || expires === null) this.#false(`job ${id} is ${status} and belongs to nobody`)
      const isUp = this.#site.time.now - this.#upSince > LEASE_GRACE_MS
      const jumped = this.#faults.some(({ kind, who }) => kind === 'clock' && who === 'controller')
      if (expires && isUp && !jumped && now - Date.parse(expires) > LEASE_GRACE_MS)
        this.#false(`the lease of job ${id} ended at ${expires}, and it is still ${status}`)
    }
  }

  /** No take without a slot, no slot with two, each decision with its row in the audit. */
  #takes(): void {
    for (const { id } of this.#rows<{ id: string }>(
      `SELECT id FROM recordings WHERE source = 'schedule'
       AND (SELECT count(*) FROM schedule_runs r WHERE r.recording_id = recordings.id) <> 1`,
    ))
      this.#false(`take ${id} belongs to no slot, or to several`)
    for (const { action, id, n, rows } of this.#rows<{ action: string; id: string; n: number; rows: number }>(
      `WITH runs AS (SELECT schedule_id AS id, count(*) AS n FROM schedule_runs WHERE outcome = 'started' GROUP BY 1)
       SELECT id, n, 'schedules.due_run.succeeded' AS action,
         (SELECT count(*) FROM audit_events a WHERE a.action = 'schedules.due_run.succeeded' AND a.target_id = runs.id) AS rows
       FROM runs WHERE rows <> n`,
    ))
      this.#false(`${id} has ${n} takes and ${rows} rows of ${action} in the audit`)
    for (const { id } of this.#rows<{ id: string }>(
      `SELECT recording_id AS id FROM recording_files WHERE NOT EXISTS (SELECT 1 FROM audit_events a
       WHERE a.action = 'recordings.cache_file.attach.succeeded' AND a.outcome = 'succeeded' AND a.target_id = recording_id)`,
    ))
      this.#false(`the audit does not say that ${id} was stored`)
    for (const { id, reason } of this.#rows<{ id: string; reason: string }>(
      `SELECT id, failure_reason AS reason FROM recording_jobs WHERE status = 'failed' AND NOT EXISTS (SELECT 1 FROM audit_events a
       WHERE a.action IN ('recording_jobs.failed.succeeded', 'recording_jobs.lease_expired', 'recording_jobs.slot_ended') AND a.target_id = recording_jobs.id)`,
    ))
      this.#false(`the audit does not say that job ${id} failed (${reason})`)
  }

  /** After all faults are over, and everybody had time. */
  atTheEnd(): void {
    this.everyMinute()
    this.acknowledged(true)
    for (const lesson of this.#site.lessons) this.#slot(lesson)
    this.#uploads()
    for (const [room, { takesDir }] of this.#site.recorders) {
      const left = real.existsSync(takesDir) ? real.readdirSync(takesDir) : []
      if (left.length > 0) this.#false(`${room} still has ${left.join(', ')}`)
    }
    const incoming = path.join(this.#site.controller.config.SVC_RECORDING_CACHE_DIR, '.incoming')
    const parts = real.existsSync(incoming) ? real.readdirSync(incoming) : []
    if (parts.length > this.#site.lessons.length)
      this.#false(`the controller still has ${parts.length} parts of uploads`)
  }

  /** Every take is on its way to the store; what is said to be there is there, byte for byte, and nothing is given up. */
  #uploads(): void {
    const unsent = this.#rows<{ id: string }>(
      `SELECT recording_id AS id FROM recording_files
       WHERE rendition = 'primary' AND recording_id NOT IN (SELECT recording_id FROM upload_queue)`,
    )
    if (this.#site.sendsOn) for (const { id } of unsent) this.#false(`${id} is not on its way to the store`)
    for (const { checksum, error, id, status } of this.#rows<Record<'checksum' | 'error' | 'id' | 'status', string>>(
      'SELECT id, status, checksum, last_error AS error FROM upload_queue',
    )) {
      const held = this.#site.network.store.ofUpload(id)
      const due = this.#faults.length === 0 && status !== 'succeeded'
      if (status === 'failed' || due) this.#false(`upload ${id} is ${status}: ${error}`)
      if (status === 'succeeded' && `sha256:${held?.sha256}` !== checksum)
        this.#false(`upload ${id} is said to be at the store, and is not`)
    }
  }

  /** Faults of the room or the controller within these times. */
  #troubles(room: string, from: number, to: number, kinds?: RegExp): Fault[] {
    return this.#faults.filter(
      (fault) =>
        (fault.who === room || fault.who === 'controller') &&
        fault.from < to &&
        fault.to > from &&
        (kinds?.test(fault.kind) ?? true),
    )
  }

  #slot(lesson: Lesson): void {
    const { epoch } = this.#site.time
    const at = new Date(epoch + lesson.at).toISOString()
    const runs = this.#rows<{ outcome: string; recordingId: string | null }>(
      'SELECT outcome, recording_id AS recordingId FROM schedule_runs WHERE schedule_id = ? AND occurrence_at = ?',
      lesson.scheduleId,
      at,
    )
    const where = `${lesson.room} at ${at}`
    const day = new Date(epoch + DAY).toISOString()
    const [{ n = 0 } = {}] = this.#rows<{ n: number }>(
      'SELECT count(*) AS n FROM schedule_runs WHERE schedule_id = ? AND occurrence_at < ?',
      ...[lesson.scheduleId, day],
    )
    if (n > 1) this.#false(`${where}: the slot had ${n} runs on one day`)
    const troubled = this.#troubles(lesson.room, lesson.at - 5 * MINUTE, lesson.at + lesson.seconds * 1000 + 5 * MINUTE)
    const [run] = runs
    if (!run) {
      this.#false(`${where}: the slot has no run`)
      return
    }
    if (run.outcome !== 'started') {
      if (run.outcome !== 'missed' || !this.#couldNotStart(lesson))
        this.#false(`${where}: ${run.outcome} without a reason`)
      return
    }
    const [take] = this.#rows<{ status: string }>('SELECT status FROM recordings WHERE id = ?', run.recordingId)
    const [row] = this.#fileRows().filter(({ recordingId }) => recordingId === run.recordingId)
    if (row) this.#sound(lesson, where, row)
    else if (take?.status !== 'failed') this.#false(`${where}: ${run.recordingId} is still ${take?.status}`)
    else if (!troubled.some(({ to }) => to > lesson.at + (lesson.seconds * 1000) / 4))
      this.#false(`${where}: ${run.recordingId} failed, and there was time to begin it again`)
  }

  /**
   * The controller starts what is due: it was away until the slot was over, or over by its clock, or the room had no device to
   * start with.
   */
  #couldNotStart({ at, room, seconds }: Lesson): boolean {
    const end = at + seconds * 1000
    const pulled = this.#troubles(room, at - MINUTE, end, /^card\.pulled/)
    const troubles = [...pulled, ...this.#troubles('controller', at - MINUTE, end, /^(clock|disk|kill|power)/)]
    return troubles.some(({ kind, to }) => kind === 'clock' || to > end - MINUTE / 2)
  }

  /** The take has the sound of its time, or says that it has not; what it lacks, somebody could not give. */
  #sound(lesson: Lesson, where: string, row: FileRow): void {
    const { scale, time } = this.#site
    const take = readTake(real.readFileSync(this.#pathOf(row)), JSON.parse(row.details ?? '{}'))
    for (const flaw of flawsOf(take, scale.rate)) this.#false(`${where}: ${row.recordingId} ${flaw}`)
    const end = lesson.at + lesson.seconds * 1000
    const first = take.stretches.find(({ from }) => from !== undefined)
    if (!first) return
    const begins = (first.from! / scale.rate) * 1000 - (first.at / scale.rate) * 1000
    const wanting = [
      ...(begins > lesson.at + 5000 ? [{ from: lesson.at, to: begins }] : []),
      ...take.holes.map(({ at, seconds }) => ({ from: begins + at * 1000, to: begins + (at + seconds) * 1000 })),
      ...(begins + take.seconds * 1000 < end - 2000 ? [{ from: begins + take.seconds * 1000, to: end }] : []),
    ]
    for (const { from, to } of wanting) {
      const lacking = (this.#unexplained(lesson.room, { from, to }, from < begins) / 1000).toFixed(2)
      const since = new Date(time.epoch + from).toISOString()
      if (Number(lacking) > 0.5)
        this.#false(`${where}: ${row.recordingId} lacks ${lacking} s since ${since} without a reason`)
    }
  }

  /** Ms of a hole that no fault explains. What lies before the first sample may lack for want of a line, too. */
  #unexplained(room: string, { from, to }: { from: number; to: number }, atStart: boolean): number {
    const kinds = atStart ? undefined : /^(card|clock|disk|kill|power)/
    const troubles = this.#troubles(room, from - AFTER_MS, to + BEFORE_MS, kinds)
    let [left, reached] = [0, from]
    for (const trouble of troubles.toSorted((a, b) => a.from - b.from)) {
      left += Math.max(0, Math.min(to, trouble.from - BEFORE_MS) - reached)
      // What could not begin is tried again at pauses that double.
      const pause = atStart ? Math.max(0, trouble.to - from) : 0
      reached = Math.max(reached, Math.min(to, trouble.to + AFTER_MS + pause))
    }
    return left + Math.max(0, to - reached)
  }
}
