import { statSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import Database from 'better-sqlite3'
import { conflict, Fail } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'

export type SqlValue = string | number | null
export type Params = Record<string, SqlValue>

/** One prepared statement: named parameters in, rows out. */
export interface Stmt<P extends object, R> {
  get(params: P): R | undefined
  all(params: P): R[]
  iterate(params: P): IterableIterator<R>
  /** Number of rows changed. */
  run(params: P): number
}

const PRAGMAS = [
  'journal_mode = WAL',
  'foreign_keys = ON',
  'trusted_schema = OFF',
  'cache_size = -16000',
  'temp_store = MEMORY',
]

/**
 * Pages in the WAL (1 GiB) from which we checkpoint although another program replicates it: until then the replicator
 * alone decides when frames may go. This bounds the disk space that a dead one costs.
 */
const REPLICATED_PAGES = 262_144

interface DbOptions {
  /** Leaves the file's journal as it is. */
  plain?: boolean
  /** Another program copies the WAL and checkpoints it. */
  replicated?: boolean
  /** How long to wait for a lock, ms. */
  waitMs?: number
}

/**
 * Puts `+` before each parameter of an equality: the same value, but no hint to the planner. Our SQLite has STAT4, which
 * recompiles a statement at every call where it takes a parameter as such a hint: three to five times the cost of running
 * it. Ranges are left alone: there the planner's estimate decides which index is used.
 */
const withoutHints = (sql: string): string => sql.replace(/(?<=[^<>]= )@(?=[a-z])/g, '+@')

/** One SQLite file, one writer. Everything is synchronous; a transaction never spans an await. */
/** What belongs to a database, by the end of its name; itself first. */
export const DATABASE_SUFFIXES = ['', '-wal', '-shm', '-journal'] as const

export class Db {
  readonly raw: Database.Database
  /** Every statement prepared so far: the query-plan guard reads it. */
  readonly prepared = new Set<string>()
  private readonly begin: Database.Statement
  private readonly commit: Database.Statement
  private readonly rollback: Database.Statement
  private readonly savepoints: [set: Database.Statement, release: Database.Statement, back: Database.Statement]
  /** Runs after the commit of the current transaction. */
  private pending: (() => void)[] = []
  private synchronous = ''
  private readonly file: string
  private readonly identity: string | undefined
  private readonly waitMs: number
  private wal: fs.FileHandle | undefined
  /** A sync of the WAL failed: the disk may lack some of what it holds, even if a later sync succeeds. */
  private walInDoubt = false

  constructor(file: string, addon?: object, { plain = false, replicated = false, waitMs = 5000 }: DbOptions = {}) {
    try {
      this.raw = new Database(file, { timeout: waitMs, ...(addon ? { nativeBinding: addon } : {}) })
      for (const pragma of plain ? [] : PRAGMAS) this.raw.pragma(pragma)
      if (replicated) this.raw.pragma(`wal_autocheckpoint = ${REPLICATED_PAGES}`)
      if (!plain) this.durable(true)
    } catch (e) {
      throw new Fail(503, 'database_unavailable', `The database ${file} cannot be opened: ${faultWords(e)}.`)
    }
    this.file = file
    this.identity = fileIdentity(file)
    this.waitMs = waitMs
    this.begin = this.raw.prepare('BEGIN IMMEDIATE')
    this.commit = this.raw.prepare('COMMIT')
    this.rollback = this.raw.prepare('ROLLBACK')
    this.savepoints = [
      this.raw.prepare('SAVEPOINT step'),
      this.raw.prepare('RELEASE step'),
      this.raw.prepare('ROLLBACK TO step'),
    ]
  }

  /** Prepares `sql` at its first use: all of them together would be a tenth of a start. `R` is the type of its rows. */
  stmt<P extends object, R = unknown>(sql: string): Stmt<P, R> {
    const text = withoutHints(sql)
    let prepared: Database.Statement<[P], R> | undefined
    const statement = () => {
      prepared ??= this.raw.prepare<[P], R>(text)
      return prepared
    }
    this.prepared.add(text)
    return {
      get: (params) => mapErrors(() => statement().get(params)),
      all: (params) => mapErrors(() => statement().all(params)),
      iterate: (params) => mapErrors(() => statement().iterate(params)),
      run: (params) => mapErrors(() => statement().run(params).changes),
    }
  }

  /** All or nothing. Inside another transaction it is a savepoint: what it did is undone when `fn` throws. */
  tx<T>(fn: () => T, durable = true): T {
    if (this.raw.inTransaction) return this.step(fn)
    if (this.walInDoubt) this.restartWal()
    this.durable(durable)
    const result = mapErrors(() => {
      this.begin.run()
      try {
        const result = fn()
        this.commit.run()
        return result
      } catch (e) {
        this.pending = []
        if (this.raw.inTransaction) this.rollback.run()
        throw e
      }
    })
    for (const run of this.pending.splice(0)) run()
    return result
  }

  /**
   * Runs `fn` after the current transaction commits, never if it rolls back; at once outside of a transaction. It must not
   * throw: `Events` alone calls this, and guards what others want to run.
   */
  afterCommit(fn: () => void): void {
    if (this.raw.inTransaction) this.pending.push(fn)
    else fn()
  }

  private step<T>(fn: () => T): T {
    const [set, release, back] = this.savepoints
    const { length } = this.pending
    set.run()
    try {
      const result = fn()
      release.run()
      return result
    } catch (e) {
      this.pending.length = Math.min(length, this.pending.length)
      // A full disk or an I/O error may already have ended the whole transaction.
      if (this.raw.inTransaction) {
        back.run()
        release.run()
      }
      throw e
    }
  }

  /**
   * Settles when everything committed is on disk, without blocking the event loop: the WAL is synced as a commit would
   * sync it (ADR-0002). @throws Fail 503
   */
  async synced(): Promise<void> {
    if (this.file === ':memory:') return
    if (this.walInDoubt) return this.restartWal()
    try {
      this.wal ??= await fs.open(`${this.file}-wal`)
      await this.wal.datasync()
    } catch {
      this.walInDoubt = true
      throw unavailable()
    }
  }

  /**
   * Moves the WAL's content into the database file and restarts the WAL. It does not wait for locks: a reader of the
   * WAL must not block the event loop. @throws Fail 503 when that is not possible now
   */
  private restartWal(): void {
    this.durable(true)
    const [checkpoint] = this.withoutWaiting(() => this.raw.pragma('wal_checkpoint(TRUNCATE)')) as { busy: number }[]
    if (checkpoint?.busy !== 0) throw unavailable()
    this.walInDoubt = false
  }

  // FULL: the WAL is synced at commit, so what was acknowledged survives a power cut (ADR-0002).
  private durable(full: boolean): void {
    const mode = full ? 'FULL' : 'NORMAL'
    if (mode === this.synchronous) return
    this.raw.pragma(`synchronous = ${mode}`)
    this.synchronous = mode
  }

  /** Whether the opened file still has its name: writes to a replaced file would be lost. */
  inPlace(): boolean {
    return this.file === ':memory:' || fileIdentity(this.file) === this.identity
  }

  /**
   * A write that changes nothing and waits for no lock. @throws Fail 503 when another program holds the lock, or the disk
   * is full.
   */
  probeWrite(): void {
    this.withoutWaiting(() =>
      this.tx(() => this.raw.pragma(`user_version = ${this.raw.pragma('user_version', { simple: true })}`)),
    )
  }

  private withoutWaiting<T>(fn: () => T): T {
    this.raw.pragma('busy_timeout = 0')
    try {
      return mapErrors(fn)
    } finally {
      this.raw.pragma(`busy_timeout = ${this.waitMs}`)
    }
  }

  close(): void {
    void this.wal?.close()
    this.raw.close()
  }
}

/** The identity of the file with this name; undefined when it is missing or cannot be examined. */
function fileIdentity(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file)
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

const UNIQUE = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'])
const REFERENCED = new Set(['SQLITE_CONSTRAINT_FOREIGNKEY', 'SQLITE_CONSTRAINT_TRIGGER'])
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|IOERR|FULL|CANTOPEN|NOTADB|CORRUPT|READONLY|PROTOCOL)/

const unavailable = (): Fail => new Fail(503, 'database_unavailable', 'Service temporarily unavailable')

/** The one place where constraint errors become a `Fail`; any other error passes through. */
function mapErrors<T>(fn: () => T): T {
  try {
    return fn()
  } catch (e) {
    const code = (e as { code?: string }).code ?? ''
    if (UNIQUE.has(code)) throw new Fail(409, 'already_exists', 'Already exists')
    if (REFERENCED.has(code)) throw new Fail(409, 'in_use', 'Still referenced')
    if (UNAVAILABLE.test(code)) throw unavailable()
    throw e
  }
}

/**
 * One controller per data directory: an exclusive lock on a small database of its own, which the kernel releases
 * with the process, however it ends. @throws Fail 409 when another controller holds it.
 */
export function lockDirectory(file: string, addon: object | undefined): { release(): void } {
  const db = new Db(file, addon, { waitMs: 0, plain: true })
  try {
    db.raw.exec('BEGIN EXCLUSIVE')
  } catch (e) {
    db.close()
    if ((e as { code?: string }).code === 'SQLITE_BUSY')
      throw conflict('data_directory_in_use', 'A controller uses this data directory already: stop it first')
    throw e
  }
  return { release: () => db.close() }
}
